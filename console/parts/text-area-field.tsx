// Several lines of text, with a label, a hint and what is wrong: like a field, only taller.
import { type ReactNode, type TextareaHTMLAttributes, useId } from 'react'
import type { ApiError } from '../api/api-client.ts'
import { errorAt } from './field.tsx'

interface TextAreaFieldProps extends Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'onChange' | 'id'> {
  label: string
  /** The name that the service has for it: its refusals are shown here. */
  name: string
  value: string
  onChange(value: string): void
  hint?: ReactNode
  error?: ApiError | undefined
}

export function TextAreaField({ label, hint, error, onChange, ...area }: TextAreaFieldProps) {
  const id = useId()
  const wrong = errorAt(error, area.name)
  const described = [hint && `${id}-hint`, wrong && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {!area.required && <span className="field-optional">optional</span>}
      </label>
      <textarea
        rows={3}
        spellCheck={false}
        {...area}
        id={id}
        className="text-area"
        aria-invalid={wrong !== undefined || undefined}
        aria-describedby={described || undefined}
        onChange={(event) => onChange(event.target.value)}
      />
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

/** One entry a line, or set apart by commas; null where there is none. */
export function typedLines(text: string): string[] | null {
  const entries = text
    .split(/[\n,]/)
    .map((one) => one.trim())
    .filter((one) => one !== '')
  return entries.length > 0 ? entries : null
}
