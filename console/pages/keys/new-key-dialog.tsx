// The one time that a raw key is seen (§2.1). It is forgotten as the dialog closes.
import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import type { Secret } from '../../state/secret.ts'

export interface ShownKey {
  id: string
  name: string
  secret: Secret
  /** What was to be set along with it, and was not. */
  problems: readonly string[]
  /** What else to know of it. */
  note?: string
}

export function NewKeyDialog({ shown, onClose }: { shown: ShownKey; onClose(): void }) {
  const [copied, setCopied] = useState(false)
  const raw = shown.secret.read() ?? ''
  function close() {
    shown.secret.forget()
    onClose()
  }
  return (
    <Dialog title={`Key for ${shown.name}`} onClose={close} insistent>
      <div className="stack">
        <p>Store it now, in a secret manager. It is shown only now; the server keeps its hash alone.</p>
        <div className="secret">
          <code>{raw}</code>
          <CopyButton text={raw} what="key" look={copied ? 'plain' : 'primary'} onCopied={() => setCopied(true)} />
        </div>
        {shown.note && <p>{shown.note}</p>}
        {shown.problems.map((problem) => (
          <p key={problem} role="alert" className="notice notice-warn">
            {problem} Set it on the key’s page before you use the key.
          </p>
        ))}
        <div className="dialog-actions">
          <Button look={copied ? 'primary' : 'plain'} onClick={close}>
            I have stored it
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
