// R64: a key for one run of an agent, made of this key's money. It ends by itself.
import { useState } from 'react'
import type { Scope } from '../../../src/core/scopes.ts'
import type { ApiError } from '../../api/api-client.ts'
import { createChild, type NewChild } from '../../api/key-calls.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { TextAreaField, typedLines } from '../../parts/text-area-field.tsx'
import { typedNumber } from '../../parts/typed-number.ts'
import { secretOf } from '../../state/secret.ts'
import { useSubmission } from '../../state/submission.ts'
import type { DeedProps } from './deed-props.ts'

const LIVES = [
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '1 day' },
  { value: '604800', label: '7 days' },
  { value: '2592000', label: '30 days' },
] as const

const FIELDS = ['name', 'limit_usd', 'ttl_seconds', 'allowed_models', 'scopes']

interface Typed {
  name: string
  usd: string
  life: string
  models: string
}

/** Whatever its parent is: a child of a key that only reads, reads. */
function childOf(typed: Typed, parent_scopes: readonly Scope[]): NewChild {
  const allowed_models = typedLines(typed.models)
  const reads_only = parent_scopes.every((scope) => scope === 'read')
  return {
    name: typed.name,
    limit_usd: typedNumber('limit_usd', typed.usd) ?? 0,
    ttl_seconds: Number(typed.life),
    scopes: [reads_only ? 'read' : 'inference'],
    ...(allowed_models && { allowed_models }),
  }
}

export function ChildDialog({ api_key, onClose, onChanged, onShown }: DeedProps) {
  const [typed, setTyped] = useState<Typed>({ name: '', usd: '', life: LIVES[0].value, models: '' })
  const set = (more: Partial<Typed>) => setTyped((before) => ({ ...before, ...more }))
  const sending = useSubmission(async (wish: Typed, idempotency_key) => {
    const { key: raw, ...child } = await createChild(api_key.id, childOf(wish, api_key.scopes), idempotency_key)
    onShown({ id: child.id, name: child.name, secret: secretOf(raw), problems: [] })
    onChanged()
    onClose()
  })
  return (
    <Dialog title={`Child key of ${api_key.name}`} onClose={onClose}>
      <Form
        action="Create child key"
        busy={sending.busy}
        onSubmit={() => void sending.submit(typed)}
        onCancel={onClose}
      >
        <p className="muted">
          For one run of an agent. Its budget is held on {api_key.name} and the project from the start; what it does not
          spend comes back when it ends.
        </p>
        <ChildFields typed={typed} set={set} error={sending.error} />
        <FormError error={sending.error} fields={FIELDS} />
      </Form>
    </Dialog>
  )
}

interface ChildFieldsProps {
  typed: Typed
  set(more: Partial<Typed>): void
  error: ApiError | undefined
}

const ChildFields = ({ typed, set, error }: ChildFieldsProps) => (
  <>
    <Field label="Name" name="name" required value={typed.name} onChange={(name) => set({ name })} error={error} />
    <Field
      label="Budget"
      name="limit_usd"
      required
      inputMode="decimal"
      before="$"
      after="USD"
      value={typed.usd}
      onChange={(usd) => set({ usd })}
      error={error}
      hint="It cannot be changed later."
    />
    <SelectField
      label="It ends after"
      value={typed.life}
      options={LIVES}
      onChange={(life) => set({ life })}
      hint="Never after its parent."
    />
    <TextAreaField
      label="Allowed models"
      name="allowed_models"
      rows={2}
      value={typed.models}
      onChange={(models) => set({ models })}
      error={error}
      placeholder="As for its parent"
    />
  </>
)
