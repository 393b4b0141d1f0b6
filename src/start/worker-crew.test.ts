// How soon a worker that died is replaced.
import { expect, test } from 'vitest'
import { backOffOf } from './worker-crew.ts'

test('§operations who dies again and again is replaced later and later, at most half a minute; a calm minute resets it', () => {
  const { next } = backOffOf()
  let now_ms = 5_000
  const waits = Array.from({ length: 12 }, () => {
    const wait_ms = next(now_ms)
    now_ms += wait_ms + 500
    return wait_ms
  })
  expect(waits.slice(0, 5)).toEqual([100, 200, 400, 800, 1_600])
  expect(waits.slice(-3)).toEqual([30_000, 30_000, 30_000])
  expect(next(now_ms + 60_001)).toBe(100)
})
