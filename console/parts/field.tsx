// A labelled input with its hint and what is wrong with it, all tied together for screen readers.
import { type InputHTMLAttributes, type ReactNode, useId } from 'react'
import type { ApiError } from '../api/api-client.ts'

interface FieldProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange' | 'id' | 'prefix'> {
  label: string
  /** The name that the service has for it: its refusals are shown here. */
  name: string
  value: string
  onChange(value: string): void
  hint?: ReactNode
  error?: ApiError | undefined
  /** What stands before and after what is typed, such as a unit. */
  before?: string
  after?: string
}

export function Field({ label, hint, error, onChange, before, after, ...input }: FieldProps) {
  const id = useId()
  const wrong = errorAt(error, input.name)
  const described = [hint && `${id}-hint`, wrong && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {!input.required && <span className="field-optional">optional</span>}
      </label>
      <div className="field-input" data-wrong={wrong !== undefined || undefined}>
        {before && <span aria-hidden="true">{before}</span>}
        <input
          {...input}
          id={id}
          aria-invalid={wrong !== undefined || undefined}
          aria-describedby={described || undefined}
          onChange={(event) => onChange(event.target.value)}
        />
        {after && <span aria-hidden="true">{after}</span>}
      </div>
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

/** The service begins with the field's name in quotes; beside the field itself, the rest is enough. Of an entry of a
 * list the whole list is the field. */
export function errorAt(error: ApiError | undefined, name: string): string | undefined {
  if (error?.field?.replace(/\[\d+\]$/, '') !== name) return undefined
  const rest = error.message.replace(/^'[^']+' /, '')
  return rest.charAt(0).toUpperCase() + rest.slice(1)
}

/** What went wrong where no field of this form is meant. */
export function FormError({ error, fields }: { error: ApiError | undefined; fields: readonly string[] }) {
  if (!error || fields.some((name) => errorAt(error, name) !== undefined)) return null
  return (
    <p role="alert" className="notice notice-danger">
      {error.message}
    </p>
  )
}
