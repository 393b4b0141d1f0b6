// A purge is planned, carried out, or cancelled.
import { useState } from 'react'
import { type PurgeJob, planPurge, stepPurge } from '../../api/purge-calls.ts'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { type Asked, DraftFields } from '../../parts/draft-fields.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { type Option, SelectField } from '../../parts/select-field.tsx'
import { TextAreaField } from '../../parts/text-area-field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useMe } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'
import { filterWords, matchedWords, NO_PURGE, type PurgeDraft, type PurgeWhat, purgeOf } from './purge-draft.ts'

interface DialogProps {
  onClose(): void
  onChanged(): void
}

const WHAT: readonly Option<PurgeWhat>[] = [
  { value: 'ids', label: 'Sessions, answers, requests, artifacts by id' },
  { value: 'range', label: 'What a key left, or a stretch of time' },
  { value: 'everything', label: 'Everything in the project' },
]

export function PlanPurgeDialog({ onClose, onChanged }: DialogProps) {
  const [draft, setDraft] = useState(NO_PURGE)
  const change = (changed: Partial<PurgeDraft>) => setDraft({ ...draft, ...changed })
  const { project } = useMe()
  const say = useToast()
  const sending = useSubmission(async (typed: PurgeDraft, idempotency_key) => {
    await planPurge(purgeOf(typed), idempotency_key)
    say('The purge is planned. Nothing is erased yet.')
    onChanged()
    onClose()
  })
  const { error } = sending
  const asked = draft.what === 'everything' ? [confirmField(project?.name ?? '')] : RANGE
  return (
    <Dialog title="Plan a purge" onClose={onClose}>
      <Form action="Plan" busy={sending.busy} onSubmit={() => void sending.submit(draft)} onCancel={onClose}>
        <p className="muted">Nothing is erased yet: what matches is counted first.</p>
        <SelectField label="What" value={draft.what} options={WHAT} onChange={(what) => change({ what })} />
        {draft.what === 'ids' ? (
          <TextAreaField
            label="Ids"
            name="ids"
            required
            value={draft.ids}
            onChange={(ids) => change({ ids })}
            error={error}
            placeholder="ses_…"
            hint="One a line. They begin with ses_, resp_, trc_, art_ or bnd_."
          />
        ) : (
          <DraftFields asked={asked} draft={draft} change={change} error={error} />
        )}
        <FormError error={error} fields={FIELDS[draft.what]} />
      </Form>
    </Dialog>
  )
}

const RANGE: readonly Asked<PurgeDraft>[] = [
  {
    of: 'key_id',
    name: 'filter.key_id',
    label: 'Key',
    placeholder: 'key_…',
    hint: 'With its children. Empty: of all keys.',
  },
  { of: 'from', name: 'filter.from', label: 'From', type: 'datetime-local', hint: 'In UTC.' },
  { of: 'to', name: 'filter.to', label: 'Until', type: 'datetime-local', hint: 'In UTC.' },
]

const confirmField = (name: string): Asked<PurgeDraft> => ({
  of: 'confirm',
  label: 'Name of the project',
  required: true,
  hint: `Type ${name} to confirm.`,
})

const FIELDS: Record<PurgeWhat, readonly string[]> = {
  ids: ['ids'],
  range: RANGE.map(({ name = '' }) => name),
  everything: ['confirm'],
}

export function EraseDialog({ job, onClose, onChanged }: DialogProps & { job: PurgeJob }) {
  const say = useToast()
  const sending = useSubmission(async (id: string) => {
    await stepPurge(id, 'erase')
    say('Erasing has begun. The receipt is here once a second count finds nothing.')
    onChanged()
    onClose()
  })
  return (
    <ConfirmDialog
      title="Erase what was planned?"
      action="Erase"
      typed="erase"
      busy={sending.busy}
      error={sending.error}
      onConfirm={() => void sending.submit(job.id)}
      onClose={onClose}
    >
      <p>
        {filterWords(job.filter)}: {matchedWords(job) ?? 'it is still being counted'}. Nobody can bring it back. Copies
        at providers, on clusters and in backups are not reached.
      </p>
    </ConfirmDialog>
  )
}

export function CancelPurgeDialog({ job, onClose, onChanged }: DialogProps & { job: PurgeJob }) {
  const say = useToast()
  const sending = useSubmission(async (id: string) => {
    await stepPurge(id, 'cancel')
    say('The purge is cancelled.')
    onChanged()
    onClose()
  })
  return (
    <ConfirmDialog
      title="Cancel this purge?"
      action="Cancel purge"
      busy={sending.busy}
      error={sending.error}
      onConfirm={() => void sending.submit(job.id)}
      onClose={onClose}
    >
      <p>Nothing further is erased. What was erased stays erased, and there is no receipt.</p>
    </ConfirmDialog>
  )
}
