// Housekeeping on one replica at a time: a lease in SQL for each task. Whoever has it keeps it while it lives; a dead
// holder's lapses and is taken over. Every transaction of the work names the lease it was begun under, so that a holder
// which slept through its own replacement can change nothing any more.
import { type Clock, SECOND_MS } from '../core/clock.ts'
import { type Db, sql, type Tx, type Writing } from '../storage/db.ts'

/** A task that every replica does for itself. */
export interface Task {
  name: string
  every_ms: number
  run(): Promise<void>
}

/** A task that one replica does for all of them, through the database that it is handed. */
export interface SharedTask {
  name: string
  every_ms: number
  /** Asked first where it often has nothing to do: then no lease is taken. */
  isDue?(): Promise<boolean>
  run(db: Db): Promise<void>
}

/** Long enough that the holder is back for its next turn before anybody else may take it. */
export const leaseLength = (every_ms: number) => 2 * every_ms + 10 * SECOND_MS

export class LeaseLost extends Error {}

export type HousekeepingLeases = ReturnType<typeof housekeepingLeases>

export function housekeepingLeases(db: Db, holder: string, clock: Clock) {
  /** The fence to work under, or undefined where the task is another replica's. Never waits for who is at work. */
  async function take({ name, every_ms }: SharedTask): Promise<number | undefined> {
    const now = clock.now()
    const others = await db.rows(sql`
      SELECT task FROM housekeeping_lease WHERE task = ${name} AND holder <> ${holder} AND expires_at > ${now}`)
    if (others.length > 0) return undefined
    const [taken] = await db.rows<{ fence: number }>(sql`
      INSERT INTO housekeeping_lease (task, holder, fence, expires_at)
      VALUES (${name}, ${holder}, 1, ${now + leaseLength(every_ms)})
      ON CONFLICT (task) DO UPDATE
        SET holder = excluded.holder, expires_at = excluded.expires_at,
            fence = housekeeping_lease.fence
                  + CASE WHEN housekeeping_lease.holder = excluded.holder THEN 0 ELSE 1 END
        WHERE housekeeping_lease.holder = excluded.holder OR housekeeping_lease.expires_at <= ${now}
      RETURNING fence`)
    return taken?.fence
  }

  /** A database in which nothing commits once the lease has changed hands; whatever commits renews it. */
  function under(fence: number, { name, every_ms }: SharedTask): Db {
    const fenced = <T>(work: (tx: Tx) => Promise<T>, writing?: Writing) =>
      db.transaction(async (tx) => {
        const ours = await tx.rows(sql`
          UPDATE housekeeping_lease SET expires_at = ${clock.now() + leaseLength(every_ms)}
          WHERE task = ${name} AND holder = ${holder} AND fence = ${fence} RETURNING task`)
        if (ours.length === 0) throw new LeaseLost(`'${name}' became another replica's while it was under way`)
        return work(tx)
      }, writing)
    return { rows: (statement) => fenced((tx) => tx.rows(statement)), transaction: fenced }
  }

  return {
    /**
     * One turn. False where it is another's; true where it was ours and was done to the end. One whose lease is lost on
     * the way fails like any other: where that happens again and again the task gets nowhere, and somebody must hear.
     */
    async turn(task: SharedTask): Promise<boolean> {
      const fence = await take(task)
      if (fence === undefined) return false
      await task.run(under(fence, task))
      return true
    },

    /** Lets others take over without waiting until ours lapse. */
    async giveUp(): Promise<void> {
      await db.rows(sql`UPDATE housekeeping_lease SET expires_at = 0 WHERE holder = ${holder}`)
    },

    /** Only where this process is known to be the only one: whoever else is on record died without a word. */
    async forgetOthers(): Promise<void> {
      await db.rows(sql`UPDATE housekeeping_lease SET expires_at = 0 WHERE holder <> ${holder}`)
    },
  }
}
