// Periods of time as people choose them, and the same period one earlier, to compare with. Steps lie as the service
// cuts them: minutes, hours and days of UTC.
import type { Span, Step } from '../api/timeline-calls.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
export const STEP_MS: Record<Step, number> = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS }

const HOURLY_UP_TO_MS = 7 * DAY_MS
const DAYS_MAX = 1_000

export const PERIODS = {
  '1h': { label: '1 hour', words: 'the last hour', step: 'minute', steps: 60 },
  '24h': { label: '24 hours', words: 'the last 24 hours', step: 'hour', steps: 24 },
  '7d': { label: '7 days', words: 'the last 7 days', step: 'hour', steps: 168 },
  '30d': { label: '30 days', words: 'the last 30 days', step: 'day', steps: 30 },
  '90d': { label: '90 days', words: 'the last 90 days', step: 'day', steps: 90 },
} as const satisfies Record<string, { label: string; words: string; step: Step; steps: number }>
export type Period = keyof typeof PERIODS
export const PERIOD_IDS = Object.keys(PERIODS) as Period[]

export const periodFrom = (text: string | null, otherwise: Period): Period =>
  PERIOD_IDS.find((id) => id === text) ?? otherwise

/** So many steps, of which the last is the one that now lies in. */
export function spanOf(period: Period, now_ms: number): Span {
  const { step, steps } = PERIODS[period]
  const step_ms = STEP_MS[step]
  return { from_ms: now_ms - (now_ms % step_ms) - (steps - 1) * step_ms, to_ms: now_ms, step }
}

/** Both days included, `YYYY-MM-DD`; undefined where they are no days, or the first is after the last. */
export function spanOfDays(first: string, last: string): Span | undefined {
  const [from_ms, to_ms] = [Date.parse(`${first}T00:00:00Z`), Date.parse(`${last}T00:00:00Z`) + DAY_MS]
  const length = to_ms - from_ms
  if (!(length > 0) || length > DAYS_MAX * DAY_MS) return undefined
  return { from_ms, to_ms, step: length <= HOURLY_UP_TO_MS ? 'hour' : 'day' }
}

/** As long, and just before: what ran for half a step now is compared with half a step then. */
export function spanBefore({ from_ms, to_ms, step }: Span): Span {
  const length = Math.ceil((to_ms - from_ms) / STEP_MS[step]) * STEP_MS[step]
  return { from_ms: from_ms - length, to_ms: to_ms - length, step }
}

/** The part of a span that one of its steps is. */
export function spanOfStep({ from_ms, to_ms, step }: Span, start_ms: number): Span {
  return { from_ms: Math.max(from_ms, start_ms), to_ms: Math.min(to_ms, start_ms + STEP_MS[step]), step }
}

const DAY: Intl.DateTimeFormatOptions = { month: 'short', day: 'numeric' }
const TIME: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
const AS_DAY = new Intl.DateTimeFormat('en-US', { ...DAY, timeZone: 'UTC' })
const AS_TIME = new Intl.DateTimeFormat('en-US', { ...DAY, ...TIME })

/** Days are UTC's, as the service adds them up; times are the reader's. */
export const stepLabel = (start_ms: number, step: Step) => (step === 'day' ? AS_DAY : AS_TIME).format(start_ms)

export const spanLabel = ({ from_ms, to_ms, step }: Span) =>
  `${stepLabel(from_ms, step)} to ${stepLabel(step === 'day' ? to_ms - 1 : to_ms, step)}`
