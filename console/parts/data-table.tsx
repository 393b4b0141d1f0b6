// A table in all its states: loading, failed, empty, and thousands of rows, of which one page is drawn at a time.
import { type ReactNode, useState } from 'react'
import { useIsNarrow } from '../state/narrow.ts'
import type { Resource } from '../state/resource.ts'
import { count } from './amounts.ts'
import { Button } from './button.tsx'
import { LoadFailure, StaleNotice } from './load-failure.tsx'

export interface Column<Row> {
  id: string
  header: string
  cell(row: Row): ReactNode
  /** Numbers stand to the right. */
  align?: 'right'
  /** Left out on narrow screens: it can be found elsewhere. */
  minor?: true
  /** Makes the column sortable. */
  sortBy?(row: Row): string | number
}

/** Which rows are looked for. Another `of` begins at the first page again. */
export interface RowFilter<Row> {
  of: string
  matches(row: Row): boolean
}

interface DataTableProps<Row> {
  /** What the rows are, in the plural: it names the table and what could not be loaded. */
  what: string
  resource: Pick<Resource<readonly Row[]>, 'state' | 'reload'>
  columns: readonly Column<Row>[]
  rowId(row: Row): string
  /** What stands there where there is nothing at all. */
  empty: ReactNode
  filter?: RowFilter<Row>
}

const PAGE_ROWS = 50
/** On a phone each row is as tall as a card: a few come first, the rest when they are wanted. */
const FIRST_ROWS = 6
const SKELETON_ROWS = 6

export function DataTable<Row>({ what, resource, columns, rowId, empty, filter }: DataTableProps<Row>) {
  const { state, reload } = resource
  const [sort, setSort] = useState<Sort>()
  const view = `${filter?.of} ${sort?.column} ${sort?.direction}`
  const [asked, setAsked] = useState({ view, page: 0 })
  const [all, setAll] = useState(false)
  const is_short = useIsNarrow() && !all
  if (state.kind === 'failed') return <LoadFailure what={what} error={state.error} onRetry={reload} />
  if (state.kind === 'ready' && state.value.length === 0) return <div className="empty">{empty}</div>

  const matching = state.kind === 'ready' ? state.value.filter((row) => filter?.matches(row) ?? true) : []
  const rows = sorted(matching, columns, sort)
  const last_page = Math.max(0, Math.ceil(rows.length / PAGE_ROWS) - 1)
  const page = asked.view === view ? Math.min(asked.page, last_page) : 0
  const on_page = rows.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS)
  const shown = is_short ? on_page.slice(0, FIRST_ROWS) : on_page
  return (
    <div aria-busy={state.kind === 'loading'}>
      {state.kind === 'ready' && <StaleNotice error={state.stale} onRetry={reload} />}
      <table className="table">
        <caption className="visually-hidden">{what}</caption>
        <TableHead columns={columns} sort={sort} onSort={setSort} />
        <tbody>
          {state.kind === 'loading' && <Skeleton columns={columns.length} />}
          {shown.map((row) => (
            <tr key={rowId(row)}>
              {columns.map((column) => (
                <td key={column.id} data-label={column.header} data-align={column.align} data-minor={column.minor}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {state.kind === 'ready' && rows.length === 0 && <p className="empty">Nothing matches.</p>}
      {shown.length < on_page.length && (
        <Button look="quiet" onClick={() => setAll(true)}>
          Show {count(on_page.length - shown.length)} more
        </Button>
      )}
      {rows.length > PAGE_ROWS && (
        <Pager total={rows.length} page={page} last_page={last_page} onPage={(page) => setAsked({ view, page })} />
      )}
    </div>
  )
}

interface Sort {
  column: string
  direction: 'ascending' | 'descending'
}

function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: Sort | undefined): readonly Row[] {
  const by = columns.find(({ id }) => id === sort?.column)?.sortBy
  if (!by || !sort) return rows
  const sign = sort.direction === 'ascending' ? 1 : -1
  const keyed = rows.map((row) => ({ row, key: by(row) }))
  return keyed.sort((a, b) => (a.key < b.key ? -sign : a.key > b.key ? sign : 0)).map(({ row }) => row)
}

interface TableHeadProps<Row> {
  columns: readonly Column<Row>[]
  sort: Sort | undefined
  onSort(sort: Sort): void
}

function TableHead<Row>({ columns, sort, onSort }: TableHeadProps<Row>) {
  const turned = (column: string): Sort => ({
    column,
    direction: sort?.column === column && sort.direction === 'descending' ? 'ascending' : 'descending',
  })
  return (
    <thead>
      <tr>
        {columns.map(({ id, header, align, sortBy }) => {
          const direction = sort?.column === id ? sort.direction : undefined
          return (
            <th key={id} scope="col" data-align={align} aria-sort={direction}>
              {sortBy ? (
                <button type="button" className="sort" onClick={() => onSort(turned(id))}>
                  {header}
                  <span aria-hidden="true">{direction === undefined ? '' : direction === 'ascending' ? '↑' : '↓'}</span>
                </button>
              ) : (
                header
              )}
            </th>
          )
        })}
      </tr>
    </thead>
  )
}

const places = (length: number) => Array.from({ length }, (_, at) => `place-${at}`)

const Skeleton = ({ columns }: { columns: number }) =>
  places(SKELETON_ROWS).map((row) => (
    <tr key={row} className="skeleton-row">
      {places(columns).map((cell) => (
        <td key={cell}>
          <span className="skeleton" />
        </td>
      ))}
    </tr>
  ))

interface PagerProps {
  total: number
  page: number
  last_page: number
  onPage(page: number): void
}

function Pager({ total, page, last_page, onPage }: PagerProps) {
  const from = page * PAGE_ROWS + 1
  const to = Math.min(total, from + PAGE_ROWS - 1)
  return (
    <nav className="pager" aria-label="Pages of the table">
      <span role="status">
        {count(from)}–{count(to)} of {count(total)}
      </span>
      <Button disabled={page === 0} onClick={() => onPage(0)}>
        First
      </Button>
      <Button disabled={page === 0} onClick={() => onPage(page - 1)}>
        Previous
      </Button>
      <Button disabled={page === last_page} onClick={() => onPage(page + 1)}>
        Next
      </Button>
      <Button disabled={page === last_page} onClick={() => onPage(last_page)}>
        Last
      </Button>
    </nav>
  )
}
