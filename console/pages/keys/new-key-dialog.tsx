// The one time that a raw key is seen (§2.1). It lives in the state of this dialog's page, and goes with the dialog.
import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Dialog } from '../../parts/dialog.tsx'

export interface ShownKey {
  id: string
  name: string
  raw: string
  /** What was to be set along with it, and was not. */
  problems: readonly string[]
}

export function NewKeyDialog({ shown, onClose }: { shown: ShownKey; onClose(): void }) {
  const [copied, setCopied] = useState(false)
  return (
    <Dialog title={`Key for ${shown.name}`} onClose={onClose} insistent>
      <div className="stack">
        <p>Store it now, in a secret manager. It is shown this once; here, only its hash is kept.</p>
        <div className="secret">
          <code>{shown.raw}</code>
          <CopyButton
            text={shown.raw}
            what="key"
            look={copied ? 'plain' : 'primary'}
            onCopied={() => setCopied(true)}
          />
        </div>
        {shown.problems.map((problem) => (
          <p key={problem} role="alert" className="notice notice-warn">
            {problem} Set it on the key’s page before you use the key.
          </p>
        ))}
        <div className="dialog-actions">
          <Button look={copied ? 'primary' : 'plain'} onClick={onClose}>
            I have stored it
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
