// R6: dollars become micros exactly, or not at all.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { dollars, USD_MAX, usdToMicros } from './money.ts'

type Convert = (usd: number) => number | undefined

const EXACT: [number, number][] = [
  [0, 0],
  [1, 1_000_000],
  [0.1, 100_000],
  [12.5, 12_500_000], // T-53
  [1.005, 1_005_000],
  [8.2, 8_200_000],
  [19.99, 19_990_000],
  [1e-6, 1],
  [1.1e-5, 11],
  [0.000001, 1],
  [4.35, 4_350_000],
  [1e9, 1_000_000_000_000_000],
  [123_456_789.123456, 123_456_789_123_456],
  [8_589_934_591.999999, 8_589_934_591_999_999],
  [8_589_934_593, 8_589_934_593_000_000],
  [USD_MAX, 9_007_199_254_000_000],
]
// Here numbers lie further apart than micros: which of several amounts was written can no longer be told.
const VAGUE = [8_589_934_592.000002, 9_007_199_253.999998, 9_007_199_253.99999, 9_007_199_253.5]
const NONE = [-1, -1e-7, 1e-7, 0.0000015, 1.0000001, USD_MAX + 1, 1e300, Infinity, -Infinity, Number.NaN, ...VAGUE]

const wrongOf = (convert: Convert) => [
  ...EXACT.filter(([usd, micros]) => convert(usd) !== micros).map(([usd]) => usd),
  ...NONE.filter((usd) => convert(usd) !== undefined),
]

test.each(EXACT)('R6 %d USD is %d micros', (usd, micros) => {
  expect(usdToMicros(usd)).toBe(micros)
})

test.each(NONE)('R6 %d USD has no exact micros', (usd) => {
  expect(usdToMicros(usd)).toBeUndefined()
})

test('T-54 minus zero is zero', () => {
  expect(Object.is(usdToMicros(-0), 0)).toBe(true)
})

// Up to 2 ** 33 dollars, numbers lie closer together than micros, so that each micro has one of its own.
test('R6 every amount written with up to six decimals comes back to the micro', () => {
  const micros = fc.bigInt({ min: 0n, max: 8_589_934_592_000_000n })
  fc.assert(
    fc.property(micros, (amount) => {
      const text = `${amount / 1_000_000n}.${String(amount % 1_000_000n).padStart(6, '0')}`
      expect(usdToMicros(Number(text))).toBe(Number(amount))
    }),
    { numRuns: 2_000 },
  )
})

test('R6 planted: multiplying by a million is caught, rounded or not', () => {
  expect(wrongOf(usdToMicros)).toEqual([])
  expect(wrongOf((usd) => (usd >= 0 && usd <= USD_MAX ? usd * 1e6 : undefined))).toContain(8.2)
  expect(wrongOf((usd) => (usd >= 0 && usd <= USD_MAX ? Math.floor(usd * 1e6) : undefined))).toContain(1.005)
  expect(wrongOf((usd) => (usd >= 0 && usd <= USD_MAX ? Math.round(usd * 1e6) : undefined))).toContain(1.0000001)
})

test.each([
  [0, '0.00'],
  [1, '0.000001'],
  [300, '0.0003'],
  [9_999, '0.009999'],
  [10_000, '0.01'],
  [1_500_000, '1.50'],
  [12_345_678, '12.35'],
])('§6 in a sentence %d micros are $%s', (micros, told) => {
  expect(dollars(micros)).toBe(told)
})
