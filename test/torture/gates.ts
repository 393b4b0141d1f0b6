// What the torture runs of a test run share: one seed, and the whole table where a run is not clean.
import { expect } from 'vitest'
import { newSeed } from './randomness.ts'
import { isClean, type Report, table } from './report.ts'

export const seed = newSeed()

/** Shows the whole table where it is not a pass, with the seed that repeats it. */
export const expectClean = (report: Report) => expect(isClean(report), table(report)).toBe(true)
