// When a machine is taken for a slow one.
import { expect, test } from 'vitest'
import { isSlowMachine } from './machine-speed.ts'

test.each([
  [[150, 150, 150], false],
  [[900, 150, 700], false],
  [[300, 290, 310], true],
])('of looks that take %j ms the best decides: slow is %j', (looks, slow) => {
  const left = [...looks]
  expect(isSlowMachine(() => left.shift() ?? 0)).toBe(slow)
})
