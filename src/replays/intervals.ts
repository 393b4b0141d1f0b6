// How sure a rate or a mean is: intervals at 95 %. Pure.
import { type Static, Type } from 'typebox'

const Z = 1.959963984540054 // 95 % of a normal distribution lie within so many standard deviations

export const Rate = Type.Object({
  count: Type.Integer(),
  of: Type.Integer(),
  rate: Type.Number({ description: '0 to 1; 0 where nothing was compared.' }),
  low: Type.Number({ description: 'Of the 95 % interval after Wilson.' }),
  high: Type.Number(),
})
export type Rate = Static<typeof Rate>

/** Wilson's score interval, which holds for rare things and small samples as well. */
export function rateOf(count: number, of: number): Rate {
  if (of === 0) return { count, of, rate: 0, low: 0, high: 1 }
  const rate = count / of
  const scale = 1 + Z ** 2 / of
  const centre = (rate + Z ** 2 / (2 * of)) / scale
  const half = (Z / scale) * Math.sqrt((rate * (1 - rate)) / of + Z ** 2 / (4 * of ** 2))
  return {
    count,
    of,
    rate,
    low: count === 0 ? 0 : Math.max(0, centre - half),
    high: count === of ? 1 : Math.min(1, centre + half),
  }
}

export interface Mean {
  mean: number
  low: number
  high: number
}

/** Of differences that were seen in pairs; as wide as it could be where there is only one of them. */
export function meanOf(values: readonly number[]): Mean {
  const n = values.length
  if (n === 0) return { mean: 0, low: 0, high: 0 }
  const mean = values.reduce((sum, value) => sum + value, 0) / n
  const spread = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  const half = n === 1 ? Math.abs(mean) : Z * Math.sqrt(spread / (n - 1) / n)
  return { mean, low: mean - half, high: mean + half }
}

/** The one lies beyond the other, to whichever side. */
export const isApart = (one: Pick<Mean, 'low' | 'high'>, other: Pick<Mean, 'low' | 'high'>) =>
  one.low > other.high || one.high < other.low
