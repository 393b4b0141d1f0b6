// Measuring on a machine whose host has other guests: how much of it they were given meanwhile, and another try where
// that was too much. Pure but for the reading of Linux's counters.
import { availableParallelism } from 'node:os'
import { stolenMs } from '../test/torture/machine-figures.ts'

const TRIES_MAX = 5

export interface Tried<T> {
  value: T
  /** The share of all processors' time that the host gave to others. */
  stolen: number
}

export interface Undisturbed<T> extends Tried<T> {
  /** What came out before, while the host was busier than it may be. */
  set_aside: Tried<T>[]
}

/** The first try that the host left alone, or else the one that it disturbed least. */
export async function undisturbed<T>(most: number, work: () => Promise<T>): Promise<Undisturbed<T>> {
  const tries: Tried<T>[] = []
  for (let n = 0; n < TRIES_MAX; n++) {
    const one = await watched(work)
    tries.push(one)
    if (one.stolen <= most) break
  }
  return leastStolen(tries)
}

export function leastStolen<T>(tries: readonly Tried<T>[]): Undisturbed<T> {
  const best = tries.reduce((least, one) => (one.stolen < least.stolen ? one : least))
  return { ...best, set_aside: tries.filter((one) => one !== best) }
}

export async function watched<T>(work: () => Promise<T>): Promise<Tried<T>> {
  const [stolen, from] = [stolenMs(), performance.now()]
  const value = await work()
  const all_ms = (performance.now() - from) * availableParallelism()
  return { value, stolen: (stolenMs() - stolen) / Math.max(1, all_ms) }
}
