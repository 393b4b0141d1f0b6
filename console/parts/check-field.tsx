// Something that is so or not: a box to tick, with the words beside it.
import type { ReactNode } from 'react'

interface CheckFieldProps {
  checked: boolean
  disabled?: boolean
  onChange(checked: boolean): void
  children: ReactNode
}

export const CheckField = ({ checked, disabled = false, onChange, children }: CheckFieldProps) => (
  <label className="check">
    <input type="checkbox" checked={checked} disabled={disabled} onChange={(event) => onChange(event.target.checked)} />
    {children}
  </label>
)
