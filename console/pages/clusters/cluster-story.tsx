// What a cluster told, how its status came about, and how it keeps telling.
import type { Cluster, ClusterTelemetry, ClusterTransition } from '../../api/cluster-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Card } from '../../parts/card.tsx'
import { CodeBlock } from '../../parts/code-block.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import type { Resource } from '../../state/resource.ts'
import { CacheMeters, LoadStats } from './cluster-load.tsx'
import { DayStrip, useTransitions } from './day-strip.tsx'
import { HEARTBEAT_COMMANDS, type HeartbeatCommand } from './heartbeat-commands.ts'

type Served = NonNullable<ClusterTelemetry['models']>[number]

export function TelemetryCard({ telemetry: { state, reload } }: { telemetry: Resource<ClusterTelemetry> }) {
  return (
    <Card title="Load and caches" actions={state.kind === 'ready' && <Reported at={state.value.reported_at} />}>
      {state.kind === 'loading' && <div className="skeleton skeleton-chart" />}
      {state.kind === 'failed' && <LoadFailure what="Telemetry" error={state.error} onRetry={reload} />}
      {state.kind === 'ready' && state.value.reported_at === null && (
        <p className="muted">Its heartbeats have reported only its status so far. “With telemetry” shows how.</p>
      )}
      {state.kind === 'ready' && (
        <>
          <LoadStats telemetry={state.value} />
          <CacheMeters telemetry={state.value} detailed />
          {state.value.models && <Models models={state.value.models} />}
        </>
      )}
    </Card>
  )
}

const Reported = ({ at }: { at: string | null }) =>
  at && (
    <span className="muted">
      told <TimeAgo at={at} />
    </span>
  )

const NOTHING = () => {}

const Models = ({ models }: { models: readonly Served[] }) => (
  <div className="apart">
    <DataTable
      what="Models"
      resource={{ state: { kind: 'ready', value: models }, reload: NOTHING }}
      columns={MODEL_COLUMNS}
      rowId={({ id }) => id}
      empty={<p>It serves no models now.</p>}
    />
  </div>
)

const maybe = (figure: number | undefined) => (figure === undefined ? '–' : count(figure))

const MODEL_COLUMNS: readonly Column<Served>[] = [
  { id: 'id', header: 'Model', sortBy: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
  { id: 'context', header: 'Context', align: 'right', cell: ({ context_length }) => maybe(context_length) },
  { id: 'replicas', header: 'Replicas', align: 'right', cell: ({ replicas_ready }) => maybe(replicas_ready) },
  { id: 'loras', header: 'Adapters', align: 'right', minor: true, cell: ({ loras }) => maybe(loras?.length) },
]

const WHY: Record<ClusterTransition['why'], string> = {
  register: 'it was registered',
  heartbeat: 'the cluster said so',
  sweep: 'it was silent for 90 seconds',
  deregister: 'it was deregistered',
}

const CHANGE_COLUMNS: readonly Column<ClusterTransition>[] = [
  { id: 'at', header: 'When', sortBy: ({ at }) => at, cell: ({ at }) => <TimeAgo at={at} /> },
  { id: 'change', header: 'Change', cell: ({ from, to }) => (from === null ? to : `${from} → ${to}`) },
  { id: 'why', header: 'Why', cell: ({ why }) => WHY[why] },
]

export function DayCard({ cluster }: { cluster: Cluster }) {
  const transitions = useTransitions(cluster.id)
  return (
    <Card title="Last day">
      <DayStrip cluster={cluster} transitions={transitions} />
      <div className="apart">
        <DataTable
          what="Changes of its status"
          resource={transitions}
          columns={CHANGE_COLUMNS}
          rowId={({ at, from, to }) => `${at} ${from} ${to}`}
          empty={<p>Its status did not change in the last day.</p>}
        />
      </div>
    </Card>
  )
}

export function HeartbeatCard({ cluster }: { cluster: Cluster }) {
  const waiting = cluster.last_heartbeat_at === null
  const tab = ({ id, label, note, code }: HeartbeatCommand) => ({
    id,
    label,
    content: (
      <div className="stack">
        <p className="muted">{note}</p>
        <CodeBlock code={code(location.origin, cluster.id)} what={`command: ${label}`} />
      </div>
    ),
  })
  const [first, ...others] = HEARTBEAT_COMMANDS
  return (
    <Card
      title={waiting ? 'Start its heartbeats' : 'Heartbeats'}
      {...(!waiting && { gist: 'How it reports, and how it is drained' })}
    >
      <div className="stack">
        {waiting && (
          <p className="watching" role="status">
            <span className="pulse" aria-hidden="true" />
            Waiting for its first heartbeat …
          </p>
        )}
        <Tabs label="How it reports" tabs={[tab(first), ...others.map(tab)]} />
      </div>
    </Card>
  )
}
