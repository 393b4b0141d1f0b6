// R6: what a spending limit may be.
import { expect, test } from 'vitest'
import { USD_MAX } from './money.ts'
import { Refusal } from './refusal.ts'
import { limitMicros } from './spending-limit.ts'

test.each([
  [{ limit_usd: 5 }, 5_000_000],
  [{ limit_usd: 12.5 }, 12_500_000],
  [{ limit_usd: 0 }, 0],
  [{ limit_usd: -0 }, 0],
  [{ limit_usd: USD_MAX }, 9_007_199_254_000_000],
  [{ limit_usd: null }, null],
  [{}, undefined],
])('R6 %j means %s', (asked, micros) => {
  expect(limitMicros(asked)).toBe(micros)
})

test.each([1e-7, 0.1234567, 1 / 3])('R6 %d USD is finer than a micro', (limit_usd) => {
  expect(() => limitMicros({ limit_usd })).toThrow(Refusal)
})
