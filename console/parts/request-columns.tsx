// What lists of requests have in common: the columns of when, first token and duration, and the buttons between pages.
import type { ReactNode } from 'react'
import { Link } from '../state/navigation.tsx'
import { Button } from './button.tsx'
import type { Column } from './data-table.tsx'
import { duration } from './figures.ts'
import { TimeAgo } from './time-ago.tsx'

interface Timed {
  created_at: string
  ttft_ms: number | null
  duration_ms: number
}

export const statusTone = (status: string) =>
  status === 'completed' ? 'good' : status === 'client_left' ? 'calm' : 'warn'

/** With a link to the trace. */
export const whenColumn = <Row extends Timed>(traceId: (row: Row) => string): Column<Row> => ({
  id: 'at',
  header: 'When',
  cell: (row) => (
    <span className="two-lines">
      <Link to={`/traces/${traceId(row)}`}>
        <TimeAgo at={row.created_at} />
        <span className="visually-hidden">: the trace</span>
      </Link>
      <code className="muted">…{traceId(row).slice(-8)}</code>
    </span>
  ),
})

export const TIME_COLUMNS: readonly Column<Timed>[] = [
  {
    id: 'ttft',
    header: 'First token',
    align: 'right',
    minor: true,
    cell: ({ ttft_ms }) => (ttft_ms === null ? '–' : duration(ttft_ms)),
  },
  { id: 'took', header: 'Took', align: 'right', cell: ({ duration_ms }) => duration(duration_ms) },
]

interface PagerProps {
  /** Where one is. */
  children: ReactNode
  is_newest: boolean
  newest(): void
  newer(): void
  /** Undefined where there are none. */
  older: (() => void) | undefined
  older_label?: string
}

export const RequestPager = ({ children, is_newest, newest, newer, older, older_label = 'Older' }: PagerProps) => (
  <nav className="pager" aria-label="Pages of requests">
    <span role="status">{children}</span>
    <Button disabled={is_newest} onClick={newest}>
      Newest
    </Button>
    <Button disabled={is_newest} onClick={newer}>
      Newer
    </Button>
    <Button disabled={older === undefined} onClick={() => older?.()}>
      {older_label}
    </Button>
  </nav>
)
