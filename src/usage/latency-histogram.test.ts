// How far a histogram may be off, over every value it could meet.
import { expect, test } from 'vitest'
import { bucketOf, count, type Histogram, merge, middleOf, percentiles } from './latency-histogram.ts'

const exact = (values: readonly number[], percent: number) =>
  [...values].sort((a, b) => a - b)[Math.ceil((values.length * percent) / 100) - 1]

test('§8.2.3 buckets follow each other without a gap, and none is wider than a sixteenth of what is in it', () => {
  let [bucket, first] = [0, 0]
  for (let value = 0; value < 200_000; value++) {
    const next = bucketOf(value)
    if (next === bucket) continue
    expect([next, value - first <= Math.max(1, first / 16)]).toEqual([bucket + 1, true])
    ;[bucket, first] = [next, value]
  }
})

test.each([0, 1, 15, 16, 17, 31, 32, 33, 1_000, 65_535, 3_600_000, 2 ** 30])(
  '§8.2.3 the middle of the bucket of %d is within 3.2 % of it',
  (value) => {
    expect(Math.abs(middleOf(bucketOf(value)) - value)).toBeLessThanOrEqual(value * 0.032)
  },
)

test('§8.2.3 what takes longer than twelve days, or less than nothing, still has a bucket', () => {
  expect(bucketOf(2 ** 40)).toBe(bucketOf(2 ** 30))
  expect(bucketOf(-5)).toBe(0)
})

test('§8.2.3 percentiles of merged histograms are those of all values, within 3.2 %', () => {
  const values = Array.from({ length: 5_000 }, (_, n) => Math.floor(1.003 ** ((n * 7_919) % 5_000)))
  const [left, right]: [Histogram, Histogram] = [{}, {}]
  for (const [n, value] of values.entries()) count(n % 3 ? left : right, value)
  merge(left, right)
  const percents = [1, 50, 95, 99, 100]
  for (const [at, told] of percentiles(left, percents).entries()) {
    const is = exact(values, percents[at] as number) as number
    expect(Math.abs((told as number) - is)).toBeLessThanOrEqual(is * 0.032)
  }
  expect(percentiles({}, [50, 95])).toEqual([null, null])
})

test('§8.2.3 planted: buckets twice as wide are caught by the bound', () => {
  const twice = (value: number) => middleOf(bucketOf(value) & ~1)
  const off = Array.from({ length: 1_000 }, (_, n) => 1_000 + n).filter(
    (value) => Math.abs(twice(value) - value) > value * 0.032,
  )
  expect(off.length).toBeGreaterThan(0)
})
