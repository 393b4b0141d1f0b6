// Months, as usage is partitioned by them on PostgreSQL: a partition holds the trace ids that begin in its month.
import { traceIdsFrom } from '../core/ids.ts'

export interface Month {
  /** Of the partition. */
  name: string
  start_ms: number
  end_ms: number
  /** The first trace id of the month, and the first of the next. */
  first: string
  end: string
}

/** The month of a time, or one that is so many later. */
export function monthOf(time_ms: number, later = 0): Month {
  const at = new Date(time_ms)
  const [start, next] = [0, 1].map((more) => Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + later + more, 1))
  const [start_ms, end_ms] = [start as number, next as number]
  const name = `usage_event_${new Date(start_ms).toISOString().slice(0, 7).replace('-', '_')}`
  return { name, start_ms, end_ms, first: traceIdsFrom(start_ms), end: traceIdsFrom(end_ms) }
}

/** The month that a partition is of; undefined for any other table. */
export function monthNamed(name: string): Month | undefined {
  const [, year, month] = /^usage_event_(\d{4})_(\d\d)$/.exec(name) ?? []
  return year === undefined ? undefined : monthOf(Date.UTC(Number(year), Number(month) - 1, 1))
}
