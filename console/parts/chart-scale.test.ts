// Charts in numbers: round tops, bars that stand on each other, lines that stop where nothing is known; and figures.
import { expect, test } from 'vitest'
import { barsPath, HEIGHT, highestOf, linePath, roundTop, stacked, WIDTH } from './chart-scale.ts'
import { change, duration, percent } from './figures.ts'

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

test('§console a line stops where nothing is known, and a lone value is a dot', () => {
  expect(linePath([10, 10, null, 10], 10).match(/[ML]/g)).toEqual(['M', 'L', 'M'])
  expect(linePath([null, 10, null], 10)).toBe(`M${WIDTH / 2} 0h0.01`)
})

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_250, '1.25 s'],
  [125_000, '2 min 5 s'],
])('§console %i ms are %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test('§console shares and changes: none where there is nothing to compare with, and small is not zero', () => {
  expect(percent(1, 0)).toBe('–')
  expect(percent(0, 10)).toBe('0%')
  expect(percent(1, 100_000)).toBe('< 0.1%')
  expect(percent(1, 8)).toBe('12.5%')
  expect(change(5, 0)).toBeUndefined()
  expect([change(15, 10), change(5, 10), change(10, 10), change(250, 10)]).toEqual(['+50%', '-50%', '0%', '×25'])
})
