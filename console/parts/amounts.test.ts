// Money, counts and ages as people read them; when a budget is near; numbers as they are typed.
import { expect, test } from 'vitest'
import { ApiError } from '../api/api-client.ts'
import { ago, exactMoney, headlineCount, headlineMoney, money } from './amounts.ts'
import { budgetLevel } from './budget-bar.tsx'
import { typedNumber } from './typed-number.ts'

test.each([
  [0, '$0.00'],
  [1, '$0.000001'],
  [9_876, '$0.009876'],
  [23_120, '$0.0231'],
  [412_345, '$0.41'],
  [1_000_000, '$1.00'],
  [18_425_000, '$18.43'],
  [9_007_199_254_000_000, '$9,007,199,254.00'],
])('§console %i micros are %s', (micros, text) => {
  expect(money(micros)).toBe(text)
})

test('§console what one request cost is told to the last millionth', () => {
  expect([0, 412_345, 3_100_000].map(exactMoney)).toEqual(['$0.00', '$0.412345', '$3.10'])
})

test.each([
  [1_200, '$0.0012'],
  [412_300, '$0.41'],
  [999_990_000, '$999.99'],
  [10_852_290_000, '$10,852'],
  [1_234_567_000_000, '$1.2M'],
])('§console as a headline, %i micros are %s', (micros, text) => {
  expect(headlineMoney(micros)).toBe(text)
})

test('§console a headline counts to the last one below a million', () => {
  expect([999_999, 12_345_678].map(headlineCount)).toEqual(['999,999', '12.3M'])
})

test.each([
  [-5_000, 'just now'],
  [9_999, 'just now'],
  [10_000, '10 seconds ago'],
  [59_999, '59 seconds ago'],
  [60_000, '1 minute ago'],
  [7_200_000, '2 hours ago'],
  [86_400_000, '1 day ago'],
  [45 * 86_400_000, '1 month ago'],
  [800 * 86_400_000, '2 years ago'],
])('§console %i ms are %s', (age, text) => {
  expect(ago(1_000_000_000_000 - age, 1_000_000_000_000)).toBe(text)
})

test.each([
  [{ spent_micros: 5, limit_micros: undefined }, 'open'],
  [{ spent_micros: 79, limit_micros: 100 }, 'fine'],
  [{ spent_micros: 80, limit_micros: 100 }, 'near'],
  [{ spent_micros: 50, held_micros: 30, limit_micros: 100 }, 'near'],
  [{ spent_micros: 70, held_micros: 30, limit_micros: 100 }, 'reached'],
  [{ spent_micros: 0, limit_micros: 0 }, 'reached'],
] as const)('R43 %j is %s', (budget, level) => {
  expect(budgetLevel(budget)).toBe(level)
})

test('R6 nothing typed is no number; what is no number names its field', () => {
  expect(typedNumber('limit_usd', '  ')).toBeUndefined()
  expect(typedNumber('limit_usd', '1,250.5')).toBe(1250.5)
  for (const text of ['-1', '1e3', 'ten', '0x10', '1.']) {
    const refused = () => typedNumber('limit_usd', text)
    expect(refused).toThrow(ApiError)
    expect(refused).toThrow("'limit_usd' must be a number.")
  }
})
