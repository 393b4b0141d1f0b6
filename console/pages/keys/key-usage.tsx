// What a key was used for: thirty days, day by day, and its latest generations.
import { useCallback, useMemo } from 'react'
import { type UsageEvent, type UsageGroup, usageEvents, usageGroups } from '../../api/usage-calls.ts'
import { count, money, shortCount } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { BarChart, LineChart } from '../../parts/time-chart.tsx'
import { nowMs } from '../../state/browser-clock.ts'
import { useResource } from '../../state/resource.ts'

const DAYS = 30
const DAY_MS = 86_400_000
const POLL_MS = 15_000
const LATEST = '20'

export function KeyUsage({ key_id }: { key_id: string }) {
  const days = useMemo(lastDays, [])
  const from = `${days[0]}T00:00:00Z`
  const by_day = useResource(
    useCallback((signal) => usageGroups({ key_id, from, group_by: 'day' }, signal), [key_id, from]),
    { poll_ms: POLL_MS },
  )
  const latest = useResource<readonly UsageEvent[]>(
    useCallback((signal) => usageEvents({ key_id, limit: LATEST }, signal), [key_id]),
    { poll_ms: POLL_MS },
  )
  return (
    <>
      <Card title={`Last ${DAYS} days`}>
        {by_day.state.kind === 'failed' && (
          <LoadFailure what="Usage" error={by_day.state.error} onRetry={by_day.reload} />
        )}
        {by_day.state.kind === 'loading' && <div className="skeleton skeleton-chart" />}
        {by_day.state.kind === 'ready' && <Charts days={days} groups={by_day.state.value} />}
      </Card>
      <Card title="Latest requests">
        <DataTable
          what="Requests"
          resource={latest}
          columns={COLUMNS}
          rowId={({ trace_id }) => trace_id}
          empty={<p>Nothing was generated with this key yet.</p>}
        />
      </Card>
    </>
  )
}

/** As the service adds up: days in UTC, the oldest first. */
function lastDays(): string[] {
  const today = nowMs()
  return Array.from({ length: DAYS }, (_, at) => new Date(today - (DAYS - 1 - at) * DAY_MS).toISOString().slice(0, 10))
}

function Charts({ days, groups }: { days: readonly string[]; groups: readonly UsageGroup[] }) {
  const known = new Map(groups.map((group) => [group.day, group]))
  const over = (value: (group: UsageGroup) => number) =>
    days.map((day) => {
      const group = known.get(day)
      return { label: day, value: group ? value(group) : 0 }
    })
  return (
    <Tabs
      label="What is drawn"
      tabs={[
        {
          id: 'spend',
          label: 'Spend',
          content: <BarChart title="Charged" points={over((group) => group.charged_micros)} format={money} />,
        },
        {
          id: 'requests',
          label: 'Requests',
          content: <BarChart title="Requests" points={over((group) => group.events)} format={count} />,
        },
        {
          id: 'tokens',
          label: 'Tokens',
          content: (
            <LineChart
              title="Tokens in and out"
              points={over((group) => group.input_tokens + group.output_tokens)}
              format={shortCount}
            />
          ),
        },
      ]}
    />
  )
}

const COLUMNS: readonly Column<UsageEvent>[] = [
  { id: 'at', header: 'When', cell: ({ created_at }) => <TimeAgo at={created_at} /> },
  {
    id: 'model',
    header: 'Model',
    cell: ({ resolved_model, provider, mode }) => (
      <span className="two-lines">
        <span>{resolved_model}</span>
        <span className="muted">{mode === 'placeholder' ? 'placeholder' : provider}</span>
      </span>
    ),
  },
  {
    id: 'status',
    header: 'Result',
    cell: ({ status }) => <Badge tone={status === 'completed' ? 'good' : 'warn'}>{status}</Badge>,
  },
  { id: 'in', header: 'Tokens in', align: 'right', minor: true, cell: ({ input_tokens }) => count(input_tokens) },
  { id: 'out', header: 'Tokens out', align: 'right', cell: ({ output_tokens }) => count(output_tokens) },
  { id: 'took', header: 'Took', align: 'right', minor: true, cell: ({ duration_ms }) => `${count(duration_ms)} ms` },
  { id: 'cost', header: 'Charged', align: 'right', cell: ({ charged_micros }) => money(charged_micros) },
]
