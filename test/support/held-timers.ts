// Timers that pass when the test says so. To wait for them would be to measure how busy the machine is.
import { onTestFinished, vi } from 'vitest'

/** From here to the end of the test. Those of `node:timers/promises`, of sockets and of the test runner go on. */
export function heldTimers() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  return { pass: (ms: number) => void vi.advanceTimersByTime(ms) }
}
