// Usage as a table for spreadsheets: RFC 4180, and no cell that a spreadsheet would run.
import { UsageEvent } from './usage-event.ts'
import { type Group, UsageGroup } from './usage-query.ts'

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present'

type Row = Readonly<Record<string, unknown>>

const EVENT_COLUMNS = Object.keys(UsageEvent.properties).filter((name) => name !== 'object' && name !== 'id')
const SUM_COLUMNS = Object.keys(UsageGroup.properties).slice(Object.keys(UsageGroup.properties).indexOf('events'))

export const eventsCsv = (events: readonly Row[]) => csv(EVENT_COLUMNS, events)
export const groupsCsv = (group_by: readonly Group[], groups: readonly Row[]) =>
  csv([...group_by, ...SUM_COLUMNS], groups)

function csv(columns: readonly string[], rows: readonly Row[]): string {
  const lines = [columns, ...rows.map((row) => columns.map((name) => row[name]))]
  return lines.map((cells) => `${cells.map(cell).join(',')}\r\n`).join('')
}

// A cell that begins so is a formula to one spreadsheet or another; an apostrophe in front makes it text to all.
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
