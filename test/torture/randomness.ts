// Chance that can be repeated: everything a run chooses comes from one printed seed.
import { randomInt } from 'node:crypto'

export const newSeed = () => randomInt(1, 2 ** 31)

export type Chance = ReturnType<typeof chance>

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~'

export function chance(seed: number) {
  let state = seed >>> 0

  /** Mulberry32: small, even, and good enough to pick moments with. */
  function fraction(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  return {
    between: (low: number, high: number) => low + fraction() * (high - low),
    /** A whole number from 0 to below the bound. */
    below: (bound: number) => Math.floor(fraction() * bound),
    oneIn: (n: number) => fraction() < 1 / n,
    /** Characters that no log format escapes. */
    text: (length: number) => Array.from({ length }, () => LETTERS[Math.floor(fraction() * LETTERS.length)]).join(''),
  }
}
