// R47: when the target that failed is asked once more, by the same call: only where it surely did nothing, and at once
// only where the connection failed. What a verdict is stands in upstream-verdict.ts.
import type { Elsewhere } from './upstream-verdict.ts'

/** Of one call, whatever its targets allow. */
export const RETRIES_MAX = 3

const PAUSE_MS = 25 // before the first; doubled for each that follows, and up to three times as long by chance
const ASKED_WAIT_MAX_S = 2 // whoever asks for more than this is not waited for
const ASKED_SPREAD_MS = 250
const QUICK_MS = 1_000

export interface Retry {
  /** Before any other target is asked; else once there is no other left. */
  is_next: boolean
  /** From sending to sending, at least; a chance between 0 and 1 of the spread comes on top. */
  pause_ms: number
  spread_ms: number
}

/**
 * `took_ms`: how long it took to fail. A connection that could not be made at once is tried again before others, since
 * most such failures are of a moment; one that took long is a wait that others spare the call.
 */
export function retryOf(verdict: Elsewhere, took_ms: number): Retry | undefined {
  const { failure, status, surely_not_executed, retry_after_s } = verdict
  if (!surely_not_executed) return undefined
  if (failure === 'connect') return { is_next: took_ms < QUICK_MS, pause_ms: PAUSE_MS, spread_ms: 2 * PAUSE_MS }
  if (status !== 429 && status !== 503) return undefined
  if (retry_after_s === undefined || retry_after_s > ASKED_WAIT_MAX_S) return undefined
  return { is_next: false, pause_ms: retry_after_s * 1_000, spread_ms: ASKED_SPREAD_MS }
}

/** How long to wait before the n-th retry of a call, from 0 on. */
export function pauseOf({ pause_ms, spread_ms }: Retry, n: number, chance: number): number {
  const longer = spread_ms === ASKED_SPREAD_MS ? 1 : 2 ** n
  return Math.ceil((pause_ms + spread_ms * chance) * longer)
}
