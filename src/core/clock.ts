// Time enters the service here and nowhere else, so a test can hold it still.
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

export const SECOND_MS = 1_000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** UTC with milliseconds, always 24 characters: two such texts compare as the instants they name. */
export function rfc3339(time_ms: number): string {
  return new Date(time_ms).toISOString()
}
