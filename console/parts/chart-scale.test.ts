// Charts in numbers: round tops and marks, bars that stand on each other, lines that stop where nothing is known.
import { expect, test } from 'vitest'
import {
  barsPath,
  HEIGHT,
  highestOf,
  linePath,
  lonePath,
  roundTop,
  scaleOf,
  splitAt,
  spotsOf,
  stacked,
  WIDTH,
} from './chart-scale.ts'

test.each([
  [0, 2],
  [Number.NaN, 2],
  [0.4, 2],
  [1, 2],
  [3, 4],
  [7, 8],
  [9, 10],
  [10, 10],
  [11, 12],
  [15, 16],
  [131, 150],
  [4_210_000, 5_000_000],
])('§console over %d the chart ends at %d', (highest, top) => {
  expect(roundTop(highest)).toBe(top)
})

test('§console a top is never below what is drawn, nor far above, and its half is whole', () => {
  for (let highest = 1; highest < 1e9; highest = Math.ceil(highest * 1.37)) {
    const top = roundTop(highest)
    expect(top).toBeGreaterThanOrEqual(highest)
    expect(top).toBeLessThanOrEqual(2 * highest)
    expect(Number.isInteger(top / 2)).toBe(true)
  }
})

test('§console a logarithmic axis places powers evenly and marks them', () => {
  const { place, ticks } = scaleOf({ values: [256, 131_072], base: 4 })
  expect(ticks).toEqual([256, 1_024, 4_096, 16_384, 65_536])
  expect(place(256)).toBe(0)
  expect(place(131_072)).toBe(1)
  expect(place(1_024) - place(256)).toBeCloseTo(place(4_096) - place(1_024))
})

test('§console a wide axis has few marks, a narrow one has its ends, and nothing has none', () => {
  expect(scaleOf({ values: [1e-6, 1e12], base: 10 }).ticks.length).toBeLessThanOrEqual(7)
  expect(scaleOf({ values: [12, 40], base: 10 }).ticks).toEqual([12, 40])
  expect(scaleOf({ values: [0, 0.95] }).ticks).toEqual([0, 0.25, 0.5, 0.75])
  expect(scaleOf({ values: [7, 7] }).ticks.length).toBeLessThan(7)
  expect(scaleOf({ values: [] }).ticks).toEqual([])
  expect(scaleOf({ values: [0, 5, 10], base: 10 }).place(5)).toBe(0) // a logarithm knows no zero
})

test('§console rows are added up place by place, and what is unknown counts for nothing', () => {
  expect(stacked([[1, null, 3], [2, 2, null], []])).toEqual([3, 2, 3])
  expect(highestOf([[1, null], [4]])).toBe(4)
  expect(highestOf([])).toBe(0)
})

test('§console a bar stands on what is below it; what is not there is not drawn', () => {
  const [foot] = /(?<=M[\d.]+ )[\d.]+/.exec(barsPath([5], [5], 10)) ?? []
  expect(Number(foot)).toBe(HEIGHT / 2)
  expect(barsPath([0, null], [0, 0], 10)).toBe('')
})

test('§console a line stops where nothing is known, and a lone value is a dot of its own', () => {
  expect(linePath(spotsOf([10, 10, null, 10], 10)).match(/[ML]/g)).toEqual(['M', 'L', 'M'])
  expect(lonePath(spotsOf([10, 10, null, 10], 10)).match(/M/g)).toHaveLength(1)
  expect(lonePath(spotsOf([null, 10, null], 10))).toBe(`M${WIDTH / 2} 0h0.01`)
})

test('§console what is still growing is drawn apart: a bar alone, a line from the last that is whole', () => {
  expect(splitAt([1, 2, 3], 2, 'bars')).toEqual({ whole: [1, 2, null], open: [null, null, 3] })
  expect(splitAt([1, 2, 3], 2, 'lines')).toEqual({ whole: [1, 2, null], open: [null, 2, 3] })
  expect(splitAt([1, 2], 2, 'lines')).toEqual({ whole: [1, 2], open: [null, null] })
})
