// A clock that stands still until a test moves it.
import { rfc3339 } from '../../src/core/clock.ts'

export const NOON = Date.UTC(2026, 10, 15, 12)

export type HeldClock = ReturnType<typeof heldClock>

export function heldClock(start_ms = NOON) {
  let time_ms = start_ms
  return {
    now: () => time_ms,
    advance(ms: number) {
      time_ms += ms
    },
    rfc3339: () => rfc3339(time_ms),
  }
}
