// When a machine is taken for a slow one.
import { expect, test } from 'vitest'
import { machineSpeed } from './machine-speed.ts'

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
  [[150, 150, 150], 'usual'],
  [[900, 150, 700], 'usual'],
  [[240, 230, 330], 'slow'],
  [[290, 270, 900], 'very slow'],
])('of looks that take %j ms the best decides: %s', (looks, speed) => {
  expect(machineSpeed(clockOf(...looks), 0)).toBe(speed)
})
