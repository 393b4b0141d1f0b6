// When a machine is taken for a slow one.
import { expect, test } from 'vitest'
import { isSlowMachine } from './machine-speed.ts'

/** Each look takes as long as is said. */
function clockOf(...looks_ms: number[]): () => number {
  let now = 0
  let asked = 0
  return () => {
    if (asked++ % 2 === 1) now += looks_ms.shift() ?? 0
    return now
  }
}

test.each([
  [[150, 150, 150], false],
  [[900, 150, 700], false],
  [[300, 290, 310], true],
])('of looks that take %j ms the best decides: slow is %j', (looks, slow) => {
  expect(isSlowMachine(clockOf(...looks), 0)).toBe(slow)
})
