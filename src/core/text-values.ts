// Values that arrive as text: times in bodies and queries, numbers in queries. Nothing is coerced (R9): a text either
// is such a value, or it is refused with what it must be.
import { rfc3339 } from './clock.ts'
import { Refusal } from './refusal.ts'

const RFC3339 = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i

/** The milliseconds that an RFC 3339 text names. */
export function instant(field: string, text: string): number {
  const [, date] = RFC3339.exec(text) ?? []
  const time_ms = date === undefined ? Number.NaN : Date.parse(text)
  if (date === undefined || Number.isNaN(time_ms) || !isInCalendar(date) || !hasFourDigitYear(time_ms))
    throw new Refusal('invalid_request', `'${field}' must be an RFC 3339 time, such as 2026-11-15T12:00:00Z.`)
  return time_ms
}

/** JavaScript reads 30 February as 2 March. */
function isInCalendar(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date)
}

/** An offset can carry a time out of the years that our own texts, and the order among them, are made for. */
const hasFourDigitYear = (time_ms: number) => /^\d{4}-/.test(rfc3339(time_ms))

export interface Bounds {
  minimum: number
  maximum: number
}

export function wholeNumber(field: string, text: string, { minimum, maximum }: Bounds): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= minimum && value <= maximum))
    throw new Refusal('invalid_request', `'${field}' must be a whole number from ${minimum} to ${maximum}.`)
  return value
}
