// What happens without a request: at its pace, never twice at once, and again after a failure.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { deferred } from '../test/support/tampered-db.ts'
import { startHousekeeping } from './housekeeping.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('§housekeeping each task runs at its own pace', async () => {
  const runs = { quick: 0, slow: 0 }
  const task = (name: keyof typeof runs, every_ms: number) => ({ name, every_ms, run: async () => void runs[name]++ })
  const stop = startHousekeeping([task('quick', 10), task('slow', 30)], () => {})
  await vi.advanceTimersByTimeAsync(60)
  await stop()
  await vi.advanceTimersByTimeAsync(60)
  expect(runs).toEqual({ quick: 6, slow: 2 })
})

test('§housekeeping a task that is still running is not started again, and stopping waits for it', async () => {
  const [work, order] = [deferred(), [] as string[]]
  const run = async () => {
    order.push('started')
    await work.promise
    order.push('finished')
  }
  const stop = startHousekeeping([{ name: 'long', every_ms: 10, run }], () => {})
  await vi.advanceTimersByTimeAsync(100)
  const stopped = stop().then(() => order.push('stopped'))
  work.resolve()
  await stopped
  expect(order).toEqual(['started', 'finished', 'stopped'])
})

test('§housekeeping a failure is reported by name, and the next turn comes all the same', async () => {
  const failures: string[] = []
  let runs = 0
  const run = async () => {
    if (++runs === 1) throw new Error('away')
  }
  const stop = startHousekeeping([{ name: 'shaky', every_ms: 10, run }], (task, error) =>
    failures.push(`${task}: ${(error as Error).message}`),
  )
  await vi.advanceTimersByTimeAsync(20)
  await stop()
  expect([runs, failures]).toEqual([2, ['shaky: away']])
})
