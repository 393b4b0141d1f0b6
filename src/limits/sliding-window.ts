// R49: never more than the limit in any 60 seconds. There are sixty one-second counts and the one under way. Whatever
// span of 60 seconds one looks at lies within 61 of them, so what they allow is never too much; and too little by a
// sixtieth at most.
// Pure: numbers that begin at `base` of an array, and seconds.

export const WINDOW_S = 60 // R49
const COUNTS = WINDOW_S + 1
/** After so many seconds nothing counts any more that counts now. */
export const ALL_GONE_S = COUNTS

export const slidingWindow = {
  size: COUNTS,

  place: (second: number): number => second % COUNTS,

  /** Clears the seconds that were entered since `newest_s`; returns how much they had from their last time round. */
  expire(counts: Uint32Array, base: number, newest_s: number, now_s: number): number {
    const entered = Math.min(now_s - newest_s, COUNTS)
    let expired = 0
    for (let second = now_s - entered + 1; second <= now_s; second++) {
      const at = base + (second % COUNTS)
      expired += counts[at] as number
      counts[at] = 0
    }
    return expired
  },

  /**
   * After how many seconds at least `needed` have gone. Counts go as their second is over, oldest first; whoever waits
   * whole seconds arrives as late within a second as they left, so whole seconds are exact and need no rounding.
   */
  wait(counts: Uint32Array, base: number, now_s: number, needed: number): number {
    let gone = 0
    for (let waited_s = 1; waited_s <= COUNTS; waited_s++) {
      gone += counts[base + ((now_s + waited_s) % COUNTS)] as number
      if (gone >= needed) return waited_s
    }
    return COUNTS
  },
}
