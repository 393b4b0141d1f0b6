// How much is done of what is done many times over.
import { expect, test } from 'vitest'
import { sized } from './sizes.ts'

test.each([
  [60, 1, 1, 60],
  [60, 1, 0.4, 24],
  [4, 2, 0.1, 2],
  [1, 2, 0.4, 1],
])('of %d, and of no fewer than %d, a share of %d is %d', (count, least, share, done) => {
  expect(sized(count, least, share)).toBe(done)
})
