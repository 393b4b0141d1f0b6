// A plan for a replay: which recorded calls, asked where, and whether a control arm goes along.
import { useState } from 'react'
import { type NewReplayRun, planReplay, type ReplayRun } from '../../api/replay-calls.ts'
import { CheckField } from '../../parts/check-field.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { type Asked, DraftFields } from '../../parts/draft-fields.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { type Option, SelectField } from '../../parts/select-field.tsx'
import { TextAreaField, typedLines } from '../../parts/text-area-field.tsx'
import { useSubmission } from '../../state/submission.ts'

type Kind = 'sample' | 'session' | 'traces'
type Where = 'model' | 'alias_release_id' | 'cluster_id'

const KINDS: readonly Option<Kind>[] = [
  { value: 'sample', label: 'A sample of all calls' },
  { value: 'session', label: 'A session' },
  { value: 'traces', label: 'Calls by their trace ids' },
]
const PLACES: readonly Option<Where>[] = [
  { value: 'model', label: 'A model or an alias' },
  { value: 'alias_release_id', label: 'An alias release' },
  { value: 'cluster_id', label: 'A cluster' },
]
const HINTS: Record<Where, string> = {
  model: 'As agents would ask for it.',
  alias_release_id: 'Begins alr_. It need not be active.',
  cluster_id: 'Begins byc_. Each call keeps its model.',
}

interface Draft {
  kind: Kind
  calls: string
  of_model: string
  sample: string
  where: Where
  place: string
  control: boolean
}

const FIRST: Draft = {
  kind: 'sample',
  calls: '',
  of_model: '',
  sample: '100',
  where: 'model',
  place: '',
  control: true,
}

interface PlanProps {
  onClose(): void
  onPlanned(run: ReplayRun): void
}

export function PlanReplayDialog({ onClose, onPlanned }: PlanProps) {
  const [draft, setDraft] = useState(FIRST)
  const change = (changed: Partial<Draft>) => setDraft({ ...draft, ...changed })
  const sending = useSubmission(async (asked: Draft, key) => onPlanned(await planReplay(bodyOf(asked), key)))
  return (
    <Dialog title="Plan a replay" onClose={onClose}>
      <Form action="Plan" busy={sending.busy} onSubmit={() => void sending.submit(draft)} onCancel={onClose}>
        <p className="muted">Nobody is called yet: you see routes, refusals and cost first.</p>
        <SelectField label="Which calls" value={draft.kind} options={KINDS} onChange={(kind) => change({ kind })} />
        <SourceFields draft={draft} change={change} />
        <SelectField label="Ask" value={draft.where} options={PLACES} onChange={(where) => change({ where })} />
        <DraftFields
          asked={[
            {
              of: 'place',
              name: `target.${draft.where}`,
              label: 'Which one',
              required: true,
              hint: HINTS[draft.where],
            },
          ]}
          draft={draft}
          change={change}
          error={sending.error}
        />
        <CheckField checked={draft.control} onChange={(control) => change({ control })}>
          With a control arm: each call also as it was recorded, to see what differs by itself
        </CheckField>
        <FormError error={sending.error} fields={[`target.${draft.where}`]} />
      </Form>
    </Dialog>
  )
}

const SOURCES: Record<Exclude<Kind, 'traces'>, readonly Asked<Draft>[]> = {
  session: [{ of: 'calls', name: 'source.session_id', label: 'Session', required: true }],
  sample: [
    {
      of: 'of_model',
      name: 'source.filter.model',
      label: 'Of model',
      hint: 'What the calls resolved to. Empty for all of them.',
    },
    { of: 'sample', name: 'source.sample.n', label: 'How many', required: true, inputMode: 'numeric' },
  ],
}

function SourceFields({ draft, change }: { draft: Draft; change(changed: Partial<Draft>): void }) {
  if (draft.kind !== 'traces') return <DraftFields asked={SOURCES[draft.kind]} draft={draft} change={change} />
  return (
    <TextAreaField
      label="Trace ids"
      name="source.trace_ids"
      required
      value={draft.calls}
      onChange={(calls) => change({ calls })}
      hint="One a line, or set apart by commas. At most 1,000."
    />
  )
}

function bodyOf({ kind, calls, of_model, sample, where, place, control }: Draft): NewReplayRun {
  return { source: sourceOf(), target: { [where]: place.trim() }, control }

  function sourceOf(): NewReplayRun['source'] {
    if (kind === 'traces') return { trace_ids: typedLines(calls) ?? [] }
    if (kind === 'session') return { session_id: calls.trim() }
    const model = of_model.trim()
    return { filter: model === '' ? {} : { model }, sample: { n: Number(sample), seed: '1' } }
  }
}
