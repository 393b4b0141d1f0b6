// Times as people read them, all in one zone, whose name stands beside them: the one in which the service cuts days.
export const ZONE = 'UTC'

const DAY: Intl.DateTimeFormatOptions = { month: 'short', day: 'numeric', timeZone: ZONE }
const TIME: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: ZONE }

const AS_DAY = new Intl.DateTimeFormat('en-US', DAY)
const AS_CLOCK = new Intl.DateTimeFormat('en-US', TIME)
const AS_MINUTE = new Intl.DateTimeFormat('en-US', { ...DAY, ...TIME })
const AS_MOMENT = new Intl.DateTimeFormat('en-US', { ...DAY, ...TIME, year: 'numeric', second: '2-digit' })

/** Nov 17 */
export const dayOf = (time_ms: number) => AS_DAY.format(time_ms)
/** 14:05 */
export const clockOf = (time_ms: number) => AS_CLOCK.format(time_ms)
/** Nov 17, 14:05 */
export const minuteOf = (time_ms: number) => AS_MINUTE.format(time_ms)
/** Nov 17, 2026, 14:05:09 UTC */
export const moment = (rfc3339: string) => `${AS_MOMENT.format(Date.parse(rfc3339))} ${ZONE}`

/** As an input for date and time has it: to the minute. */
export const inputFrom = (rfc3339: string | undefined) =>
  rfc3339 === undefined ? '' : new Date(rfc3339).toISOString().slice(0, '2026-11-17T14:05'.length)

/** Null where nothing was typed. */
export const typedInstant = (typed: string) => (typed === '' ? null : new Date(`${typed}Z`).toISOString())
