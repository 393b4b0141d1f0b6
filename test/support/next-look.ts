// When whoever waits for something looks again. At each turn of the event loop would be soonest, and would keep a core
// busy for as long as the wait: the work that is waited for needs it.
import { setTimeout as rest } from 'node:timers/promises'

const REST_MS = 5
const REST_MOST_MS = 50

/** For one wait: the longer it lasts, the longer the rests. They go on where the test holds the timers. */
export function nextLooks(): () => Promise<void> {
  let rest_ms = REST_MS
  return () => {
    const now_ms = rest_ms
    rest_ms = Math.min(REST_MOST_MS, rest_ms * 1.1)
    return rest(now_ms)
  }
}
