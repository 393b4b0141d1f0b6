// §2.1 last_used_at: noted in memory on each request, written in bulk off the hot path, and laid over what is read
// meanwhile, so that the next read already shows it.
import { type Clock, rfc3339 } from '../core/clock.ts'
import type { ApiKey } from './key.ts'

const FLUSH_MAX = 16 // keys written in one go: until that is committed, nobody else can move their money

/** What a flush needs of the store. */
export interface UseRecorder {
  recordUses(uses: readonly { key_id: string; at: string }[]): Promise<void>
}

export type KeyUse = ReturnType<typeof keyUse>

export function keyUse(recorder: UseRecorder, clock: Clock) {
  const pending = new Map<string, number>()

  return {
    note(key_id: string): void {
      pending.set(key_id, clock.now())
    },

    withLatest(key: ApiKey): ApiKey {
      const time_ms = pending.get(key.id)
      return time_ms === undefined ? key : { ...key, last_used_at: rfc3339(time_ms) }
    },

    /** What is written is forgotten only then, and only if the key was not used again meanwhile. */
    async flush(): Promise<void> {
      // In one order everywhere: two replicas that write the same keys at once must not wait for each other.
      const taken = [...pending].sort(([a], [b]) => (a < b ? -1 : 1))
      for (let start = 0; start < taken.length; start += FLUSH_MAX) {
        const part = taken.slice(start, start + FLUSH_MAX)
        await recorder.recordUses(part.map(([key_id, time_ms]) => ({ key_id, at: rfc3339(time_ms) })))
        for (const [key_id, time_ms] of part) if (pending.get(key_id) === time_ms) pending.delete(key_id)
      }
    },
  }
}
