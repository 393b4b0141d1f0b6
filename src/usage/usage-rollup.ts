// Usage added up ahead of being asked for: by what, over which times, and how events become such sums.
import { DAY_MS, HOUR_MS, MINUTE_MS, rfc3339 } from '../core/clock.ts'
import { count, type Histogram, merge } from './latency-histogram.ts'
import { amounts, type UsageEvent } from './usage-event.ts'

export type Amounts = Record<keyof typeof amounts, number>
export const AMOUNTS = Object.keys(amounts) as (keyof Amounts)[]

/** By what usage is added up, beside time. */
export const DIMENSIONS = ['key_id', 'model', 'provider', 'profile', 'cluster_id'] as const
export type Dimension = (typeof DIMENSIONS)[number]

const GRAIN_MS = { minutes: 5 * MINUTE_MS, hour: HOUR_MS, quarter: 6 * HOUR_MS, day: DAY_MS }
export type Grain = keyof typeof GRAIN_MS
export const FINEST_MS = GRAIN_MS.minutes

export interface Cube {
  name: string
  by: readonly Dimension[]
  /** From fine to coarse. */
  grains: readonly Grain[]
  /** Those that every day has, whichever version rolled it up. */
  first_grains: readonly Grain[]
  /** Of a cube that came later: what tells of days that were rolled up before. */
  before?: Cube
}

// Each as fine as it can be and still be far smaller than the events: the more a cube is by, the coarser.
const FINE = { grains: ['minutes', 'hour', 'day'], first_grains: ['hour', 'day'] } as const
const MIDDLE = { grains: ['hour', 'day'], first_grains: ['hour', 'day'] } as const
const COARSE = { grains: ['quarter', 'day'], first_grains: ['day'] } as const
const WHOLE_DAYS = { grains: ['day'], first_grains: ['day'] } as const

const ALL: Cube = { name: 'all', by: DIMENSIONS, ...COARSE }
const CUBES: readonly Cube[] = [
  { name: 'total', by: [], ...FINE },
  { name: 'key', by: ['key_id'], ...MIDDLE },
  { name: 'model', by: ['model'], ...MIDDLE },
  { name: 'path', by: ['provider', 'profile', 'cluster_id'], ...MIDDLE },
  // Of a project with thousands of keys, a hundredth of what `all` has.
  { name: 'place', by: ['model', 'provider', 'profile', 'cluster_id'], ...WHOLE_DAYS, before: ALL },
  ALL,
]

/** The smallest that knows all of these. */
export const cubeWith = (dimensions: readonly Dimension[]): Cube =>
  CUBES.find(({ by }) => dimensions.every((dimension) => by.includes(dimension))) ?? ALL

export const cubeName = (grain: Grain, { name }: Cube) => `${grain}:${name}`

/** The names of what stands in for events at the two ends of a range, and is of no use once these are gone. */
export const FINEST_CUBES = CUBES.flatMap((cube) =>
  cube.grains.filter((grain) => !cube.first_grains.includes(grain)).map((grain) => cubeName(grain, cube)),
)

/** A stretch of time: from its first millisecond until before its last. */
export interface Span {
  from: number
  to: number
}

/** Where a time range is cut: roll-ups in the middle, the coarsest innermost, and events at its two ends. */
export interface Cuts {
  rollups: (Span & { grain: Grain })[]
  /** All that is out of roll-ups. */
  rolled: Span
  ends: Span[]
}

export function cut(from: number, until: number, grains: readonly Grain[]): Cuts {
  const range = { from, to: Math.max(from, until) }
  const parts: (Span & { grain: Grain | undefined })[] = []
  let [left, finer]: [Span, Grain | undefined] = [range, undefined]
  for (const grain of grains) {
    const whole = inside(left, GRAIN_MS[grain])
    parts.push({ from: left.from, to: whole.from, grain: finer }, { from: whole.to, to: left.to, grain: finer })
    left = whole
    finer = grain
  }
  const some = [...parts, { ...left, grain: finer }].filter(isSome)
  const [finest] = grains
  return {
    rollups: some.flatMap(({ grain, ...span }) => (grain ? [{ ...span, grain }] : [])),
    rolled: finest ? inside(range, GRAIN_MS[finest]) : { from: range.to, to: range.to },
    ends: some.filter(({ grain }) => !grain),
  }
}

const isSome = ({ from, to }: Span) => from < to

/** The whole units within a span; where there is none, nothing at its end. */
function inside({ from, to }: Span, unit_ms: number): Span {
  const [first, end] = [Math.ceil(from / unit_ms) * unit_ms, Math.floor(to / unit_ms) * unit_ms]
  return first < end ? { from: first, to: end } : { from: to, to }
}

/** What is kept beside the sums: how generations ended, and how long they took. */
export interface Spread {
  status: Record<string, number>
  duration: Histogram
  ttft: Histogram
}

export const noSpread = (): Spread => ({ status: {}, duration: {}, ttft: {} })

export function mergeSpread(into: Spread, other: Spread): void {
  merge(into.status, other.status)
  merge(into.duration, other.duration)
  merge(into.ttft, other.ttft)
}

/** The part of an event that is added up. */
export interface Countable extends Amounts {
  status: string
  duration_ms: number
  ttft_ms: number | null
}

export function countSpread(spread: Spread, { status, duration_ms, ttft_ms }: Countable): void {
  spread.status[status] = (spread.status[status] ?? 0) + 1
  count(spread.duration, duration_ms)
  if (ttft_ms !== null) count(spread.ttft, ttft_ms)
}

/** R78: why an event, or what it would be added to, is set aside. */
export class NotSummable extends Error {
  override readonly name = 'NotSummable'
}

/** Ten million dollars, or thousands of the largest prompts: a sum has room for hundreds of such events. */
const OF_ONE_EVENT_MAX = 10 ** 13

/** So that no sum ever becomes one that a number cannot tell exactly. */
export function assertSummable(sum: Amounts, events: number): void {
  const most = Math.min(OF_ONE_EVENT_MAX * events, Number.MAX_SAFE_INTEGER)
  for (const name of AMOUNTS)
    if (!(Math.abs(sum[name]) <= most)) throw new NotSummable(`${name} is more than can be: ${sum[name]}`)
}

export interface Rollup extends Amounts, Record<Dimension, string> {
  project_id: string
  cube: string
  start_ms: number
  day: string
  events: number
  spread: Spread
}

/** One roll-up for each cube, time and combination, out of sums over what none of them tells apart. */
export function rollUp(sums: Iterable<Rollup>): Rollup[] {
  const rollups = new Map<string, Rollup>()
  for (const sum of sums)
    for (const table of TABLES) {
      const rollup = rollupIn(rollups, table, sum)
      rollup.events += sum.events
      addAmounts(rollup, sum)
      mergeSpread(rollup.spread, sum.spread)
    }
  return [...rollups.values()]
}

export type Place = Record<Dimension, string> & { project_id: string }

export const placeOf = (event: UsageEvent): Place => ({
  project_id: event.project_id,
  key_id: event.key_id,
  model: event.resolved_model,
  provider: event.provider,
  profile: event.profile,
  cluster_id: event.cluster_id ?? '',
})

interface Table {
  cube: string
  by: readonly Dimension[]
  grain_ms: number
}

function rollupIn(rollups: Map<string, Rollup>, { cube, by, grain_ms }: Table, sum: Rollup): Rollup {
  const start_ms = sum.start_ms - (sum.start_ms % grain_ms)
  const key = keyOf(sum, cube, start_ms, by)
  let rollup = rollups.get(key)
  if (!rollup) {
    rollup = emptyRollup(sum, cube, start_ms, by)
    rollups.set(key, rollup)
  }
  return rollup
}

const TABLES: readonly Table[] = CUBES.flatMap((cube) =>
  cube.grains.map((grain) => ({ cube: cubeName(grain, cube), by: cube.by, grain_ms: GRAIN_MS[grain] })),
)

/** No text that is stored has a NUL in it, so none can be taken for two. */
export function keyOf(place: Place, cube: string, start_ms: number, by: readonly Dimension[]): string {
  let key = `${place.project_id}\0${cube}\0${start_ms}`
  for (const name of by) key += `\0${place[name]}`
  return key
}

export function emptyRollup(place: Place, cube: string, start_ms: number, by: readonly Dimension[]): Rollup {
  const named = (name: Dimension) => (by.includes(name) ? place[name] : '')
  return {
    project_id: place.project_id,
    cube,
    start_ms,
    day: rfc3339(start_ms).slice(0, 10),
    key_id: named('key_id'),
    model: named('model'),
    provider: named('provider'),
    profile: named('profile'),
    cluster_id: named('cluster_id'),
    events: 0,
    ...noAmounts(),
    spread: noSpread(),
  }
}

export const noAmounts = (): Amounts => ({
  input_tokens: 0,
  cached_tokens: 0,
  written_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  repeated_tokens_est: 0,
  missed_reuse_tokens: 0,
  charged_micros: 0,
  direct_cost_micros: 0,
  savings_micros: 0,
  written_off_micros: 0,
  overage_micros: 0,
  waived_micros: 0,
})

/** Field by field: a loop over names is several times as slow, and each event passes here. */
export function addAmounts(into: Amounts, from: Amounts): void {
  into.input_tokens += from.input_tokens
  into.cached_tokens += from.cached_tokens
  into.written_tokens += from.written_tokens
  into.output_tokens += from.output_tokens
  into.reasoning_tokens += from.reasoning_tokens
  into.repeated_tokens_est += from.repeated_tokens_est
  into.missed_reuse_tokens += from.missed_reuse_tokens
  into.charged_micros += from.charged_micros
  into.direct_cost_micros += from.direct_cost_micros
  into.savings_micros += from.savings_micros
  into.written_off_micros += from.written_off_micros
  into.overage_micros += from.overage_micros
  into.waived_micros += from.waived_micros
}
