// A labelled choice of one among several, with its hint and what is wrong with it.
import { type ReactNode, useId } from 'react'
import type { ApiError } from '../api/api-client.ts'

export interface Option {
  value: string
  label: string
}

interface ChoiceFieldProps {
  label: string
  name: string
  value: string
  options: readonly Option[]
  onChange(value: string): void
  hint?: ReactNode
  error?: ApiError | undefined
}

export function ChoiceField({ label, name, value, options, onChange, hint, error }: ChoiceFieldProps) {
  const id = useId()
  const wrong = error?.field === name ? error.message : undefined
  const described = [hint && `${id}-hint`, wrong && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        name={name}
        className="select"
        value={value}
        aria-invalid={wrong !== undefined || undefined}
        aria-describedby={described || undefined}
        onChange={(event) => onChange(event.target.value)}
      >
        {options.map((one) => (
          <option key={one.value} value={one.value}>
            {one.label}
          </option>
        ))}
      </select>
      {hint && (
        <p className="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {wrong && (
        <p className="field-error" id={`${id}-error`}>
          {wrong}
        </p>
      )}
    </div>
  )
}
