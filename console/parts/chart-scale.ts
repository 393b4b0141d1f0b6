// Where things stand in a chart: a round number at the top, bars on bars, lines with gaps. Pure.
export const WIDTH = 600
export const HEIGHT = 120
const GAP = 0.22 // of a bar's place

export type Values = readonly (number | null)[]

const ROUND = [1, 1.2, 1.5, 1.6, 2, 2.5, 3, 4, 5, 6, 8, 10, 12]

/** The next round number whose half is whole, so that both can be read: nobody sends one and a half requests. */
export function roundTop(highest: number): number {
  if (!(highest > 0)) return 2
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(highest)))
  return ROUND.map((factor) => factor * unit).find((top) => top >= highest && top % 2 === 0) ?? 20 * unit
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
  const width = round(place * (1 - GAP))
  const bars = values.map((value, at) => {
    if (value === null || value <= 0) return ''
    const height = Math.max(1, (HEIGHT * value) / top)
    const foot = HEIGHT - (HEIGHT * (below[at] ?? 0)) / top
    return `M${round(at * place + (place * GAP) / 2)} ${round(foot)}h${width}v${round(-height)}h${-width}z`
  })
  return bars.join('')
}

/** A line through the middles of the places. Where nothing is known it stops; a lone value is a dot. */
export function linePath(values: Values, top: number): string {
  const place = WIDTH / Math.max(1, values.length)
  let path = ''
  for (const [at, value] of values.entries()) {
    if (value === null) continue
    const point = `${round((at + 0.5) * place)} ${round(HEIGHT - (HEIGHT * value) / top)}`
    const [before, after] = [values[at - 1] ?? null, values[at + 1] ?? null]
    path += before === null ? `M${point}` : `L${point}`
    if (before === null && after === null) path += 'h0.01'
  }
  return path
}
