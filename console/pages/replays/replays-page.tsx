// Replay runs: recorded calls that are asked again elsewhere, within a budget, to see what would change.
import { useState } from 'react'
import { listReplays, type ReplayRun } from '../../api/replay-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { Link, navigate } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { useShortcut } from '../../state/shortcuts.ts'
import { PlanReplayDialog } from './plan-replay-dialog.tsx'
import { askedAt, ReplayStatus } from './replay-words.tsx'

const POLL_MS = 5_000
const LEAD =
  'Ask recorded calls again at another model, release or cluster, and see what changes before anybody else does.'

export default function ReplaysPage() {
  const may_manage = useMay('admin')
  return may_manage ? (
    <Replays />
  ) : (
    <>
      <PageHeader title="Replays" lead={LEAD} />
      <p className="notice">Replays show what was said in calls, so they are for owners of the project.</p>
    </>
  )
}

function Replays() {
  const runs = useResource<readonly ReplayRun[]>(listReplays, { poll_ms: POLL_MS })
  const [planning, setPlanning] = useState(false)
  useShortcut('c', 'Plan a replay', () => setPlanning(true))
  const plan = (
    <Button look="primary" onClick={() => setPlanning(true)}>
      Plan a replay
    </Button>
  )
  return (
    <>
      <PageHeader title="Replays" lead={LEAD} actions={plan} />
      <Card title="Runs">
        <DataTable
          what="Replay runs"
          resource={runs}
          columns={COLUMNS}
          rowId={({ id }) => id}
          empty={<NoReplays onPlan={() => setPlanning(true)} />}
        />
      </Card>
      {planning && (
        <PlanReplayDialog onClose={() => setPlanning(false)} onPlanned={({ id }) => navigate(`/replays/${id}`)} />
      )}
    </>
  )
}

const COLUMNS: readonly Column<ReplayRun>[] = [
  {
    id: 'run',
    header: 'Run',
    cell: ({ id }) => (
      <Link to={`/replays/${id}`}>
        <code>{id}</code>
      </Link>
    ),
  },
  {
    id: 'status',
    header: 'State',
    sortBy: ({ status }) => status,
    cell: (run) => <ReplayStatus status={run.status} />,
  },
  { id: 'target', header: 'Asks', cell: (run) => askedAt(run) },
  {
    id: 'items',
    header: 'Answered',
    align: 'right',
    sortBy: ({ items }) => items.done,
    cell: ({ items }) => `${count(items.done)} of ${count(items.total)}`,
  },
  {
    id: 'spent',
    header: 'Spent',
    align: 'right',
    sortBy: ({ spent_micros }) => spent_micros,
    cell: ({ spent_micros }) => money(spent_micros),
  },
  { id: 'made', header: 'Made', minor: true, cell: ({ created_at }) => <TimeAgo at={created_at} /> },
]

const NoReplays = ({ onPlan }: { onPlan(): void }) => (
  <>
    <h2>No replays yet</h2>
    <p>
      A plan makes no calls: it says where each recorded call would go and what it would cost. Calls must have been
      recorded; switch that on in the settings of the project.
    </p>
    <Button look="primary" onClick={onPlan}>
      Plan a replay
    </Button>
  </>
)
