// Requests, the newest first, page by page as the service hands them out: a million are no more work than a few.
import { type ReactNode, useCallback, useState } from 'react'
import { type UsageAsked, type UsageEvent, usageEventPage } from '../../api/usage-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { RequestPager, statusTone, TIME_COLUMNS, whenColumn } from '../../parts/request-columns.tsx'
import { seenAs, useResource } from '../../state/resource.ts'
import { outcomeLabel } from '../overview/refusal-layers.ts'

const PAGE_ROWS = 25
const POLL_MS = 15_000

interface EventPagesProps {
  /** Must stay the same object while it asks for the same. */
  query: UsageAsked
  empty: ReactNode
}

export function EventPages({ query, empty }: EventPagesProps) {
  // The last trace ids of the pages before this one.
  const [passed, setPassed] = useState<readonly string[]>([])
  const after = passed.at(-1)
  const page = useResource(
    useCallback(
      (signal) => usageEventPage({ ...query, limit: String(PAGE_ROWS), ...(after && { after }) }, signal),
      [query, after],
    ),
    // Only the newest page changes.
    { poll_ms: after === undefined ? POLL_MS : undefined },
  )
  const { state } = page
  const events = state.kind === 'ready' ? state.value.data : []
  const last = state.kind === 'ready' && state.value.has_more ? events.at(-1)?.trace_id : undefined
  const first_row = passed.length * PAGE_ROWS + 1
  return (
    <>
      <DataTable
        what="Requests"
        resource={seenAs(page, ({ data }) => data)}
        columns={COLUMNS}
        rowId={({ trace_id }) => trace_id}
        empty={empty}
      />
      {(passed.length > 0 || last !== undefined) && (
        <RequestPager
          is_newest={passed.length === 0}
          newest={() => setPassed([])}
          newer={() => setPassed(passed.slice(0, -1))}
          older={last === undefined ? undefined : () => setPassed([...passed, last])}
        >
          {events.length > 0 && `${count(first_row)}–${count(first_row + events.length - 1)}`}
          {last !== undefined && ', and more'}
        </RequestPager>
      )}
    </>
  )
}

const COLUMNS: readonly Column<UsageEvent>[] = [
  whenColumn(({ trace_id }) => trace_id),
  {
    id: 'model',
    header: 'Model',
    cell: ({ resolved_model, provider, mode }) => (
      <span className="two-lines named-model" title={resolved_model}>
        <span>{resolved_model}</span>
        <span className="muted">{mode === 'placeholder' ? 'placeholder' : provider}</span>
      </span>
    ),
  },
  {
    id: 'status',
    header: 'Result',
    cell: ({ status }) => <Badge tone={statusTone(status)}>{outcomeLabel(status)}</Badge>,
  },
  { id: 'in', header: 'Tokens in', align: 'right', minor: true, cell: ({ input_tokens }) => count(input_tokens) },
  {
    id: 'cached',
    header: 'Cached',
    align: 'right',
    minor: true,
    cell: ({ cached_tokens }) => count(cached_tokens),
  },
  { id: 'out', header: 'Tokens out', align: 'right', minor: true, cell: ({ output_tokens }) => count(output_tokens) },
  ...TIME_COLUMNS,
  { id: 'cost', header: 'Charged', align: 'right', cell: ({ charged_micros }) => money(charged_micros) },
]
