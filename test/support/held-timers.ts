// Timers that pass when the test says so. To wait for them would be to measure how busy the machine is.
import { expect, onTestFinished, vi } from 'vitest'

/** From here to the end of the test. Those of `node:timers/promises`, of sockets and of the test runner go on. */
export function heldTimers() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const set = vi.spyOn(globalThis, 'setTimeout')
  onTestFinished(() => set.mockRestore())
  return {
    pass: (ms: number) => void vi.advanceTimersByTime(ms),
    /** Until so many were set to this time, which tells how far a call has come. */
    async untilSet(ms: number, times: number): Promise<void> {
      await expect.poll(() => set.mock.calls.filter(([, after]) => after === ms).length).toBe(times)
    },
  }
}
