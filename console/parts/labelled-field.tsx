// A label with what is asked for below it, its hint, and what is wrong with it, all tied together for screen readers.
import { type ReactNode, useId } from 'react'
import type { ApiError } from '../api/api-client.ts'

/** What every field has, whatever is typed or chosen in it. */
export interface FieldWords {
  label: string
  hint?: ReactNode
  error?: ApiError | undefined
}

/** What ties an input to the words around it. */
export interface Tied {
  id: string
  'aria-invalid': true | undefined
  'aria-describedby': string | undefined
}

interface LabelledFieldProps extends FieldWords {
  /** The name that the service has for it: its refusals are shown here. */
  name?: string | undefined
  /** Where nothing need be given, the label says so. */
  optional?: boolean
  children(tied: Tied): ReactNode
}

export function LabelledField({ label, name, hint, error, optional = false, children }: LabelledFieldProps) {
  const id = useId()
  const wrong = name === undefined ? undefined : errorAt(error, name)
  const described = [hint && `${id}-hint`, wrong && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {optional && <span className="field-optional">optional</span>}
      </label>
      {children({ id, 'aria-invalid': wrong ? true : undefined, 'aria-describedby': described || undefined })}
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
