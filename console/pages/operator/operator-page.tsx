// What whoever runs the service sees (R79): all projects, what each spent this month and may spend; usage by project.
import { useCallback, useMemo, useState } from 'react'
import {
  listProjects,
  type OperatorProject,
  type ProjectUsage,
  usageByProject,
  usageTable,
} from '../../api/operator-calls.ts'
import { count, money, shortCount } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { DownloadButton } from '../../parts/download-button.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { PERIODS, spanOf } from '../../parts/periods.ts'
import { Segments } from '../../parts/segments.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { nowMs } from '../../state/browser-clock.ts'
import { Link } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { NewKeyDialog, type ShownKey } from '../keys/new-key-dialog.tsx'
import { CreateProjectDialog } from './create-project-dialog.tsx'
import { capOf, monthStart } from './tenant-figures.ts'

const POLL_MS = 30_000

type Row = OperatorProject & { month_micros: number }

/** Each with what it was charged since the month began. */
async function projectsWithMonth(signal: AbortSignal): Promise<readonly Row[]> {
  const from = monthStart(nowMs())
  const [projects, usage] = await Promise.all([listProjects(signal), usageByProject({ from }, signal)])
  const charged = new Map(usage.map(({ project_id, charged_micros }) => [project_id, charged_micros]))
  return projects.map((project) => ({ ...project, month_micros: charged.get(project.id) ?? 0 }))
}

export default function OperatorPage() {
  const projects = useResource<readonly Row[]>(projectsWithMonth, { poll_ms: POLL_MS })
  const [creating, setCreating] = useState(false)
  const [shown, setShown] = useState<ShownKey>()
  function onCreated(key: ShownKey) {
    setCreating(false)
    setShown(key)
    projects.reload()
  }
  return (
    <>
      <PageHeader
        title="Operator"
        lead="All projects of this service. Only owners of the project that runs it see this."
        actions={
          <Button look="primary" onClick={() => setCreating(true)}>
            Create project
          </Button>
        }
      />
      <Card title="Projects">
        <DataTable what="Projects" resource={projects} columns={COLUMNS} rowId={({ id }) => id} empty={<p>None.</p>} />
      </Card>
      <UsageCard />
      {creating && <CreateProjectDialog onClose={() => setCreating(false)} onCreated={onCreated} />}
      {shown && <NewKeyDialog shown={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'name',
    header: 'Project',
    sortBy: ({ name }) => name.toLowerCase(),
    cell: ({ id, name, owner_email, is_operator }) => (
      <span className="two-lines">
        <Link to={`/operator/${id}`}>{name}</Link>
        <span className="muted">{is_operator ? 'runs this service' : owner_email}</span>
      </span>
    ),
  },
  {
    id: 'status',
    header: 'State',
    sortBy: ({ status }) => status,
    cell: ({ status }) => <Badge tone={status === 'active' ? 'good' : 'bad'}>{status}</Badge>,
  },
  {
    id: 'month',
    header: 'This month',
    align: 'right',
    sortBy: ({ month_micros }) => month_micros,
    cell: ({ month_micros }) => money(month_micros),
  },
  {
    id: 'spent',
    header: 'In all',
    align: 'right',
    minor: true,
    sortBy: ({ spent_micros }) => spent_micros,
    cell: ({ spent_micros }) => money(spent_micros),
  },
  { id: 'cap', header: 'Cap', align: 'right', sortBy: (one) => capOf(one).micros ?? Number.MAX_VALUE, cell: Cap },
  { id: 'share', header: 'Share', align: 'right', sortBy: ({ share }) => share, cell: ({ share }) => count(share) },
  {
    id: 'created',
    header: 'Created',
    minor: true,
    sortBy: ({ created_at }) => created_at,
    cell: ({ created_at }) => <TimeAgo at={created_at} />,
  },
]

function Cap(project: OperatorProject) {
  const { micros, whose } = capOf(project)
  if (micros === undefined) return <span className="muted">none</span>
  return (
    <span className="two-lines">
      <span>{money(micros)}</span>
      <span className="muted">{whose}</span>
    </span>
  )
}

type UsagePeriod = '24h' | '7d' | '30d' | '90d'
const USAGE_PERIODS = (['24h', '7d', '30d', '90d'] satisfies UsagePeriod[]).map((id: UsagePeriod) => ({
  id,
  label: PERIODS[id].label,
}))

function UsageCard() {
  const [period, setPeriod] = useState<UsagePeriod>('30d')
  const from = useMemo(() => new Date(spanOf(period, nowMs()).from_ms).toISOString(), [period])
  const usage = useResource<readonly ProjectUsage[]>(
    useCallback((signal) => usageByProject({ from }, signal), [from]),
    { poll_ms: POLL_MS },
  )
  return (
    <Card
      title="Usage by project"
      actions={
        <span className="row">
          <Segments<UsagePeriod> label="Period" options={USAGE_PERIODS} value={period} onChange={setPeriod} />
          <DownloadButton
            what="usage by project"
            file={`usage-by-project-${period}.csv`}
            load={() => usageTable({ from, group_by: 'day' })}
          />
        </span>
      }
    >
      <DataTable
        what="Usage by project"
        resource={usage}
        columns={USAGE_COLUMNS}
        rowId={({ project_id }) => project_id}
        empty={<p>No project sent a request in {PERIODS[period].words}.</p>}
      />
    </Card>
  )
}

const USAGE_COLUMNS: readonly Column<ProjectUsage>[] = [
  {
    id: 'project',
    header: 'Project',
    sortBy: ({ project_name }) => project_name.toLowerCase(),
    cell: ({ project_id, project_name }) => <Link to={`/operator/${project_id}`}>{project_name}</Link>,
  },
  {
    id: 'events',
    header: 'Requests',
    align: 'right',
    sortBy: ({ events }) => events,
    cell: (row) => count(row.events),
  },
  {
    id: 'input',
    header: 'Tokens in',
    align: 'right',
    minor: true,
    sortBy: ({ input_tokens }) => input_tokens,
    cell: ({ input_tokens }) => shortCount(input_tokens),
  },
  {
    id: 'output',
    header: 'Tokens out',
    align: 'right',
    minor: true,
    sortBy: ({ output_tokens }) => output_tokens,
    cell: ({ output_tokens }) => shortCount(output_tokens),
  },
  {
    id: 'charged',
    header: 'Charged',
    align: 'right',
    sortBy: ({ charged_micros }) => charged_micros,
    cell: ({ charged_micros }) => money(charged_micros),
  },
]
