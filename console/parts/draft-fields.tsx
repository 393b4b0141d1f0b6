// Lines of text that are typed into one draft: each says what of it, and what it is called; the rest is common to all.
import type { ComponentProps } from 'react'
import type { ApiError } from '../api/api-client.ts'
import { Field } from './field.tsx'

type TextIn<Draft> = { [Name in keyof Draft]: Draft[Name] extends string ? Name : never }[keyof Draft] & string

export interface Asked<Draft> extends Omit<ComponentProps<typeof Field>, 'name' | 'value' | 'onChange' | 'error'> {
  /** What of the draft it is. */
  of: TextIn<Draft>
  /** What the service calls it, where that is something else. */
  name?: string
}

interface DraftFieldsProps<Draft> {
  asked: readonly Asked<Draft>[]
  draft: Draft
  change(changed: Partial<Draft>): void
  error?: ApiError | undefined
}

export const DraftFields = <Draft extends object>({ asked, draft, change, error }: DraftFieldsProps<Draft>) =>
  asked.map(({ of, name = of, ...words }) => (
    <Field
      key={name}
      autoComplete="off"
      {...words}
      name={name}
      value={String(draft[of])}
      onChange={(text) => change({ [of]: text } as Partial<Draft>)}
      error={error}
    />
  ))
