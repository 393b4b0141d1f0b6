// Usage as a table for spreadsheets: RFC 4180, and no cell that a spreadsheet would run.
import type { ListFormat } from '../core/list-format.ts'
import { UsageEvent } from './usage-event.ts'
import { type Group, isGrouped, UsageGroup, type UsageQuestion } from './usage-query.ts'

const CSV_TYPE = 'text/csv; charset=utf-8; header=present'

type Row = Readonly<Record<string, unknown>>

const EVENT_COLUMNS = Object.keys(UsageEvent.properties).filter((name) => name !== 'object' && name !== 'id')
const SUM_COLUMNS = Object.keys(UsageGroup.properties).slice(Object.keys(UsageGroup.properties).indexOf('events'))

/** Of events, or of groups of them. */
export const columnsOf = (question: Pick<UsageQuestion, 'group_by' | 'group_tag'>) =>
  isGrouped(question) ? sumColumns(question.group_by, question.group_tag) : EVENT_COLUMNS

export const sumColumns = (group_by: readonly Group[], group_tag?: string) => [
  ...group_by,
  ...(group_tag === undefined ? [] : ['tag']),
  ...SUM_COLUMNS,
]

/** A table that is written row by row. */
export const csvTable = (columns: readonly string[]): ListFormat<object> => ({
  content_type: CSV_TYPE,
  head: line(columns),
  item: (row) => line(columns.map((name) => (row as Row)[name])),
  separator: '',
  tail: '',
})

const line = (cells: readonly unknown[]) => `${cells.map(cell).join(',')}\r\n`

// A cell that begins so is a formula to one spreadsheet or another; an apostrophe in front makes it text to all.
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
