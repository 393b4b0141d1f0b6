// A password that one can look at while typing it.
import { useState } from 'react'
import type { ApiError } from '../api/api-client.ts'
import { Field } from './field.tsx'

interface PasswordFieldProps {
  value: string
  onChange(value: string): void
  error?: ApiError | undefined
  /** A new one is offered to password managers to make, and says how long it must be. */
  fresh?: boolean
}

export function PasswordField({ fresh = false, ...field }: PasswordFieldProps) {
  const [shown, setShown] = useState(false)
  return (
    <div className="password-field">
      <Field
        {...field}
        label={fresh ? 'New password' : 'Password'}
        name="password"
        type={shown ? 'text' : 'password'}
        autoComplete={fresh ? 'new-password' : 'current-password'}
        required
        {...(fresh && { hint: 'At least 12 characters.', minLength: 12 })}
      />
      <button type="button" className="text-button" aria-pressed={shown} onClick={() => setShown(!shown)}>
        {shown ? 'Hide' : 'Show'}
        <span className="visually-hidden"> password</span>
      </button>
    </div>
  )
}
