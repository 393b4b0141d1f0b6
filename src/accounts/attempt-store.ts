// §8, R50: attempts in SQL. Where the store does not answer, the attempt is not made: this never fails open.
import { randomBase62 } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import { type Allowance, bucketOf, tooMany } from './attempts.ts'

const SWEEP_MAX = 1_000

/** An attempt that may be made. `owner` tells it from a later one in the same slot. */
export interface Slot {
  bucket: string
  slot: number
  owner: string
}

export function attemptStore(db: Db) {
  const occupied = (bucket: string, now: number) =>
    db.rows<{ slot: number; expires_at: number }>(sql`
      SELECT slot, expires_at FROM attempt_slot WHERE bucket = ${bucket} AND expires_at > ${now}`)

  /** Each slot is taken by one statement that only takes it while it is free: reading first only saves the trying. */
  async function take(allowance: Allowance, who: string, now: number): Promise<Slot | undefined> {
    const bucket = bucketOf(allowance, who)
    const taken = new Set((await occupied(bucket, now)).map(({ slot }) => slot))
    const owner = randomBase62(20)
    for (let slot = 0; slot < allowance.slots; slot++) {
      if (taken.has(slot)) continue
      const mine = await db.rows(sql`
        INSERT INTO attempt_slot (bucket, slot, owner, expires_at)
        VALUES (${bucket}, ${slot}, ${owner}, ${now + allowance.window_ms})
        ON CONFLICT (bucket, slot) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
          WHERE attempt_slot.expires_at <= ${now}
        RETURNING slot`)
      if (mine.length === 1) return { bucket, slot, owner }
    }
    return undefined
  }

  return {
    take,

    async takeOrRefuse(allowance: Allowance, who: string, now: number): Promise<Slot> {
      const slot = await take(allowance, who, now)
      if (slot) return slot
      const held = (await occupied(bucketOf(allowance, who), now)).map(({ expires_at }) => expires_at)
      throw tooMany(allowance, held.length < allowance.slots ? now : Math.min(...held), now)
    },

    /** The attempt was none that counts. What others did from the same address stays counted (T-70). */
    async giveBack({ bucket, slot, owner }: Slot): Promise<void> {
      await db.rows(sql`
        DELETE FROM attempt_slot WHERE bucket = ${bucket} AND slot = ${slot} AND owner = ${owner}`)
    },

    /** Forgets what has lapsed and is not taken again meanwhile; true while there may be more of it. */
    async sweep(now: number): Promise<boolean> {
      const gone = await db.rows(sql`
        DELETE FROM attempt_slot WHERE expires_at <= ${now} AND (bucket, slot) IN (
          SELECT bucket, slot FROM attempt_slot WHERE expires_at <= ${now} LIMIT ${SWEEP_MAX})
        RETURNING slot`)
      return gone.length === SWEEP_MAX
    },
  }
}
