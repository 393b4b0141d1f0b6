import fc from 'fast-check'
import { expect, test } from 'vitest'
import { costOf, outputFor, type Price, pricePerMillion, worstCase } from './price.ts'

/** $3 in, $0.30 cached, $3.75 written, $15 out. */
const SONNET: Price = { input: 3_000_000, cached_input: 300_000, cache_write: 3_750_000, output: 15_000_000 }
const FREE: Price = { input: 0, cached_input: 0, cache_write: 0, output: 0 }

test.each([
  ['nothing', { input: 0, cached: 0, written: 0, output: 0 }, 0, 0],
  ['plain input and output', { input: 1_000, cached: 0, written: 0, output: 100 }, 4_500, 4_500],
  ['cached input at its own price', { input: 1_000, cached: 800, written: 0, output: 0 }, 840, 3_000],
  [
    'written input at its own price, dearer than the list',
    { input: 1_000, cached: 0, written: 400, output: 0 },
    3_300,
    3_000,
  ],
  ['all of it', { input: 1_000, cached: 500, written: 100, output: 10 }, 1_875, 3_150],
])('R42 %s', (_what, tokens, actual_micros, direct_micros) => {
  expect(costOf(SONNET, tokens)).toEqual({ actual_micros, direct_micros })
})

test('R42 rounded up once for a generation, not for each of its parts', () => {
  const price: Price = { input: 100_000, cached_input: 100_000, cache_write: 100_000, output: 100_000 } // 0.1 a token
  expect(costOf(price, { input: 1, cached: 0, written: 0, output: 0 }).actual_micros).toBe(1)
  expect(costOf(price, { input: 5, cached: 2, written: 2, output: 5 }).actual_micros).toBe(1)
  expect(costOf(price, { input: 5, cached: 2, written: 2, output: 6 }).actual_micros).toBe(2)
})

test('R42 parts that exceed the whole never make input negative', () => {
  expect(costOf(SONNET, { input: 10, cached: 20, written: 0, output: 0 }).actual_micros).toBe(6)
})

test('R76 what is written for an hour has its own price, where there is one', () => {
  const tokens = { input: 1_000, cached: 0, written: 400, written_1h: 100, output: 0 }
  expect(costOf(SONNET, tokens).actual_micros).toBe(3_300)
  expect(costOf({ ...SONNET, cache_write_1h: 6_000_000 }, tokens).actual_micros).toBe(1_800 + 1_125 + 600)
})

test('R77 the most that anybody counts is billed to the micro', () => {
  const most = { input: 1_000_000_000, cached: 1, written: 2, output: 1_000_000_000 }
  expect(costOf({ ...SONNET, output: 150_000_001 }, most)).toEqual({
    actual_micros: 2_999_999_991 + 1 + 7 + 150_000_001_000, // 0.3 and 7.5 round up to one more than their whole parts
    direct_micros: 153_000_001_000,
  })
})

test('R42 a bill that cannot be counted exactly is no bill', () => {
  const tokens = { input: Number.MAX_SAFE_INTEGER, cached: 0, written: 0, output: 0 }
  expect(() => costOf(SONNET, tokens)).toThrow('exactly')
})

test('R43 a hold takes every prompt token at its dearest', () => {
  expect(worstCase(SONNET, 1_000, 100)).toBe(3_750 + 1_500)
  expect(worstCase({ ...SONNET, cached_input: 9_000_000 }, 1_000, 0)).toBe(9_000)
  expect(worstCase(FREE, 1e6, 1e6)).toBe(0)
})

// A client may ask for any number of tokens; what no one can count fits no budget, and is no fault of ours.
test.each([
  [1_000, 1e15],
  [1_000, Number.MAX_SAFE_INTEGER],
  [1_000, Infinity],
  [1e300, 1],
])('R43 a bound beyond counting is more than anyone has (%d in, %d out)', (input, output) => {
  expect(worstCase(SONNET, input, output)).toBe(Number.MAX_SAFE_INTEGER)
})

test.each([
  ['exactly the prompt', 3_750, 0],
  ['a micro less than the prompt', 3_749, -1],
  ['one token more', 3_765, 1],
  ['a micro less than that', 3_764, 0],
  ['a hundred more', 5_250, 100],
])('R43 what %s buys', (_what, micros, output) => {
  expect(outputFor(SONNET, 1_000, micros)).toBe(output)
})

test('R43 output that is free is without end', () => {
  expect(outputFor({ ...SONNET, output: 0 }, 1_000, 3_750)).toBe(Number.MAX_SAFE_INTEGER)
})

const prices = fc.record({
  input: fc.nat(100_000_000),
  cached_input: fc.nat(100_000_000),
  cache_write: fc.nat(100_000_000),
  output: fc.integer({ min: 1, max: 100_000_000 }),
})

test('R43 what a budget buys fits into it, and leaves less than two micros over', () => {
  fc.assert(
    fc.property(prices, fc.nat(1_000_000), fc.nat(1_000_000_000), (price, input, micros) => {
      const output = outputFor(price, input, micros)
      if (output < 0) return worstCase(price, input, 0) > micros
      return worstCase(price, input, output) <= micros && worstCase(price, input, output + 1) > micros - 2
    }),
  )
})

test('R42, R43 no generation within its bounds costs more than was held for it', () => {
  const used = fc.tuple(prices, fc.nat(1_000_000), fc.nat(1_000_000), fc.nat(100), fc.nat(100))
  fc.assert(
    fc.property(used, ([price, input, output, cached_pct, written_pct]) => {
      const cached = Math.floor((input * cached_pct) / 100)
      const written = Math.floor(((input - cached) * written_pct) / 100)
      const { actual_micros, direct_micros } = costOf(price, { input, cached, written, output })
      const held = worstCase(price, input, output)
      return actual_micros <= held && direct_micros <= held && Number.isSafeInteger(actual_micros)
    }),
  )
})

test.each([
  [0.0028, 2_800],
  [8.2, 8_200_000],
  [0, 0],
])('R6 $%d per million tokens is %i micros', (usd, micros) => {
  expect(pricePerMillion(usd, 'x')).toBe(micros)
})

test.each([-1, 0.0000001, Infinity, 1e10])('R6 %d is no price', (usd) => {
  expect(() => pricePerMillion(usd, "'input'")).toThrow("'input' must be between 0 and")
})

test('R42, R43 a long prompt has its own price, for all of it, and is held for at that', () => {
  const long = { above: 1_000, input: 6_000_000, cached_input: 600_000, cache_write: 7_500_000, output: 22_500_000 }
  const price: Price = { ...SONNET, long }
  const tokens = { cached: 500, written: 100, output: 10 }
  expect(costOf(price, { input: 1_000, ...tokens })).toEqual(costOf(SONNET, { input: 1_000, ...tokens }))
  expect(costOf(price, { input: 1_001, ...tokens }).actual_micros).toBe(401 * 6 + 300 + 750 + 225)
  expect(worstCase(price, 1_000, 100)).toBe(worstCase(SONNET, 1_000, 100))
  expect(worstCase(price, 1_001, 100)).toBe(Math.ceil(1_001 * 7.5 + 100 * 22.5))
  expect(outputFor(price, 1_001, worstCase(price, 1_001, 40))).toBe(40)
})
