// §8.2.3: percentiles of values that come one by one.
import { expect, test } from 'vitest'
import { RankedValues } from './ranked-values.ts'

const rankedOf = (values: readonly number[], kept_max?: number) => {
  const ranked = new RankedValues(kept_max)
  for (const value of values) ranked.add(value)
  return ranked.percentiles([50, 95])
}
const mixed = (count: number) => Array.from({ length: count }, (_, n) => 1_000 + ((n * 7_919) % count))

test.each([
  ['none', [], [null, null]],
  ['one', [7], [7, 7]],
  ['two', [9, 1], [1, 9]],
  ['twenty', mixed(20), [1_009, 1_018]],
  ['as many as are kept', mixed(1_000), [1_499, 1_949]],
])('§8.2.3 the nearest rank of %s', (_what, values, wanted) => {
  expect(rankedOf(values, 1_000)).toEqual(wanted)
})

test('R77 of more than are kept it is near, and says the same as all of them in a histogram', () => {
  const [p50, p95] = rankedOf(mixed(1_001), 1_000) as [number, number]
  expect(Math.abs(p50 - 1_500)).toBeLessThanOrEqual(1_500 * 0.032)
  expect(Math.abs(p95 - 1_950)).toBeLessThanOrEqual(1_950 * 0.032)
  expect(rankedOf(mixed(1_001), 0)).toEqual([p50, p95])
})
