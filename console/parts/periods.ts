// Periods of time as people choose them, and the same period one earlier, to compare with. Steps lie as the service
// cuts them: minutes, hours and days of UTC.
import { between, type Span, type Step } from '../api/timeline-calls.ts'
import { dayOf, minuteOf, ZONE } from './times.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
export const STEP_MS: Record<Step, number> = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS }

const BY_MINUTES_UP_TO_MS = 3 * HOUR_MS
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

/** A period, or a stretch of time that was chosen: days, or instants where it was cut out of a chart. */
export interface TimeFrame {
  range: Period | 'custom'
  from: string
  to: string
}

export function timeFrameIn(params: URLSearchParams, otherwise: Period): TimeFrame {
  const range = params.get('range') === 'custom' ? 'custom' : periodFrom(params.get('range'), otherwise)
  return { range, from: params.get('from') ?? '', to: params.get('to') ?? '' }
}

/** What makes no sense is as good as nothing: `otherwise` is shown. It ends now at the latest, as periods do. */
export function spanInFrame({ range, from, to }: TimeFrame, now_ms: number, otherwise: Period): Span {
  const chosen = range === 'custom' ? spanChosen(from, to, now_ms) : undefined
  return chosen ?? spanOf(range === 'custom' ? otherwise : range, now_ms)
}

const A_DAY = /^\d{4}-\d{2}-\d{2}$/

/** Both days included, or between two instants; undefined where they are none, or the first is after the last. */
export function spanChosen(from: string, to: string, now_ms: number): Span | undefined {
  const from_ms = Date.parse(A_DAY.test(from) ? `${from}T00:00:00Z` : from)
  const end_ms = A_DAY.test(to) ? Date.parse(`${to}T00:00:00Z`) + DAY_MS : Date.parse(to)
  // What is still to come is not compared with what has been.
  const to_ms = from_ms < now_ms ? Math.min(end_ms, now_ms) : end_ms
  const length = to_ms - from_ms
  if (!(length > 0) || length > DAYS_MAX * DAY_MS) return undefined
  return { from_ms, to_ms, step: stepFor(length) }
}

const stepFor = (length_ms: number): Step =>
  length_ms <= BY_MINUTES_UP_TO_MS ? 'minute' : length_ms <= HOURLY_UP_TO_MS ? 'hour' : 'day'

/** How a stretch of time is put into the address. */
export const inAddress = (from_ms: number, to_ms: number) => ({
  range: 'custom',
  from: new Date(from_ms).toISOString(),
  to: new Date(to_ms).toISOString(),
})

/** What the address of the list of requests needs to show the same time. */
export const sameTime = ({ range }: TimeFrame, span: Span): Record<string, string> =>
  range === 'custom' ? between(span) : { range }

/** As long, and just before: what ran for half a step now is compared with half a step then. */
export function spanBefore({ from_ms, to_ms, step }: Span): Span {
  const length = Math.ceil((to_ms - from_ms) / STEP_MS[step]) * STEP_MS[step]
  return { from_ms: from_ms - length, to_ms: to_ms - length, step }
}

/** The part of a span that one of its steps is. */
export function spanOfStep({ from_ms, to_ms, step }: Span, start_ms: number): Span {
  return { from_ms: Math.max(from_ms, start_ms), to_ms: Math.min(to_ms, start_ms + STEP_MS[step]), step }
}

/** Days are UTC's, as the service adds them up, and so is every other time of the console. */
export const stepLabel = (start_ms: number, step: Step) => (step === 'day' ? dayOf(start_ms) : minuteOf(start_ms))

/** With the zone, where the words around it do not say it. */
export const zonedStepLabel = (start_ms: number, step: Step) => `${stepLabel(start_ms, step)} ${ZONE}`

export const spanLabel = ({ from_ms, to_ms, step }: Span) =>
  `${stepLabel(from_ms, step)} to ${stepLabel(step === 'day' ? to_ms - 1 : to_ms, step)} ${ZONE}`

/** In a sentence: in the last hour, or between two times. */
export const frameWords = (frame: TimeFrame, span: Span) =>
  frame.range === 'custom' ? `the time from ${spanLabel(span)}` : PERIODS[frame.range].words
