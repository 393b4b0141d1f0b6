// What a process knows of its own heartbeats, and whether it may take others for dead by theirs (R22, R43). Where the
// store was away, nobody could say that they live: then all have a minute again. Pure.
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/clock.ts'

/** A process that has not said that it lives for this long is dead, and its holds go back. */
export const DEAD_AFTER_MS = MINUTE_MS
const MISSED_AFTER_MS = 20 * SECOND_MS // four beats
/** Whatever was the matter: no generation lasts for half of it. So a start after a long stop returns holds at once. */
const SURELY_DEAD_AFTER_MS = HOUR_MS

export type OwnBeats = ReturnType<typeof ownBeats>

export function ownBeats() {
  let last: number | undefined
  /** Until then it could not be known whether others tried in vain: it began, or its own beats had failed. */
  let away_until = 0
  /** Whoever never beats, such as a command, judges by what it finds. */
  const mayJudge = (now: number) =>
    last === undefined || (now - last <= MISSED_AFTER_MS && now - away_until >= DEAD_AFTER_MS)

  return {
    note(now: number): void {
      if (last === undefined || now - last > MISSED_AFTER_MS) away_until = now
      last = now
    },

    /** Whose last beat is no later than this is dead. */
    deadSince: (now: number): number => now - (mayJudge(now) ? DEAD_AFTER_MS : SURELY_DEAD_AFTER_MS),
  }
}
