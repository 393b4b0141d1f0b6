// When calls are taken to have ceased.
import { expect, test } from 'vitest'
import { liveCalls } from './live-calls.ts'

test('it is quiet at first, not while calls come, and again a second after the last', () => {
  let now = 1_000_000
  const { came, isQuiet } = liveCalls(() => now)
  expect(isQuiet()).toBe(true)
  came(now)
  expect(isQuiet()).toBe(false)
  now += 999
  expect(isQuiet()).toBe(false)
  came(now)
  now += 999
  expect(isQuiet()).toBe(false)
  now += 1
  expect(isQuiet()).toBe(true)
})
