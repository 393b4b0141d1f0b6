// One of a few, with a label and a hint.
import { type ReactNode, useId } from 'react'

interface SelectFieldProps<Value extends string> {
  label: string
  value: Value
  /** In the order in which they are shown. */
  options: readonly { value: Value; label: string }[]
  onChange(value: Value): void
  hint?: ReactNode
  disabled?: boolean
}

export function SelectField<Value extends string>(field: SelectFieldProps<Value>) {
  const { label, value, options, onChange, hint, disabled } = field
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        className="select"
        value={value}
        disabled={disabled}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.target.value as Value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      {hint && (
        <p className="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}
