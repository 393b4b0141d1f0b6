// A form that sends by itself, in a dialog or on a page: the browser never does.
import type { ReactNode } from 'react'
import { Button } from './button.tsx'

interface FormProps {
  onSubmit(): void
  /** The deed, as a verb and its object. */
  action: string
  busy: boolean
  /** Shows the way out beside the deed. */
  onCancel?: () => void
  disabled?: boolean
  children: ReactNode
}

export function Form({ onSubmit, action, busy, onCancel, disabled = false, children }: FormProps) {
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
      <div className={onCancel ? 'dialog-actions' : 'row'}>
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        <Button look={onCancel ? 'primary' : 'plain'} type="submit" busy={busy} disabled={disabled}>
          {action}
        </Button>
      </div>
    </form>
  )
}
