// How often a suite does what it does many times over. `npm test` sets a share on a slow machine, see machine-speed.ts.

/** All of them, or a part of them and never fewer than `least`. */
export const sized = (count: number, least = 1, share = Number(process.env.TEST_SHARE ?? 1)): number =>
  Math.max(Math.min(least, count), Math.round(count * share))
