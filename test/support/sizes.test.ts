// How much is done of what is done many times over.
import { expect, test } from 'vitest'
import { sized } from './sizes.ts'

test.each([
  [[60, 1, 1], 60],
  [[60, 1, 0.4], 24],
  [[4, 2, 0.1], 2],
  [[1, 2, 0.4], 1],
] as const)('sized(%j) is %d', (asked, count) => {
  expect(sized(...asked)).toBe(count)
})
