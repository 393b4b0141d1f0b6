// Add a subscription as the provider sold it; cancel one.
import { useState } from 'react'
import {
  addSubscription,
  cancelSubscription,
  type NewSubscription,
  type Subscription,
} from '../../api/settings-calls.ts'
import { count } from '../../parts/amounts.ts'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { typedInstant } from '../../parts/times.ts'
import { useToast } from '../../parts/toasts.tsx'
import { typedNumber } from '../../parts/typed-number.ts'
import { useSubmission } from '../../state/submission.ts'

interface DialogProps {
  /** R79: of another project, where whoever runs the service looks at it. */
  project_id: string | undefined
  onClose(): void
  onChanged(): void
}

const EMPTY = { plan: '', provider: '', discount: '', allowance: '', ends: '', overage: false }
type Typed = typeof EMPTY

function subscriptionOf({ plan, provider, discount, allowance, ends, overage }: Typed): NewSubscription {
  const period_end = typedInstant(ends)
  return {
    plan,
    provider,
    input_discount_pct: typedNumber('input_discount_pct', discount) ?? 0,
    allowance_tokens: typedNumber('allowance_tokens', allowance) ?? 0,
    overage_enabled: overage,
    ...(period_end !== null && { period_end }),
  }
}

const FIELDS = ['plan', 'provider', 'input_discount_pct', 'allowance_tokens', 'period_end']

export function AddSubscriptionDialog({ project_id, onClose, onChanged }: DialogProps) {
  const [typed, setTyped] = useState(EMPTY)
  const set = (more: Partial<Typed>) => setTyped((before) => ({ ...before, ...more }))
  const say = useToast()
  const sending = useSubmission(async (wish: Typed, idempotency_key) => {
    const { plan } = await addSubscription(project_id, subscriptionOf(wish), idempotency_key)
    say(`${plan} is added.`)
    onChanged()
    onClose()
  })
  return (
    <Dialog title="Add a subscription" onClose={onClose}>
      <Form
        action="Add subscription"
        busy={sending.busy}
        onSubmit={() => void sending.submit(typed)}
        onCancel={onClose}
      >
        <SubscriptionFields typed={typed} set={set} error={sending.error} />
        <label className="check">
          <input type="checkbox" checked={typed.overage} onChange={(event) => set({ overage: event.target.checked })} />
          Go on beyond the allowance, at list price
        </label>
        <FormError error={sending.error} fields={FIELDS} />
      </Form>
    </Dialog>
  )
}

interface FieldsProps {
  typed: Typed
  set(more: Partial<Typed>): void
  error: ReturnType<typeof useSubmission>['error']
}

const SubscriptionFields = ({ typed, set, error }: FieldsProps) => (
  <>
    <Field label="Plan" name="plan" required value={typed.plan} onChange={(plan) => set({ plan })} error={error} />
    <Field
      label="Provider"
      name="provider"
      required
      value={typed.provider}
      onChange={(provider) => set({ provider })}
      error={error}
      hint="Its id, such as openai."
    />
    <div className="pair">
      <Field
        label="Off the input price"
        name="input_discount_pct"
        required
        inputMode="numeric"
        after="%"
        value={typed.discount}
        onChange={(discount) => set({ discount })}
        error={error}
      />
      <Field
        label="Allowance"
        name="allowance_tokens"
        required
        inputMode="numeric"
        after="tokens"
        value={typed.allowance}
        onChange={(allowance) => set({ allowance })}
        error={error}
      />
    </div>
    <Field
      label="Period ends"
      name="period_end"
      type="datetime-local"
      value={typed.ends}
      onChange={(ends) => set({ ends })}
      error={error}
      hint="In UTC. Left empty: a month from now."
    />
  </>
)

export function CancelSubscriptionDialog({
  project_id,
  subscription,
  onClose,
  onChanged,
}: DialogProps & { subscription: Subscription }) {
  const { id, plan, provider, allowance_tokens, used_tokens } = subscription
  const say = useToast()
  const sending = useSubmission(async (which: string) => {
    await cancelSubscription(project_id, which)
    say(`${plan} is canceled.`)
    onChanged()
    onClose()
  })
  return (
    <ConfirmDialog
      title={`Cancel ${plan}?`}
      action="Cancel subscription"
      busy={sending.busy}
      error={sending.error}
      onConfirm={() => void sending.submit(id)}
      onClose={onClose}
    >
      <p>
        The next call to {provider} no longer runs under it. {count(Math.max(0, allowance_tokens - used_tokens))} tokens
        of its allowance are left, and cannot be used here any more. What you agreed with the provider stays as it is.
      </p>
    </ConfirmDialog>
  )
}
