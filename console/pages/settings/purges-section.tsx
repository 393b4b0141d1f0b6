// Purge jobs: contents of the project are counted, erased, and accounted for by a receipt.
import { useMemo, useState } from 'react'
import { listPurges, type PurgeJob, purgeReceipt } from '../../api/purge-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'
import { CancelPurgeDialog, EraseDialog, PlanPurgeDialog } from './purge-dialogs.tsx'
import { filterWords, matchedWords } from './purge-draft.ts'

const POLL_MS = 3_000
const TONES: Partial<Record<PurgeJob['status'], Tone>> = { succeeded: 'good', failed: 'bad', cancelled: 'warn' }

export default function PurgesSection() {
  if (useMay('admin')) return <Purges />
  return <p className="notice">Only owners of the project can erase contents.</p>
}

type Open = { kind: 'plan' } | { kind: 'erase' | 'cancel'; job: PurgeJob }

function Purges() {
  const jobs = useResource<readonly PurgeJob[]>(listPurges, { poll_ms: POLL_MS })
  const [open, setOpen] = useState<Open>()
  const saving = useSubmission(async (id: string) => saveFile(await purgeReceipt(id), `${id}-receipt.json`))
  const { submit } = saving
  // biome-ignore lint/correctness/useExhaustiveDependencies: submit is made anew with each drawing, and does the same
  const columns = useMemo(() => columnsFor(setOpen, (id) => void submit(id)), [])
  const dialog = { onClose: () => setOpen(undefined), onChanged: jobs.reload }
  return (
    <Card
      title="Purges"
      actions={
        <Button look="primary" onClick={() => setOpen({ kind: 'plan' })}>
          Plan a purge
        </Button>
      }
    >
      <p className="muted">
        Erases contents: sessions, stored answers, recordings, artifacts, and texts in traces. Charges and the audit log
        stay. A plan only counts.
      </p>
      <FormError error={saving.error} fields={[]} />
      <DataTable
        what="Purges"
        resource={jobs}
        columns={columns}
        rowId={({ id }) => id}
        empty={<p>None yet. Plan one to see what it would erase; nothing is erased before you confirm.</p>}
      />
      {open?.kind === 'plan' && <PlanPurgeDialog {...dialog} />}
      {open?.kind === 'erase' && <EraseDialog {...dialog} job={open.job} />}
      {open?.kind === 'cancel' && <CancelPurgeDialog {...dialog} job={open.job} />}
    </Card>
  )
}

const columnsFor = (onOpen: (open: Open) => void, onReceipt: (id: string) => void): readonly Column<PurgeJob>[] => [
  {
    id: 'what',
    header: 'What',
    cell: ({ id, filter }) => (
      <span className="two-lines">
        <span>{filterWords(filter)}</span>
        <code className="muted">{id}</code>
      </span>
    ),
  },
  {
    id: 'status',
    header: 'State',
    cell: ({ status, error }) => (
      <span className="two-lines">
        <Badge tone={TONES[status] ?? 'calm'}>{status}</Badge>
        {error !== null && <span className="muted">{error}</span>}
      </span>
    ),
  },
  { id: 'matched', header: 'Matches', cell: (job) => matchedWords(job) ?? <span className="muted">counting …</span> },
  {
    id: 'erased',
    header: 'Erased',
    align: 'right',
    cell: ({ kinds }) => count(kinds.reduce((sum, { erased }) => sum + erased, 0)),
  },
  { id: 'made', header: 'Planned', minor: true, cell: ({ created_at }) => <TimeAgo at={created_at} /> },
  { id: 'deeds', header: 'Change', align: 'right', cell: (job) => <Deeds {...{ job, onOpen, onReceipt }} /> },
]

interface DeedsProps {
  job: PurgeJob
  onOpen(open: Open): void
  onReceipt(id: string): void
}

function Deeds({ job, onOpen, onReceipt }: DeedsProps) {
  const { id, status } = job
  const which = <span className="visually-hidden"> {id}</span>
  return (
    <span className="row deeds">
      {status === 'planned' && (
        <Button look="quiet" onClick={() => onOpen({ kind: 'erase', job })}>
          Erase{which}
        </Button>
      )}
      {['planned', 'queued', 'running'].includes(status) && (
        <Button look="quiet" onClick={() => onOpen({ kind: 'cancel', job })}>
          Cancel{which}
        </Button>
      )}
      {status === 'succeeded' && (
        <Button look="quiet" onClick={() => onReceipt(id)}>
          Receipt<span className="visually-hidden"> of {id}</span>
        </Button>
      )}
    </span>
  )
}
