// Whether this machine is so slow, by itself or by its neighbours, that a run should do less: the whole of `npm test` is to
// end within the time that a runner gives it. What is done many times over is done less often, each page of the console is
// looked at once instead of twice, and servers with planted bugs are left to machines that have the time.

const LOOPS = 40_000_000
const SLOW_MS = 220 // a core of its own at 2.5 GHz takes 150
const LOOKS = 3

/** The best of a few looks: what else runs should not count. */
export function isSlowMachine(timeOfLook: () => number = timeOfLoops): boolean {
  return Math.min(...Array.from({ length: LOOKS }, timeOfLook)) > SLOW_MS
}

function timeOfLoops(): number {
  const from_ms = performance.now()
  let sum = 0
  for (let n = 0; n < LOOPS; n++) sum = (sum * 31 + n) | 0
  return performance.now() - from_ms + (sum & 0) // used, lest it is left out
}

/** Sizes that each suite takes from here, where nobody said another. */
export const SMALLER: Readonly<Record<string, string>> = {
  FLOOD_REQUESTS: '2000',
  FUZZ_ANSWERS: '10000',
  FUZZ_INPUTS: '3000',
  FUZZ_OVER_SOCKETS: '200',
  PURGE_THINGS: '6000',
  ARTIFACT_RACE: '80',
  CONSOLE_LOOKS: '1',
  SIM_RUNS: '20',
  TEST_PLANTED: 'no',
}
