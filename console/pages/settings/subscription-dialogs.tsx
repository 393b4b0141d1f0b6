// Add a subscription as the provider sold it; cancel one.
import { useState } from 'react'
import {
  addSubscription,
  cancelSubscription,
  type NewSubscription,
  type Subscription,
} from '../../api/settings-calls.ts'
import { count } from '../../parts/amounts.ts'
import { CheckField } from '../../parts/check-field.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { type Asked, DraftFields } from '../../parts/draft-fields.tsx'
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
  const typing = { draft: typed, change: set, error: sending.error }
  return (
    <Dialog title="Add a subscription" onClose={onClose}>
      <Form
        action="Add subscription"
        busy={sending.busy}
        onSubmit={() => void sending.submit(typed)}
        onCancel={onClose}
      >
        <DraftFields asked={PLAN} {...typing} />
        <div className="pair">
          <DraftFields asked={AMOUNTS} {...typing} />
        </div>
        <DraftFields asked={END} {...typing} />
        <CheckField checked={typed.overage} onChange={(overage) => set({ overage })}>
          Go on beyond the allowance, at list price
        </CheckField>
        <FormError error={sending.error} fields={FIELDS} />
      </Form>
    </Dialog>
  )
}

const PLAN: readonly Asked<Typed>[] = [
  { of: 'plan', label: 'Plan', required: true },
  { of: 'provider', label: 'Provider', required: true, hint: 'Its id, such as openai.' },
]
const AMOUNTS: readonly Asked<Typed>[] = [
  {
    of: 'discount',
    name: 'input_discount_pct',
    label: 'Off the input price',
    required: true,
    inputMode: 'numeric',
    after: '%',
  },
  {
    of: 'allowance',
    name: 'allowance_tokens',
    label: 'Allowance',
    required: true,
    inputMode: 'numeric',
    after: 'tokens',
  },
]
const END: readonly Asked<Typed>[] = [
  {
    of: 'ends',
    name: 'period_end',
    label: 'Period ends',
    type: 'datetime-local',
    hint: 'In UTC. Left empty: a month from now.',
  },
]

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
