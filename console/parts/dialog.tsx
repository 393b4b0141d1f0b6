// A dialog: the browser's own, which keeps the focus inside and gives it back. One that destroys names what it will do.
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import type { ApiError } from '../api/api-client.ts'
import { Button } from './button.tsx'
import { FormError } from './labelled-field.tsx'

interface DialogProps {
  title: string
  onClose(): void
  children: ReactNode
  /** Escape does not close it: what it shows cannot be shown again. */
  insistent?: boolean
}

export function Dialog({ title, onClose, children, insistent = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const title_id = useId()

  useEffect(() => {
    const opener = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])

  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={title_id}
      onCancel={(event) => {
        event.preventDefault()
        if (!insistent) onClose()
      }}
      onKeyDown={(event) => {
        // A second Escape would close it whatever `cancel` was told.
        if (event.key === 'Escape' && insistent) event.preventDefault()
      }}
    >
      <h2 id={title_id}>{title}</h2>
      {children}
    </dialog>
  )
}

interface ConfirmProps {
  title: string
  /** What will happen, in full. */
  children: ReactNode
  /** The deed, as a verb and its object: `Revoke key`. */
  action: string
  /** What has to be typed, where a slip would be costly. */
  typed?: string
  busy: boolean
  error: ApiError | undefined
  onConfirm(): void
  onClose(): void
}

/** The safe way out comes first, and has the focus. */
export function ConfirmDialog({ title, children, action, typed, busy, error, onConfirm, onClose }: ConfirmProps) {
  const [text, setText] = useState('')
  const input = useId()
  const ready = typed === undefined || text === typed
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        method="dialog"
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (ready && !busy) onConfirm()
        }}
      >
        {children}
        {typed !== undefined && (
          <div className="field">
            <label htmlFor={input}>
              Type <strong>{typed}</strong> to confirm
            </label>
            <div className="field-input">
              <input id={input} value={text} autoComplete="off" onChange={(event) => setText(event.target.value)} />
            </div>
          </div>
        )}
        <FormError error={error} fields={[]} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" type="submit" busy={busy} disabled={!ready}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
