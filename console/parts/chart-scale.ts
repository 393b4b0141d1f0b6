// Where numbers stand in a chart: round numbers at its marks, values between 0 and 1 along an axis, bars on bars, lines
// with gaps. Pure.
export const WIDTH = 600
export const HEIGHT = 120
const GAP = 0.22 // of a bar's place
const WIDEST = WIDTH / 12 // few bars are no walls
const LEAST_HEIGHT = 2 // so that one among thousands is seen

export type Values = readonly (number | null)[]

/** Steps that people count in. */
const ROUND = [1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5, 8, 10]
const ROUND_STEPS = [1, 2, 2.5, 5, 10]

/** The first of these times a power of ten that is not below. */
function roundUp(value: number, factors: readonly number[], fits: (round: number) => boolean = () => true): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return factors.map((factor) => factor * power).find((round) => round >= value && fits(round)) ?? 10 * power
}

/** The next round number whose half is whole, so that both can be read: nobody sends one and a half requests. */
export const roundTop = (highest: number) => 2 * roundUp(Math.max(1, highest / 2 || 0), ROUND, Number.isInteger)

export interface Scale {
  place(value: number): number
  ticks: number[]
}

interface ScaleOf {
  values: readonly number[]
  /** Marks stand at powers of it; without it the axis is linear. */
  base?: number | undefined
}

const LINEAR_STEPS = 4
const TICKS_MAX = 7

/** Where values stand on an axis, from 0 to 1, and which of them get a mark. */
export function scaleOf({ values, base }: ScaleOf): Scale {
  const finite = values.filter((value) => Number.isFinite(value) && (base === undefined || value > 0))
  const [low, high] = [Math.min(...finite), Math.max(...finite)]
  if (finite.length === 0) return { place: () => 0, ticks: [] }
  return base === undefined ? linear(low, high) : logarithmic(low, high, base)
}

/** Marked at steps that people count in: 0.25, 0.5, 0.75, and not 0.24, 0.48. */
function linear(low: number, high: number): Scale {
  const span = high - low || 1
  const step = roundUp(span / LINEAR_STEPS, ROUND_STEPS)
  const first = Math.ceil(low / step)
  return {
    place: (value) => (value - low) / span,
    ticks: Array.from({ length: Math.floor(high / step) - first + 1 }, (_, at) => (first + at) * step),
  }
}

function logarithmic(low: number, high: number, base: number): Scale {
  const span = Math.log(high / low) || 1
  const place = (value: number) => Math.log(value / low) / span
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9)
  const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9)
  const step = Math.max(1, Math.ceil((last - first + 1) / TICKS_MAX))
  const powers: number[] = []
  for (let exponent = first; exponent <= last; exponent += step) powers.push(base ** exponent)
  // Within less than one power, its ends say more than nothing.
  return { place, ticks: powers.length >= 2 ? powers : [low, high] }
}

export const highestOf = (rows: readonly Values[]) => Math.max(0, ...rows.flatMap((row) => row.map((one) => one ?? 0)))

/** What is stacked adds up at each place. */
export function stacked(rows: readonly Values[]): number[] {
  const length = Math.max(0, ...rows.map((row) => row.length))
  return Array.from({ length }, (_, at) => rows.reduce((sum, row) => sum + (row[at] ?? 0), 0))
}

const round = (number: number) => Math.round(number * 100) / 100

/** One path for all bars of a row, standing on what is below them. */
export function barsPath(values: Values, below: readonly number[], top: number): string {
  const place = WIDTH / Math.max(1, values.length)
  const width = round(Math.min(place * (1 - GAP), WIDEST))
  const bars = values.map((value, at) => {
    if (value === null || value <= 0) return ''
    const height = Math.max(LEAST_HEIGHT, (HEIGHT * value) / top)
    const foot = HEIGHT - (HEIGHT * (below[at] ?? 0)) / top
    return `M${round((at + 0.5) * place - width / 2)} ${round(foot)}h${width}v${round(-height)}h${-width}z`
  })
  return bars.join('')
}

/** How far to the right and how far up something stands, each from 0 to 1. */
export type Spot = readonly [across: number, up: number]

const pointOf = ([across, up]: Spot) => `${round(WIDTH * across)} ${round(HEIGHT * (1 - up))}`

/** Where nothing is known a line stops. */
export const linePath = (spots: readonly (Spot | null)[]) =>
  spots
    .map((spot, at) => (spot === null ? '' : `${(spots[at - 1] ?? null) === null ? 'M' : 'L'}${pointOf(spot)}`))
    .join('')

/** Values that no line leads to: each is drawn as a dot. */
export const lonePath = (spots: readonly (Spot | null)[]) =>
  spots
    .filter((spot, at) => spot !== null && (spots[at - 1] ?? null) === null && (spots[at + 1] ?? null) === null)
    .map((spot) => (spot ? dotPath(spot) : ''))
    .join('')

/** A stroke of no length, which round caps make a dot. */
export const dotPath = (spot: Spot) => `M${pointOf(spot)}h0.01`

/** What is known whole, and what is still growing: the places from `open_at` on. A line leads from one to the other. */
export function splitAt<T>(values: readonly (T | null)[], open_at: number, kind: 'bars' | 'lines') {
  const first_open = kind === 'lines' ? open_at - 1 : open_at
  return {
    whole: values.map((value, at) => (at < open_at ? value : null)),
    open: values.map((value, at) => (at >= first_open && open_at < values.length ? value : null)),
  }
}

/** A value each in the middle of its place, as bars stand. */
export const spotsOf = (values: Values, top: number): (Spot | null)[] =>
  values.map((value, at) => (value === null ? null : [(at + 0.5) / values.length, value / top]))
