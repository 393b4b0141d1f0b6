// Where values stand on an axis; and times, sizes and durations as engineers read them.
import { expect, test } from 'vitest'
import { scaleOf } from './curve-scale.ts'
import { duration, lasting, percent, size } from './measures.ts'

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

test.each([
  [0.05, '0.05 ms'],
  [12.345, '12.3 ms'],
  [812.4, '812 ms'],
  [9_999, '9,999 ms'],
  [12_340, '12.3 s'],
  [-3.2, '-3.2 ms'],
])('§console %d ms are %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [2_684_354_560, '2.68 GB'],
  [512e9, '512 GB'],
])('§console %d bytes are %s', (bytes, text) => {
  expect(size(bytes)).toBe(text)
})

test.each([
  [400, '1 s'],
  [42_000, '42 s'],
  [60_000, '1 min'],
  [3_600_000, '1 h'],
  [86_340_000, '23 h 59 min'],
])('§console %d ms lasted %s', (ms, text) => {
  expect(lasting(ms)).toBe(text)
})

test('§console a share is a percentage', () => {
  expect(percent(0.415)).toBe('42%')
})
