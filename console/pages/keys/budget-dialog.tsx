// R6, R65: set, raise, lower or lift a key's spending limits.
import { useState } from 'react'
import { setBudget } from '../../api/key-calls.ts'
import { money } from '../../parts/amounts.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../state/submission.ts'
import { BUDGETS, BudgetFields, type BudgetTexts, budgetTexts, isUnlimited, typedBudget } from './budget-fields.tsx'
import type { DeedProps } from './deed-props.ts'

export function BudgetDialog({ api_key, onClose, onChanged }: DeedProps) {
  const [texts, setTexts] = useState(budgetTexts(api_key))
  const say = useToast()
  const sending = useSubmission(async (typed: BudgetTexts) => {
    const budget = typedBudget(typed)
    await setBudget(api_key.id, budget)
    say(`The spending limit of ${api_key.name} is ${isUnlimited(budget) ? 'lifted' : 'set'}.`)
    onChanged()
    onClose()
  })
  const lifts = texts.limit_usd.trim() === '' && texts.period === 'none'
  return (
    <Dialog title={`Spending limit of ${api_key.name}`} onClose={onClose}>
      <Form
        action={lifts ? 'Lift limit' : 'Set limit'}
        busy={sending.busy}
        onSubmit={() => void sending.submit(texts)}
        onCancel={onClose}
      >
        <p className="muted">
          {money(api_key.spent_micros)} spent so far. Calls that would go over a limit are refused.
        </p>
        <BudgetFields
          texts={texts}
          onChange={setTexts}
          error={sending.error}
          hint="Empty lifts the limit. 0 refuses every request to a model."
        />
        <FormError error={sending.error} fields={BUDGETS} />
      </Form>
    </Dialog>
  )
}
