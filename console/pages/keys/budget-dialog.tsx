// R6: set, raise, lower or lift a key's spending limit.
import { useState } from 'react'
import { setBudget } from '../../api/key-calls.ts'
import { money } from '../../parts/amounts.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, FormError } from '../../parts/field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { typedNumber } from '../../parts/typed-number.ts'
import { useSubmission } from '../../state/submission.ts'
import type { DeedProps } from './key-actions.tsx'

export function BudgetDialog({ api_key, onClose, onChanged }: DeedProps) {
  const { budget_micros, spent_micros } = api_key
  const [text, setText] = useState(budget_micros === undefined ? '' : String(budget_micros / 1_000_000))
  const say = useToast()
  const sending = useSubmission(async (limit: string) => {
    await setBudget(api_key.id, { limit_usd: typedNumber('limit_usd', limit) ?? null })
    say(`The spending limit of ${api_key.name} is ${limit.trim() === '' ? 'lifted' : 'set'}.`)
    onChanged()
    onClose()
  })
  return (
    <Dialog title={`Spending limit of ${api_key.name}`} onClose={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void sending.submit(text)
        }}
      >
        <p className="muted">{money(spent_micros)} spent so far. Calls that would go over the limit are refused.</p>
        <Field
          label="Limit"
          name="limit_usd"
          inputMode="decimal"
          autoComplete="off"
          before="$"
          after="USD"
          value={text}
          onChange={setText}
          error={sending.error}
          hint="Empty lifts the limit. 0 blocks every generation."
        />
        <FormError error={sending.error} fields={['limit_usd']} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" busy={sending.busy}>
            {text.trim() === '' ? 'Lift limit' : 'Set limit'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
