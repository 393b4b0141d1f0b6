// The calls of a replay run: where each goes, what became of it, and what differs from what was recorded.
import { useCallback, useMemo } from 'react'
import { listReplayItems, type ReplayItem } from '../../api/replay-calls.ts'
import { money } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Link } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { measureName } from './replay-words.tsx'

/** `over`: how many have ended. Each time that changes, they are read again. */
export function ReplayItems({ id, over }: { id: string; over: number }) {
  const key = useMemo(() => ({ id, over }), [id, over])
  const items = useResource<readonly ReplayItem[]>(
    useCallback((signal) => listReplayItems(key.id, signal), [key]),
    { keep: true },
  )
  return (
    <Card title="Calls">
      <DataTable
        what="Calls"
        resource={items}
        columns={COLUMNS}
        rowId={({ trace_id, arm }) => `${trace_id}/${arm}`}
        empty={<p>There are none.</p>}
      />
    </Card>
  )
}

const COLUMNS: readonly Column<ReplayItem>[] = [
  {
    id: 'call',
    header: 'Recorded call',
    cell: ({ trace_id, arm }) => (
      <span className="two-lines">
        <Link to={`/traces/${trace_id}`}>
          <code>{trace_id}</code>
        </Link>
        <span className="muted">{arm}</span>
      </span>
    ),
  },
  {
    id: 'route',
    header: 'Goes to',
    minor: true,
    cell: ({ planned: { route } }) => (route ? `${route.provider} ${route.model}` : '–'),
  },
  { id: 'status', header: 'State', sortBy: ({ status }) => status, cell: (item) => <ItemState item={item} /> },
  {
    id: 'differs',
    header: 'Differs in',
    cell: ({ result }) => (result ? differing(result.same).join(', ') || 'nothing' : '–'),
  },
  {
    id: 'cost',
    header: 'Cost',
    align: 'right',
    sortBy: ({ result, planned }) => result?.charged_micros ?? planned.high_micros,
    cell: ({ result, planned }) =>
      result ? money(result.charged_micros) : `${money(planned.low_micros)} – ${money(planned.high_micros)}`,
  },
]

const differing = (same: NonNullable<ReplayItem['result']>['same']) =>
  Object.entries(same).flatMap(([measure, is_same]) => (is_same === false ? [measureName(measure).toLowerCase()] : []))

const TONES = { done: 'good', failed: 'bad', skipped: 'warn', pending: 'calm', running: 'calm' } as const

const ItemState = ({ item: { status, reason, message } }: { item: ReplayItem }) => (
  <span className="two-lines">
    <span>
      <Badge tone={TONES[status]}>{status}</Badge>
    </span>
    {reason && (
      <span className="muted">
        {reason.replaceAll('_', ' ')}
        {message && `: ${message}`}
      </span>
    )}
  </span>
)
