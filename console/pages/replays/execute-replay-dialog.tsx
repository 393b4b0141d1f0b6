// Carrying out a plan: for how much at the most, and how many calls at once.
import { useState } from 'react'
import { executeReplay, type ReplayRun } from '../../api/replay-calls.ts'
import { money } from '../../parts/amounts.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { useSubmission } from '../../state/submission.ts'

const MICROS = 1_000_000
const FIELDS = ['max_cost_usd', 'concurrency']

interface ExecuteProps {
  run: ReplayRun
  onClose(): void
  onBegun(run: ReplayRun): void
}

export function ExecuteReplayDialog({ run, onClose, onBegun }: ExecuteProps) {
  const most = Math.max(run.plan.high_micros, 1) / MICROS
  const [texts, setTexts] = useState({ max_cost_usd: String(most), concurrency: '4' })
  const sending = useSubmission(async ({ max_cost_usd, concurrency }: typeof texts, key) => {
    const terms = { max_cost_usd: Number(max_cost_usd), concurrency: Number(concurrency) }
    onBegun(await executeReplay(run.id, terms, key))
    onClose()
  })
  return (
    <Dialog title="Execute the plan" onClose={onClose}>
      <Form action="Execute" busy={sending.busy} onSubmit={() => void sending.submit(texts)} onCancel={onClose}>
        <p className="muted">
          The plan costs {money(run.plan.low_micros)} with the recorded tokens and {money(run.plan.high_micros)} at the
          most. What you set aside is hard, and what is left of it goes back when the run ends.
        </p>
        <Field
          label="Set aside"
          name="max_cost_usd"
          before="$"
          inputMode="decimal"
          required
          value={texts.max_cost_usd}
          onChange={(max_cost_usd) => setTexts({ ...texts, max_cost_usd })}
          error={sending.error}
        />
        <Field
          label="Calls at once"
          name="concurrency"
          inputMode="numeric"
          required
          value={texts.concurrency}
          onChange={(concurrency) => setTexts({ ...texts, concurrency })}
          error={sending.error}
          hint="1 to 8. They go behind live calls."
        />
        <FormError error={sending.error} fields={FIELDS} />
      </Form>
    </Dialog>
  )
}
