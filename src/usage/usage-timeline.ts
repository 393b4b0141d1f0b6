// §8.2.3: usage step by step over time, for charts: what is asked for, and how the steps are filled.
import { type Static, Type } from 'typebox'
import { DAY_MS, HOUR_MS, MINUTE_MS, rfc3339 } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { listOf, orNull, time } from '../core/shapes.ts'
import { instant } from '../core/text-values.ts'
import { type Histogram, percentiles } from './latency-histogram.ts'
import { amounts } from './usage-event.ts'
import { filteredBy, filters, type UsageFilter, usageFilter } from './usage-query.ts'
import type { Spread } from './usage-rollup.ts'
import { type Amounts, addAmounts, cubeWith, mergeSpread, noAmounts, noSpread } from './usage-rollup.ts'

const STEPS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS }
const STEP_NAMES = Object.keys(STEPS) as Step[]
const STEPS_MAX = 1_500
const EXACT_WITHIN_MS = 6 * HOUR_MS
const UNROLLED_WITHIN_MS = 7 * DAY_MS

export type Step = keyof typeof STEPS

export const TimelineQuery = Type.Object({
  from: Type.Optional(Type.String({ description: 'From this RFC 3339 time on. Required.' })),
  to: Type.Optional(Type.String({ description: 'Before this RFC 3339 time. Required.' })),
  step: Type.Optional(Type.String({ description: `One of ${STEP_NAMES.join(', ')}, in UTC. Default hour.` })),
  ...filters,
})

const latency = () => orNull(Type.Integer())

export const UsageStep = Type.Object(
  {
    object: Type.Literal('usage_step'),
    start: time(),
    requests: Type.Integer(),
    errors: Type.Integer({ description: 'Requests whose status is not `completed`.' }),
    by_status: Type.Record(Type.String(), Type.Integer()),
    ...amounts,
    duration_p50_ms: latency(),
    duration_p95_ms: latency(),
    ttft_p50_ms: latency(),
    ttft_p95_ms: latency(),
  },
  { title: 'UsageStep' },
)
export type UsageStep = Static<typeof UsageStep>

const Overall = Type.Object(
  { duration_p50_ms: latency(), duration_p95_ms: latency(), ttft_p50_ms: latency(), ttft_p95_ms: latency() },
  { description: 'Percentiles of the whole range, as exact as those of its steps.' },
)

export const UsageTimeline = Type.Object({ ...listOf(UsageStep).properties, overall: Overall })

export interface Timeline {
  data: UsageStep[]
  overall: Percentiles
}

export interface TimelineQuestion {
  filter: UsageFilter
  step: Step
  step_ms: number
  /** Out of events, where the range is short enough or roll-ups do not have it; else out of roll-ups. */
  source: 'events' | 'rollups'
}

export function timelineQuestion(query: Static<typeof TimelineQuery>): TimelineQuestion {
  const from_ms = instant('from', query.from ?? '')
  const to_ms = instant('to', query.to ?? '')
  if (to_ms <= from_ms) throw new Refusal('invalid_request', "'to' must be later than 'from'.")
  const step = STEP_NAMES.find((name) => name === (query.step ?? 'hour'))
  if (!step) throw new Refusal('invalid_request', `'step' must be one of ${STEP_NAMES.join(', ')}.`)
  const filter = usageFilter(query, from_ms, to_ms)
  const step_ms = STEPS[step]
  if (stepStarts(filter, step_ms).length > STEPS_MAX)
    throw new Refusal('invalid_request', `'step' must be longer, or the range shorter: at most ${STEPS_MAX} steps.`)
  return { filter, step, step_ms, source: sourceOf(filter, step) }
}

function sourceOf(filter: UsageFilter, step: Step): 'events' | 'rollups' {
  const range_ms = filter.to_ms - filter.from_ms
  const cube = cubeWith(filteredBy(filter))
  const byIndex = (filter.session_id ?? filter.bundle_id ?? filter.trace_id) !== null
  if (step === 'minute' || byIndex || range_ms <= EXACT_WITHIN_MS) return 'events'
  if (cube.grains.includes(step) && filter.status === null) return 'rollups'
  if (range_ms <= UNROLLED_WITHIN_MS) return 'events'
  if (filter.status !== null)
    throw new Refusal('invalid_request', "'status' must not be given over more than 7 days: 'by_status' tells it.")
  throw new Refusal('invalid_request', "'step' must be day over more than 7 days with filters of several kinds.")
}

export const stepOf = (time_ms: number, step_ms: number) => time_ms - (time_ms % step_ms)

/** Every step that the range touches, the first and the last perhaps in part. */
function stepStarts({ from_ms, to_ms }: UsageFilter, step_ms: number): number[] {
  const first = stepOf(from_ms, step_ms)
  const steps = Math.min(Math.ceil((to_ms - first) / step_ms), STEPS_MAX + 1)
  return Array.from({ length: steps }, (_, n) => first + n * step_ms)
}

/** A part of what a step adds up to. */
export interface StepPart extends Amounts {
  time_ms: number
  events: number
  spread: Spread
}

export type Percentiles = Pick<UsageStep, 'duration_p50_ms' | 'duration_p95_ms' | 'ttft_p50_ms' | 'ttft_p95_ms'>

/** Percentiles that need no histograms of steps: by the start of their step, and of all of them. */
export interface ExactPercentiles {
  by_step: ReadonlyMap<number, Percentiles>
  overall: Percentiles
}

const AT_ONCE = 100 // some milliseconds' worth

/** All steps of time, those without a request as zeros. R77: very many parts have two histograms each, so in turns. */
export function* fillSteps<Row>(
  { filter, step_ms }: TimelineQuestion,
  rows: readonly Row[],
  partFrom: (row: Row) => StepPart,
  exact?: ExactPercentiles,
): Generator<void, Timeline> {
  const all = noSpread()
  const sums = new Map(stepStarts(filter, step_ms).map((start) => [start, emptySum()]))
  for (const [at, row] of rows.entries()) {
    if (at % AT_ONCE === AT_ONCE - 1) yield
    const part = partFrom(row)
    mergeSpread(all, part.spread)
    const sum = sums.get(stepOf(part.time_ms, step_ms))
    if (!sum) throw new Error(`usage of ${part.time_ms} is in no step`)
    if (sum.spread) mergeSpread(sum.spread, part.spread)
    else sum.spread = part.spread
    sum.events += part.events
    addAmounts(sum, part)
  }
  const data: UsageStep[] = []
  for (const [start, sum] of sums) if (data.push(told(start, sum, exact?.by_step.get(start))) % AT_ONCE === 0) yield
  return { data, overall: exact?.overall ?? estimated(all) }
}

type Sum = Amounts & { events: number; spread?: Spread }

const emptySum = (): Sum => ({ events: 0, ...noAmounts() })

const told = (start: number, { events, spread = noSpread(), ...figures }: Sum, exact?: Percentiles): UsageStep => ({
  object: 'usage_step',
  start: rfc3339(start),
  requests: events,
  errors: events - (spread.status.completed ?? 0),
  by_status: spread.status,
  ...figures,
  ...(exact ?? estimated(spread)),
})

export function estimated({ duration, ttft }: Spread): Percentiles {
  const [duration_p50_ms, duration_p95_ms] = middleAndHigh(duration)
  const [ttft_p50_ms, ttft_p95_ms] = middleAndHigh(ttft)
  return { duration_p50_ms, duration_p95_ms, ttft_p50_ms, ttft_p95_ms }
}

const middleAndHigh = (histogram: Histogram) => percentiles(histogram, [50, 95]) as [number | null, number | null]
