// Carrying out a plan: for how much at the most, and how many calls at once.
import { useState } from 'react'
import { executeReplay, type ReplayRun } from '../../api/replay-calls.ts'
import { money } from '../../parts/amounts.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { type Asked, DraftFields } from '../../parts/draft-fields.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { useSubmission } from '../../state/submission.ts'

const MICROS = 1_000_000
const ASKED: readonly Asked<Record<'max_cost_usd' | 'concurrency', string>>[] = [
  { of: 'max_cost_usd', label: 'Set aside', required: true, before: '$', inputMode: 'decimal' },
  {
    of: 'concurrency',
    label: 'Calls at once',
    required: true,
    inputMode: 'numeric',
    hint: '1 to 8. They go behind live calls.',
  },
]
const FIELDS = ASKED.map(({ of }) => of)

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
        <DraftFields
          asked={ASKED}
          draft={texts}
          change={(changed) => setTexts({ ...texts, ...changed })}
          error={sending.error}
        />
        <FormError error={sending.error} fields={FIELDS} />
      </Form>
    </Dialog>
  )
}
