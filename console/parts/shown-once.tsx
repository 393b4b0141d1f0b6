// The one time that a secret is seen (§2.1): to copy, and gone once somebody says that they have stored it.
import { type ReactNode, useState } from 'react'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'

interface ShownOnceProps {
  title: string
  /** What to do with it. */
  lead: string
  secret: string
  /** What it is, for who cannot see what is copied. */
  what: string
  onClose(): void
  children?: ReactNode
}

export function ShownOnce({ title, lead, secret, what, onClose, children }: ShownOnceProps) {
  const [copied, setCopied] = useState(false)
  return (
    <Dialog title={title} onClose={onClose} insistent>
      <div className="stack">
        <p>{lead}</p>
        <div className="secret">
          <code>{secret}</code>
          <CopyButton text={secret} what={what} look={copied ? 'plain' : 'primary'} onCopied={() => setCopied(true)} />
        </div>
        {children}
        <div className="dialog-actions">
          <Button look={copied ? 'primary' : 'plain'} onClick={onClose}>
            I have stored it
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
