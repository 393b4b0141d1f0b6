// Whether calls come in. Work that nobody waits for keeps out of their way, and need not where there are none.

const QUIET_AFTER_MS = 1_000

export type LiveCalls = ReturnType<typeof liveCalls>

export function liveCalls(now: () => number) {
  let last_at = Number.NEGATIVE_INFINITY
  return {
    /** One came in. */
    came(at: number): void {
      last_at = at
    },

    /** None has come for a while. */
    isQuiet: () => now() - last_at >= QUIET_AFTER_MS,
  }
}
