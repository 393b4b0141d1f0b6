import { expect, test } from 'vitest'
import { sortedInSteps } from './sorted-in-steps.ts'
import { atOnce } from './turns.ts'

test.each([0, 1, 2_000, 2_001, 9_999])('R77 %d texts come in the order of any sort, in steps', (many) => {
  const texts = Array.from({ length: many }, (_, n) => `m${(n * 7_919) % 10_007}`)
  expect(atOnce(sortedInSteps(texts))).toEqual([...texts].sort())
})

test('R77 no step is long: forty thousand texts take more than a hundred', () => {
  const texts = Array.from({ length: 40_000 }, (_, n) => `m${(n * 7_919) % 100_003}`)
  const steps = sortedInSteps(texts)
  let count = 0
  while (!steps.next().done) count++
  expect(count).toBeGreaterThan(100)
})
