// Whether this machine is so slow, by itself or by its neighbours, that a run should do less: the whole of `npm test` is to
// end within the time that a runner gives it. What is done many times over is done less often, each page of the console is
// looked at once instead of twice, and servers with planted bugs, and what a compiler sees for the first time, are left to
// machines that have the time.

const LOOPS = 40_000_000
const SLOW_MS = 220 // a core of its own at 2.5 GHz takes 150
const VERY_SLOW_MS = 250
const LOOKS = 3

export type Speed = 'usual' | 'slow' | 'very slow'

/**
 * The best of a few looks: what else runs should not count. In one function that is called once: V8 compiles a loop that
 * it has met before to something three times as fast, whatever the machine.
 */
export function machineSpeed(now_ms: () => number = () => performance.now(), loops = LOOPS): Speed {
  let best_ms = Number.POSITIVE_INFINITY
  for (let look = 0; look < LOOKS; look++) {
    const from_ms = now_ms()
    let sum = 0
    for (let n = 0; n < loops; n++) sum = (sum * 31 + n) | 0
    best_ms = Math.min(best_ms, now_ms() - from_ms + (sum & 0)) // used, lest it is left out
  }
  if (best_ms > VERY_SLOW_MS) return 'very slow'
  return best_ms > SLOW_MS ? 'slow' : 'usual'
}

/** Sizes that each suite takes from here, where nobody said another. */
export const SMALLER: Readonly<Record<string, string>> = {
  CONSOLE_LOOKS: '1',
  HOUSE_PAGES_EVERY: '3',
  TEST_FIRST_BUILDS: 'no', // see terraform.ts
  TEST_PLANTED: 'no',
  TEST_SHARE: '0.3', // see sizes.ts
}

/** What a run leaves out beside that; see suite-needs.ts. */
export const FEWER: Readonly<Record<string, string>> = { ...SMALLER, TEST_SUITES: 'fewer' }
