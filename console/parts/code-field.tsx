// A code that an app on somebody's phone shows.
import type { ApiError } from '../api/api-client.ts'
import { Field } from './field.tsx'

interface CodeFieldProps {
  value: string
  onChange(value: string): void
  error?: ApiError | undefined
  /** A recovery code does as well. */
  recovery?: boolean
}

export const CodeField = ({ recovery = false, ...field }: CodeFieldProps) => (
  <Field
    {...field}
    label="Code"
    name="code"
    autoComplete="one-time-code"
    required
    hint={recovery ? 'The six digits that your app shows, or a recovery code.' : 'The six digits that your app shows.'}
  />
)
