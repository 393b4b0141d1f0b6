// Arithmetic over measurements: quantiles, spread, slopes, and how fast a cost grows. Pure.

/** The value below which `share` of the values lie; by nearest rank, so that it is always one that was measured. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1))] ?? 0
}

export const median = (values: readonly number[]) => quantile(values, 0.5)

export interface Spread {
  p20: number
  median: number
  p80: number
}

export const spread = (values: readonly number[]): Spread => ({
  p20: quantile(values, 0.2),
  median: median(values),
  p80: quantile(values, 0.8),
})

/** Theil and Sen: the median of the slopes of all pairs. A few wild samples do not move it. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const slopes: number[] = []
  for (const [index, [x, y]] of points.entries())
    for (const [x2, y2] of points.slice(index + 1)) if (x2 !== x) slopes.push((y2 - y) / (x2 - x))
  return median(slopes)
}

/** The k of cost ≈ c·n^k, by least squares over the logarithms: 0 is flat, 1 is linear. */
export function exponent(points: readonly (readonly [n: number, cost: number])[]): number {
  const logs = points.map(([n, cost]) => [Math.log(n), Math.log(cost)] as const)
  const mean = (at: 0 | 1) => logs.reduce((sum, point) => sum + point[at], 0) / logs.length
  const [mean_x, mean_y] = [mean(0), mean(1)]
  const across = logs.reduce((sum, [x, y]) => sum + (x - mean_x) * (y - mean_y), 0)
  const along = logs.reduce((sum, [x]) => sum + (x - mean_x) ** 2, 0)
  return along === 0 ? 0 : across / along
}

/**
 * What the logarithm itself has as exponent over the same sizes: whatever has less grows no faster than it. Sizes begin
 * above 1.
 */
export const logarithmsExponent = (sizes: readonly number[]) => exponent(sizes.map((n) => [n, Math.log(n)] as const))
