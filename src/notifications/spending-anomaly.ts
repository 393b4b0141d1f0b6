// Whether an hour's spending is out of the ordinary: beside the same hour of the week in the weeks before. Pure.

export const WEEKS = 8
/** With fewer weeks of spending before it, an hour has nothing to be compared with. */
const WEEKS_MIN = 4
/** So many deviations above the median. */
const DEVIATIONS = 6
/** Makes the median of deviations what the standard deviation is where spending is spread normally. */
const TO_SIGMA = 1.4826
/** Hours that spend nearly the same every week have hardly a deviation: it is taken for a tenth of the median. */
const DEVIATION_SHARE_MIN = 0.1
/** Below this much above what is usual, nobody is told. */
export const FLOOR_MICROS = 5_000_000

export interface Verdict {
  usual_micros: number
  /** Above this it is told. */
  limit_micros: number
  is_anomaly: boolean
}

/** `before`: the same hour in the weeks before, 0 where nothing was spent. Undefined where there are too few. */
export function judgeHour(spent_micros: number, before: readonly number[]): Verdict | undefined {
  if (before.length < WEEKS_MIN) return undefined
  const usual_micros = median(before)
  const spread = TO_SIGMA * median(before.map((one) => Math.abs(one - usual_micros)))
  const deviation = Math.max(spread, usual_micros * DEVIATION_SHARE_MIN)
  const limit_micros = Math.round(usual_micros + Math.max(DEVIATIONS * deviation, FLOOR_MICROS))
  return { usual_micros, limit_micros, is_anomaly: spent_micros > limit_micros }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [above = 0, below = above] = [sorted[middle], sorted[middle - 1]]
  return sorted.length % 2 === 1 ? above : Math.round((above + below) / 2)
}
