// Make a key: a name, what it may do, and optionally what it may spend and how fast. The raw key is handed on, once.
import { useState } from 'react'
import { createKey, type NewKey, setBudget, setKeyLimits } from '../../api/key-calls.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, FormError } from '../../parts/field.tsx'
import { typedNumber } from '../../parts/typed-number.ts'
import { asApiError } from '../../state/resource.ts'
import { secretOf } from '../../state/secret.ts'
import { useSubmission } from '../../state/submission.ts'
import { LIMITS, LimitFields, NO_LIMITS, typedLimits } from './limit-fields.tsx'
import type { ShownKey } from './new-key-dialog.tsx'
import { SCOPE_CHOICES, ScopeChoice } from './scope-choice.tsx'

interface CreateKeyDialogProps {
  onClose(): void
  onCreated(shown: ShownKey): void
}

export function CreateKeyDialog({ onClose, onCreated }: CreateKeyDialogProps) {
  const [name, setName] = useState('')
  const [scope, setScope] = useState(SCOPE_CHOICES[0].scope)
  const [limit_usd, setLimitUsd] = useState('')
  const [limits, setLimits] = useState(NO_LIMITS)
  const sending = useSubmission(async (wish: Wish, idempotency_key) => onCreated(await makeKey(wish, idempotency_key)))

  return (
    <Dialog title="Create a key" onClose={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void sending.submit({ key: { name, scopes: [scope] }, limit_usd, limits })
        }}
      >
        <Field
          label="Name"
          name="name"
          autoComplete="off"
          required
          value={name}
          onChange={setName}
          error={sending.error}
          hint="What or whom it is for: an agent, a service, a person."
        />
        <ScopeChoice value={scope} onChange={setScope} />
        <Field
          label="Spending limit"
          name="limit_usd"
          inputMode="decimal"
          autoComplete="off"
          before="$"
          after="USD"
          value={limit_usd}
          onChange={setLimitUsd}
          error={sending.error}
          hint="A hard cap over the key's whole life. It can be raised later."
        />
        <details className="more">
          <summary>Rate limits</summary>
          <div className="stack">
            <LimitFields texts={limits} onChange={setLimits} error={sending.error} />
          </div>
        </details>
        <FormError error={sending.error} fields={['name', 'limit_usd', ...LIMITS]} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" busy={sending.busy}>
            Create key
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

interface Wish {
  key: NewKey
  limit_usd: string
  limits: typeof NO_LIMITS
}

/** A key that was made is shown, whatever happens after it: otherwise nobody would ever see it. */
async function makeKey(wish: Wish, idempotency_key: string): Promise<ShownKey> {
  const usd = typedNumber('limit_usd', wish.limit_usd)
  const limits = typedLimits(wish.limits)
  const { key: raw, ...api_key } = await createKey(wish.key, idempotency_key)
  const problems: string[] = []
  const note = (what: string) => (cause: unknown) => void problems.push(`${what} not set: ${asApiError(cause).message}`)
  if (usd !== undefined) await setBudget(api_key.id, { limit_usd: usd }).catch(note('The spending limit was'))
  if (LIMITS.some((name) => limits[name] !== null))
    await setKeyLimits(api_key.id, limits).catch(note('The rate limits were'))
  return { id: api_key.id, name: api_key.name, secret: secretOf(raw), problems }
}
