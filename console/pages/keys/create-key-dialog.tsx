// Make a key: a name, what it may do, and optionally what it may spend and how fast. The raw key is handed on, once.
import { useState } from 'react'
import type { Scope } from '../../../src/core/scopes.ts'
import { createKey, type NewKey, setBudget, setKeyLimits } from '../../api/key-calls.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { asApiError } from '../../state/resource.ts'
import { secretOf } from '../../state/secret.ts'
import { useSubmission } from '../../state/submission.ts'
import { BUDGETS, BudgetFields, type BudgetTexts, isUnlimited, NO_BUDGET, typedBudget } from './budget-fields.tsx'
import { LIMITS, LimitFields, NO_LIMITS, typedLimits } from './limit-fields.tsx'
import type { ShownKey } from './new-key-dialog.tsx'
import { SCOPE_CHOICES, ScopeChoice } from './scope-choice.tsx'
import { NO_TERMS, TERMS, TermFields, type TermTexts, typedTerms } from './term-fields.tsx'

interface CreateKeyDialogProps {
  onClose(): void
  onCreated(shown: ShownKey): void
}

export function CreateKeyDialog({ onClose, onCreated }: CreateKeyDialogProps) {
  const [name, setName] = useState('')
  const [scope, setScope] = useState(SCOPE_CHOICES[0].scope)
  const [budget, setTypedBudget] = useState(NO_BUDGET)
  const [terms, setTerms] = useState(NO_TERMS)
  const [limits, setLimits] = useState(NO_LIMITS)
  const sending = useSubmission(async (wish: Wish, idempotency_key) => onCreated(await makeKey(wish, idempotency_key)))
  const { error } = sending

  return (
    <Dialog title="Create a key" onClose={onClose}>
      <Form
        action="Create key"
        busy={sending.busy}
        onSubmit={() => void sending.submit({ name, scope, terms, budget, limits })}
        onCancel={onClose}
      >
        <Field
          label="Name"
          name="name"
          autoComplete="off"
          required
          value={name}
          onChange={setName}
          error={error}
          hint="What or whom it is for: an agent, a service, a person."
        />
        <ScopeChoice value={scope} onChange={setScope} />
        <BudgetFields
          texts={budget}
          onChange={setTypedBudget}
          error={error}
          hint="A hard cap over the key's whole life. It can be raised later."
        />
        <details className="more">
          <summary>Expiry, models, networks</summary>
          <div className="stack">
            <TermFields texts={terms} onChange={setTerms} error={error} />
          </div>
        </details>
        <details className="more">
          <summary>Rate limits</summary>
          <div className="stack">
            <LimitFields texts={limits} onChange={setLimits} error={error} />
          </div>
        </details>
        <FormError error={error} fields={['name', ...BUDGETS, ...TERMS, ...LIMITS]} />
      </Form>
    </Dialog>
  )
}

interface Wish {
  name: string
  scope: Scope
  terms: TermTexts
  budget: BudgetTexts
  limits: typeof NO_LIMITS
}

/** A field that was left empty is left out: a new key is bound to nothing by itself. */
const newKey = ({ name, scope, terms }: Wish): NewKey => ({
  name,
  scopes: [scope],
  ...Object.fromEntries(Object.entries(typedTerms(terms)).filter(([, value]) => value !== null)),
})

/** A key that was made is shown, whatever happens after it: otherwise nobody would ever see it. */
async function makeKey(wish: Wish, idempotency_key: string): Promise<ShownKey> {
  const budget = typedBudget(wish.budget)
  const limits = typedLimits(wish.limits)
  const { key: raw, ...api_key } = await createKey(newKey(wish), idempotency_key)
  const problems: string[] = []
  const note = (what: string) => (cause: unknown) => void problems.push(`${what} not set: ${asApiError(cause).message}`)
  if (!isUnlimited(budget)) await setBudget(api_key.id, budget).catch(note('The spending limit was'))
  if (LIMITS.some((name) => limits[name] !== null))
    await setKeyLimits(api_key.id, limits).catch(note('The rate limits were'))
  return { id: api_key.id, name: api_key.name, secret: secretOf(raw), problems }
}
