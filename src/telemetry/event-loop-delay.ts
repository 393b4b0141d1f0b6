// How long turns of the event loop take (R77): a timer that is due every few milliseconds, and by how much it comes too
// late. What holds the loop up holds everybody up, so that no call of one tenant may do it for long.
const EVERY_MS = 10

/** In seconds. A turn is seen as up to ten milliseconds shorter than it was: what came before the timer was due. */
export const LOOP_DELAY_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]

interface Timer {
  now_ms(): number
  every(ms: number, tick: () => void): () => void
}

const systemTimer: Timer = {
  now_ms: () => performance.now(),
  every(ms, tick) {
    const interval = setInterval(tick, ms).unref()
    return () => clearInterval(interval)
  },
}

/** Returns what ends it. */
export function watchEventLoop(delay: { observe(seconds: number): void }, timer = systemTimer): () => Promise<void> {
  let last_ms = timer.now_ms()
  const stop = timer.every(EVERY_MS, () => {
    const now_ms = timer.now_ms()
    delay.observe(Math.max(0, now_ms - last_ms - EVERY_MS) / 1_000)
    last_ms = now_ms
  })
  return async () => stop()
}
