// Usage as tables for spreadsheets. Events come in pages, which are put together here.
import { getText } from './api-client.ts'
import { asked, type UsageAsked } from './usage-calls.ts'

const CSV = 'text/csv'
const PAGE_ROWS = 10_000
const PAGES_MAX = 10

/** More than this is a matter for the API: no spreadsheet would open it gladly. */
export const CSV_ROWS_MAX = PAGE_ROWS * PAGES_MAX

export interface CsvTable {
  parts: string[]
  /** False where there were more rows than are taken. */
  whole: boolean
}

export const groupsTable = async (query: UsageAsked & { group_by: string }): Promise<CsvTable> => ({
  parts: [await getText(`/v2/usage?${asked({ ...query, limit: String(PAGE_ROWS) })}`, CSV)],
  whole: true,
})

export async function eventsTable(query: UsageAsked): Promise<CsvTable> {
  const parts: string[] = []
  let after: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const text = await getText(`/v2/usage?${asked({ ...query, after, limit: String(PAGE_ROWS) })}`, CSV)
    parts.push(page === 0 ? text : withoutHead(text))
    const traces = tracesIn(text)
    const last = traces.at(-1)
    if (traces.length < PAGE_ROWS || last === after) return { parts, whole: true }
    after = last
  }
  return { parts, whole: false }
}

const withoutHead = (text: string) => text.slice(text.indexOf('\r\n') + 2)

/** The trace id is a row's first cell. */
export const tracesIn = (text: string) => [...text.matchAll(/^(trc_\w+),/gm)].map(([, id]) => id)
