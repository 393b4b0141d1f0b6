// Usage added up ahead of being asked for: by what, over which times, and how events become such sums.
import { DAY_MS, HOUR_MS, rfc3339 } from '../core/clock.ts'
import { count, type Histogram, merge } from './latency-histogram.ts'
import { amounts } from './usage-event.ts'

export type Amounts = Record<keyof typeof amounts, number>
export const AMOUNTS = Object.keys(amounts) as (keyof Amounts)[]

/** By what usage is added up, beside time. */
export const DIMENSIONS = ['key_id', 'model', 'provider', 'profile', 'cluster_id'] as const
export type Dimension = (typeof DIMENSIONS)[number]

const GRAIN_MS = { hour: HOUR_MS, day: DAY_MS }
export type Grain = keyof typeof GRAIN_MS

export interface Cube {
  name: string
  by: readonly Dimension[]
  grains: readonly Grain[]
}

const ALL: Cube = { name: 'all', by: DIMENSIONS, grains: ['day'] } // by the hour it would be as large as the events
const CUBES: readonly Cube[] = [
  { name: 'total', by: [], grains: ['hour', 'day'] },
  { name: 'key', by: ['key_id'], grains: ['hour', 'day'] },
  { name: 'model', by: ['model'], grains: ['hour', 'day'] },
  { name: 'path', by: ['provider', 'profile', 'cluster_id'], grains: ['hour', 'day'] },
  ALL,
]

/** The smallest that knows all of these. */
export const cubeWith = (dimensions: readonly Dimension[]): Cube =>
  CUBES.find(({ by }) => dimensions.every((dimension) => by.includes(dimension))) ?? ALL

export const cubeName = (grain: Grain, { name }: Cube) => `${grain}:${name}`

/** Where a time range is cut: events up to `hours`, hours up to `days`, then days, hours again, and events again. */
export interface Cuts {
  from: number
  hours: number
  days: number
  days_end: number
  hours_end: number
  to: number
}

export function cut(from: number, until: number, grains: readonly Grain[]): Cuts {
  const to = Math.max(from, until)
  const [hours, hours_end] = grains.includes('hour') ? inside(from, to, HOUR_MS) : inside(from, to, DAY_MS)
  const [days, days_end] = grains.includes('day') ? inside(hours, hours_end, DAY_MS) : [hours_end, hours_end]
  return { from, hours, days, days_end, hours_end, to }
}

/** The whole units within a range; where there is none, nothing at its end. */
function inside(from: number, to: number, unit_ms: number): [number, number] {
  const [first, end] = [Math.ceil(from / unit_ms) * unit_ms, Math.floor(to / unit_ms) * unit_ms]
  return first < end ? [first, end] : [to, to]
}

/** What is kept beside the sums: how generations ended, and how long they took. */
export interface Spread {
  status: Record<string, number>
  duration: Histogram
  ttft: Histogram
}

export const noSpread = (): Spread => ({ status: {}, duration: {}, ttft: {} })

export function mergeSpread(into: Spread, other: Spread): void {
  for (const [status, counted] of Object.entries(other.status))
    into.status[status] = (into.status[status] ?? 0) + counted
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

export interface Unrolled extends Countable, Record<Dimension, string> {
  trace_id: string
  project_id: string
  created_ms: number
}

export interface Rollup extends Amounts, Record<Dimension, string> {
  project_id: string
  cube: string
  start_ms: number
  day: string
  events: number
  spread: Spread
}

/** One roll-up for each cube, time and combination that the events touch. */
export function rollUp(events: readonly Unrolled[]): Rollup[] {
  const rollups = new Map<string, Rollup>()
  for (const event of events)
    for (const { cube, by, grain_ms } of TABLES) {
      const start_ms = event.created_ms - (event.created_ms % grain_ms)
      const key = keyOf(event, cube, start_ms, by)
      let rollup = rollups.get(key)
      if (!rollup) {
        rollup = emptyRollup(event, cube, start_ms, by)
        rollups.set(key, rollup)
      }
      rollup.events++
      addAmounts(rollup, event)
      countSpread(rollup.spread, event)
    }
  return [...rollups.values()]
}

const TABLES = CUBES.flatMap((cube) =>
  cube.grains.map((grain) => ({ cube: cubeName(grain, cube), by: cube.by, grain_ms: GRAIN_MS[grain] })),
)

/** No text that is stored has a NUL in it, so none can be taken for two. */
function keyOf(event: Unrolled, cube: string, start_ms: number, by: readonly Dimension[]): string {
  let key = `${event.project_id}\0${cube}\0${start_ms}`
  for (const name of by) key += `\0${event[name]}`
  return key
}

function emptyRollup(event: Unrolled, cube: string, start_ms: number, by: readonly Dimension[]): Rollup {
  const named = (name: Dimension) => (by.includes(name) ? event[name] : '')
  return {
    project_id: event.project_id,
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
})

/** Field by field: a loop over names is several times as slow, and each event passes here nine times. */
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
}
