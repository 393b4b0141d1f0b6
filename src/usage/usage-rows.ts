// §8.2.3: a usage event as its row has it, and as everybody else does.
import type { UsageEvent } from './usage-event.ts'

export type EventRow = Omit<UsageEvent, 'id' | 'object' | 'attempts' | 'tokens_estimated' | 'units' | 'tags'> & {
  tags: string | null
  tokens_estimated: number
  units: string | null
  attempts: string
  trace: string | null
  created_ms: number
  sequence: number
  day: string
}

/** Where an event stands in the list. */
export type EventPlace = Pick<EventRow, 'created_ms' | 'sequence' | 'trace_id'>

export function eventFrom(read: EventRow): UsageEvent {
  const { created_ms: _created_ms, day: _day, sequence: _sequence, trace: _trace, attempts, ...more } = read
  const { tokens_estimated, units, tags, ...row } = more
  return {
    id: row.trace_id,
    object: 'usage_event',
    attempts: JSON.parse(attempts),
    tokens_estimated: tokens_estimated === 1,
    units: units === null ? null : JSON.parse(units),
    ...(tags !== null && { tags: JSON.parse(tags) }),
    ...row,
  }
}
