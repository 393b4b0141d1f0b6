// Several lines of text, with a label, a hint and what is wrong: like a field, only taller.
import type { TextareaHTMLAttributes } from 'react'
import { type FieldWords, LabelledField } from './labelled-field.tsx'

interface TextAreaFieldProps extends FieldWords, Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'onChange' | 'id'> {
  name: string
  value: string
  onChange(value: string): void
}

export const TextAreaField = ({ label, hint, error, onChange, ...area }: TextAreaFieldProps) => (
  <LabelledField label={label} name={area.name} hint={hint} error={error} optional={!area.required}>
    {(tied) => (
      <textarea
        rows={3}
        spellCheck={false}
        {...area}
        {...tied}
        className="text-area"
        onChange={(event) => onChange(event.target.value)}
      />
    )}
  </LabelledField>
)

/** One entry a line, or set apart by commas; null where there is none. */
export function typedLines(text: string): string[] | null {
  const entries = text
    .split(/[\n,]/)
    .map((one) => one.trim())
    .filter((one) => one !== '')
  return entries.length > 0 ? entries : null
}
