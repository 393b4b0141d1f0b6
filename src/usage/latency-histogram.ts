// How long generations took, in few numbers: counts over buckets that are exact below 16 ms and a sixteenth of their
// value wide above. Histograms add up; what they say of a percentile is within 3.2 % of it.

/** How many values fell into each bucket; buckets without any are left out. */
export type Histogram = Record<string, number>

const PARTS = 16 // of each power of two
const LARGEST_MS = 2 ** 30 // twelve days: whatever took longer counts as this

export function bucketOf(value_ms: number): number {
  const value = Math.min(Math.max(0, Math.round(value_ms)), LARGEST_MS)
  if (value < PARTS) return value
  const shift = 27 - Math.clz32(value) // leaves the five leading bits
  return PARTS * shift + (value >> shift)
}

/** The same for SQL, over a column of whole numbers or an expression without values of its own. */
export function bucketSql(value_ms: string): string {
  const cases: string[] = []
  for (let shift = 0; 2 * PARTS * 2 ** shift <= LARGEST_MS; shift++)
    cases.push(`WHEN ${value_ms} < ${2 * PARTS * 2 ** shift} THEN ${PARTS * shift} + ${value_ms} / ${2 ** shift}`)
  return `CASE WHEN ${value_ms} < 0 THEN 0 ${cases.join(' ')} ELSE ${bucketOf(LARGEST_MS)} END`
}

/** The middle of a bucket. */
export function middleOf(bucket: number): number {
  if (bucket < 2 * PARTS) return bucket
  const shift = Math.floor(bucket / PARTS) - 1
  const lowest = (bucket - PARTS * shift) * 2 ** shift
  return Math.floor(lowest + (2 ** shift - 1) / 2)
}

export function count(histogram: Histogram, value_ms: number): void {
  const bucket = bucketOf(value_ms)
  histogram[bucket] = (histogram[bucket] ?? 0) + 1
}

export function merge(into: Histogram, other: Histogram): void {
  for (const bucket in other) into[bucket] = (into[bucket] ?? 0) + (other[bucket] as number)
}

/** For each percent the value that so many of all values do not exceed (nearest rank); nulls where there is none. */
export function percentiles(histogram: Histogram, percents: readonly number[]): (number | null)[] {
  // JavaScript keeps whole numbers in their order. Two lists are several times quicker than a list of pairs.
  const [buckets, counts] = [Object.keys(histogram), Object.values(histogram)]
  const total = counts.reduce((sum, counted) => sum + counted, 0)
  return percents.map((percent) => {
    let rest = Math.ceil((total * percent) / 100)
    for (let at = 0; at < counts.length; at++) {
      rest -= counts[at] as number
      if (rest <= 0) return middleOf(Number(buckets[at]))
    }
    return null
  })
}
