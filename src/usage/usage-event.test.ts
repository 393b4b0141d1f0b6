import { expect, test } from 'vitest'
import { keptAttempts, type UsageAttempt } from './usage-event.ts'

const attempts = (many: number) => Array.from({ length: many }, (_, at) => ({ n: at + 1 }) as UsageAttempt)
const kept = (many: number) => keptAttempts(attempts(many)).map(({ n }) => n)

test('R47 of more than 32 attempts an event has the first and the last 16, under their numbers', () => {
  expect(kept(0)).toEqual([])
  expect(kept(32)).toEqual(attempts(32).map(({ n }) => n))
  expect(kept(33)).toEqual([
    ...attempts(16).map(({ n }) => n),
    ...attempts(33)
      .slice(17)
      .map(({ n }) => n),
  ])
  expect(kept(1_000).at(-1)).toBe(1_000)
  expect(kept(1_000)).toHaveLength(32)
})
