// Usage added up by model, key, provider, profile or cluster, the dearest first. A name leads one level down.
import { useMemo } from 'react'
import type { UsageGroup } from '../../api/usage-calls.ts'
import { count, money, shortCount } from '../../parts/amounts.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { change as changeOf, percent } from '../../parts/figures.ts'
import type { AddressQuery } from '../../state/address-query.ts'
import { type Resource, seenAs } from '../../state/resource.ts'
import { type Compared, GROUPS_SHOWN } from './usage-figures.ts'
import { DIMENSIONS, drilledInto, nameOf, type UsageFrame } from './usage-view.ts'

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
  names: ReadonlyMap<string, string>
  change: AddressQuery['change']
}

export function UsageBreakdown({ frame, groups, names, change }: UsageBreakdownProps) {
  const columns = useMemo(() => columnsOf(frame, change), [frame, change])
  const { state } = groups
  const is_cut = state.kind === 'ready' && state.value.now.length >= GROUPS_SHOWN
  return (
    <>
      <DataTable
        what={`Usage by ${DIMENSIONS[frame.by].toLowerCase()}`}
        resource={seenAs(groups, (compared) => rowsOf(compared, frame, names))}
        columns={columns}
        rowId={({ name }) => name ?? ''}
        empty={<p>Nothing was generated in this period that matches.</p>}
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
    const shown = name === null ? 'on no cluster' : (names.get(name) ?? name)
    return { name, shown, group, share: all > 0 ? group.charged_micros / all : 0, before: earlier.get(name) }
  })
}

function columnsOf({ by, compare }: UsageFrame, change: AddressQuery['change']): Column<Row>[] {
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
    number('in', 'Tokens in', ({ group }) => group.input_tokens, shortCount, true),
    {
      ...number('cached', 'Cached', ({ group }) => cachedShare(group), count, true),
      cell: ({ group }) => percent(group.cached_tokens, group.input_tokens),
    },
    number('out', 'Tokens out', ({ group }) => group.output_tokens, shortCount, true),
    number('saved', 'Saved', ({ group }) => group.savings_micros, money),
    number('cost', 'Charged', ({ group }) => group.charged_micros, money),
    ...(compare ? [CHANGE] : []),
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
