// Usage added up by model, key, provider, profile or cluster, the dearest first. A name leads one level down.
import { useMemo } from 'react'
import type { UsageGroup } from '../../api/usage-calls.ts'
import { count, money, shortCount } from '../../parts/amounts.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { change as changeOf, duration, percent } from '../../parts/figures.ts'
import { sameTime } from '../../parts/periods.ts'
import { type AddressQuery, changedQuery } from '../../state/address-query.ts'
import { nowMs } from '../../state/browser-clock.ts'
import { Link } from '../../state/navigation.tsx'
import { type Resource, seenAs } from '../../state/resource.ts'
import { WRONG } from '../overview/refusal-layers.ts'
import { type Compared, GROUPS_SHOWN, type Outcomes } from './usage-figures.ts'
import { DIMENSIONS, drilledInto, type Grouping, hasOutcomes, nameOf, spanIn, type UsageFrame } from './usage-view.ts'

interface Row {
  name: string | null
  shown: string
  group: UsageGroup
  /** Of all that is shown. */
  share: number
  before: UsageGroup | undefined
}

interface UsageBreakdownProps {
  frame: UsageFrame
  groups: Resource<Compared<UsageGroup>>
  /** Undefined while they are not known. */
  outcomes: Outcomes | undefined
  names: ReadonlyMap<string, string>
  change: AddressQuery['change']
}

export function UsageBreakdown({ frame, groups, outcomes, names, change }: UsageBreakdownProps) {
  const columns = useMemo(() => columnsOf(frame, change, outcomes), [frame, change, outcomes])
  const { state } = groups
  const is_cut = state.kind === 'ready' && state.value.now.length >= GROUPS_SHOWN
  return (
    <>
      <DataTable
        what={`Usage by ${DIMENSIONS[frame.by].toLowerCase()}`}
        resource={seenAs(groups, (compared) => rowsOf(compared, frame, names))}
        columns={columns}
        rowId={({ name }) => name ?? ''}
        empty={<p>No request in this period matches.</p>}
      />
      {is_cut && <p className="muted">These are the {count(GROUPS_SHOWN)} dearest. The file has all of them.</p>}
    </>
  )
}

function rowsOf(
  { now, before = [] }: Compared<UsageGroup>,
  { by }: UsageFrame,
  names: ReadonlyMap<string, string>,
): Row[] {
  const earlier = new Map(before.map((group) => [nameOf(group, by), group]))
  const all = now.reduce((sum, { charged_micros }) => sum + charged_micros, 0)
  return now.map((group) => {
    const name = nameOf(group, by)
    const shown = name === null ? (NAMELESS[by] ?? 'none') : (names.get(name) ?? name)
    return { name, shown, group, share: all > 0 ? group.charged_micros / all : 0, before: earlier.get(name) }
  })
}

/** What a line is called that has none of it. */
const NAMELESS: Partial<Record<Grouping, string>> = {
  cluster_id: 'on no cluster',
  bundle_id: 'without a bundle',
  tag: 'without this tag',
}

function columnsOf(frame: UsageFrame, change: AddressQuery['change'], outcomes: Outcomes | undefined): Column<Row>[] {
  const { by, compare } = frame
  const drill = (name: string) => change({ [by]: name, by: drilledInto(by), at: undefined })
  return [
    {
      id: 'name',
      header: DIMENSIONS[by],
      sortBy: ({ shown }) => shown.toLowerCase(),
      cell: ({ name, shown, share }) => (
        <span className="breakdown-name">
          {name === null ? (
            <span>{shown}</span>
          ) : (
            <button type="button" className="text-button" title={name} onClick={() => drill(name)}>
              {shown}
              <span className="visually-hidden">: only this, in detail</span>
            </button>
          )}
          <span className="share" aria-hidden="true">
            <span style={{ width: `${share * 100}%` }} />
          </span>
        </span>
      ),
    },
    number('events', 'Requests', ({ group }) => group.events, count),
    ...(!hasOutcomes(by) ? [] : outcomeColumns(outcomes ?? NONE, frame)),
    number('in', 'Tokens in', ({ group }) => group.input_tokens, shortCount, true),
    {
      ...number('cached', 'Cached', ({ group }) => cachedShare(group), count, true),
      cell: ({ group }) => percent(group.cached_tokens, group.input_tokens),
    },
    number('out', 'Tokens out', ({ group }) => group.output_tokens, shortCount, true),
    number('saved', 'Saved', ({ group }) => group.savings_micros, money, true),
    number('cost', 'Charged', ({ group }) => group.charged_micros, money),
    ...(compare ? [CHANGE] : []),
  ]
}

const NONE: Outcomes = new Map()

/** Told of the dearest and of those that failed: what is not told of did not fail. */
function outcomeColumns(outcomes: Outcomes, frame: UsageFrame): Column<Row>[] {
  const of = ({ name }: Row) => outcomes.get(name ?? '')
  return [
    {
      id: 'failed',
      header: 'Failed',
      align: 'right',
      sortBy: (row) => of(row)?.failed ?? 0,
      cell: (row) => {
        const { failed = 0, requests = 0 } = of(row) ?? {}
        if (failed === 0) return '0'
        // The list of requests knows no profiles, and no name for what ran on no cluster.
        if (frame.by === 'profile' || row.name === null) return count(failed)
        const time = sameTime(frame, spanIn(frame, nowMs()))
        const wrong = changedQuery('', { ...frame.filters, outcome: WRONG, ...time, [frame.by]: row.name })
        return (
          <Link to={`/requests?${wrong}`} className="nowrap">
            {count(failed)} <span className="muted">({percent(failed, requests)})</span>
            <span className="visually-hidden"> of {row.shown}: the requests</span>
          </Link>
        )
      },
    },
    {
      id: 'ttft',
      header: 'First token, p95',
      align: 'right',
      minor: true,
      sortBy: (row) => of(row)?.ttft_p95_ms ?? 0,
      cell: (row) => {
        const ms = of(row)?.ttft_p95_ms ?? null
        return ms === null ? '–' : duration(ms)
      },
    },
  ]
}

const cachedShare = ({ cached_tokens, input_tokens }: UsageGroup) =>
  input_tokens > 0 ? cached_tokens / input_tokens : 0

const CHANGE: Column<Row> = {
  id: 'change',
  header: 'Charged before',
  align: 'right',
  sortBy: ({ before }) => before?.charged_micros ?? 0,
  cell: ({ group, before }) => (
    <span className="two-lines">
      <span>{money(before?.charged_micros ?? 0)}</span>
      <span className="muted">{changeOf(group.charged_micros, before?.charged_micros ?? 0) ?? 'new'}</span>
    </span>
  ),
}

function number(id: string, header: string, of: (row: Row) => number, ...look: Look): Column<Row> {
  const [format, minor] = look
  return { id, header, align: 'right', ...(minor && { minor }), sortBy: of, cell: (row) => format(of(row)) }
}

type Look = [format: (value: number) => string, minor?: true]
