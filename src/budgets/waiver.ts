// R71: how much deadlines may make free of charge. A stream that a deadline cuts short costs its project nothing, and
// the operator what the provider takes for it: so there is a bound on that, for each project and day.
export interface WaiverTerms {
  /** So much a day in any case. */
  waiver_micros: number
  /** Or this part of what the project was charged that day, where that is more. */
  waiver_pct: number
}

export const MICROS_OF_A_DAY = 1_000_000 // R71
export const PCT_OF_A_DAY = 1 // R71
