// Timers that pass when the test says so. To wait for them would be to measure how busy the machine is.
import { expect, onTestFinished, vi } from 'vitest'

/** From here to the end of the test. Those of `node:timers/promises`, of sockets and of the test runner go on. */
export function heldTimers() {
  if (vi.isFakeTimers()) throw new Error('timers are held already: a second time, they would stay so for later suites')
  const real = globalThis.setTimeout
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const held = globalThis.setTimeout
  const delays: unknown[] = []
  globalThis.setTimeout = ((...timer: Parameters<typeof held>) => {
    delays.push(timer[1])
    return held(...timer)
  }) as typeof held
  onTestFinished(() => {
    globalThis.setTimeout = held // as `vi` left it: it must find its own, else timers stay held for every later suite
    vi.useRealTimers()
  })
  return {
    pass: (ms: number) => void vi.advanceTimersByTime(ms),
    /** Ten times as quick as by itself, for as long as that takes: timers that are set meanwhile are met, too. */
    async passUntil<Outcome>(outcome: Promise<Outcome>): Promise<Outcome> {
      let is_settled = false
      const settled = () => {
        is_settled = true
      }
      outcome.then(settled, settled)
      while (!is_settled) {
        vi.advanceTimersByTime(10)
        await new Promise((turn) => real(turn, 1))
      }
      return await outcome
    },
    /** Until so many were set to this time, which tells how far a call has come. */
    async untilSet(ms: number, times: number): Promise<void> {
      await expect.poll(() => delays.filter((delay) => delay === ms).length).toBe(times)
    },
    /** The same of timers whose time is between these. */
    async untilSetWithin([least, most]: readonly [number, number], times: number): Promise<void> {
      const within = () => delays.filter((delay) => Number(delay) >= least && Number(delay) <= most)
      await expect.poll(() => within().length).toBeGreaterThanOrEqual(times)
    },
  }
}
