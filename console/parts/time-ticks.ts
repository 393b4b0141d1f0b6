// Where an axis of time is marked: at whole hours, midnights, Mondays or months, as many as fit. Pure.
import { clockOf, dayOf } from './times.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const MONDAY = 4 // days after the epoch, which began on a Thursday

export interface Tick {
  /** The place that it stands at the beginning of. */
  at: number
  label: string
}

const TICKS_MAX = 7

interface Distance {
  least_ms: number
  marks(time_ms: number): boolean
}

const every = (unit_ms: number, from_ms = 0): Distance => ({
  least_ms: unit_ms,
  marks: (time_ms) => (time_ms - from_ms) % unit_ms === 0,
})

const months = (number: number): Distance => ({
  least_ms: number * 28 * DAY_MS,
  marks: (time_ms) => {
    const at = new Date(time_ms)
    return at.getUTCDate() === 1 && time_ms % DAY_MS === 0 && at.getUTCMonth() % number === 0
  },
})

/** What people count time in, from fine to coarse. */
const DISTANCES: readonly Distance[] = [
  ...[1, 5, 10, 15, 30].map((minutes) => every(minutes * MINUTE_MS)),
  ...[1, 2, 4, 6, 12].map((hours) => every(hours * HOUR_MS)),
  every(DAY_MS),
  every(2 * DAY_MS),
  every(7 * DAY_MS, MONDAY * DAY_MS),
  every(14 * DAY_MS, MONDAY * DAY_MS),
  ...[1, 3, 6, 12].map(months),
]

/** Of the width of the narrowest chart that shows every label, what one takes. Long amounts beside it narrow it. */
const LABEL = 0.135

export interface PlacedTick extends Tick {
  /** Of the chart's width. */
  across: number
  /** Where its label stands, if not over it: behind its mark, or at the end of the chart. */
  side: 'behind' | 'end' | undefined
}

/**
 * Labels stand over their marks. Where the first mark is so near the edge that its label cannot, all of them stand
 * behind theirs; the last keeps within the chart, and is left out where it would run into the one before.
 */
export function placedTicks(starts: readonly number[]): PlacedTick[] {
  const ticks = timeTicks(starts).map((tick) => ({ ...tick, across: tick.at / starts.length }))
  const is_near_edge = (ticks[0]?.across ?? 1) < LABEL / 4
  const placed = ticks.map((tick): PlacedTick => {
    if (is_near_edge && tick.across <= 1 - LABEL) return { ...tick, side: 'behind' }
    return { ...tick, side: tick.across > 1 - LABEL / 2 ? 'end' : undefined }
  })
  const [before, last] = placed.slice(-2)
  return before && last && leftOf(last) < leftOf(before) + LABEL ? placed.slice(0, -1) : placed
}

/** Where its label begins. */
function leftOf({ across, side }: PlacedTick): number {
  if (side === 'end') return 1 - LABEL
  return side === 'behind' ? across : across - LABEL / 2
}

/** The finest that leaves at most so many marks. Days are named where one begins, hours between them. */
export function timeTicks(starts: readonly number[], most = TICKS_MAX): Tick[] {
  for (const { least_ms, marks } of DISTANCES) {
    const marked = [...starts.entries()].filter(([, start]) => marks(start))
    if (marked.length === 0 || marked.length > most) continue
    return marked.map(([at, start]) => ({ at, label: tickLabel(start, least_ms) }))
  }
  const [first] = starts
  return first === undefined ? [] : [{ at: 0, label: dayOf(first) }]
}

const tickLabel = (start_ms: number, distance_ms: number) =>
  distance_ms >= DAY_MS || start_ms % DAY_MS === 0 ? dayOf(start_ms) : clockOf(start_ms)
