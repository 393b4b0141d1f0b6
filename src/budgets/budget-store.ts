// Holds at rest (R43). Each decision is a conditional update of the row that carries the limit: no number of callers at
// once can pass it. The project's row is always taken before the key's, so that two of them never wait for each other.
import { MINUTE_MS } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import { type Hold, type HoldOutcome, type Scope, type Settlement, settlementOf } from './budget.ts'

/** A process that has not said that it lives for this long is dead, and its holds go back. */
const DEAD_AFTER_MS = MINUTE_MS

class DoesNotFit extends Error {
  readonly limit: Scope

  constructor(limit: Scope) {
    super(limit)
    this.limit = limit
  }
}

export interface Spender {
  key_id: string
  project_id: string
}

export type BudgetStore = ReturnType<typeof budgetStore>

export function budgetStore(db: Db, process: string) {
  return {
    async hold({ key_id, project_id }: Spender, micros: number, now: number): Promise<HoldOutcome> {
      const hold: Hold = { id: newId('hld'), key_id, project_id, micros }
      try {
        await db.transaction(async (tx) => {
          await raiseHeld(tx, hold)
          await tx.rows(sql`
            INSERT INTO budget_hold (id, key_id, project_id, micros, process, created_at)
            VALUES (${hold.id}, ${key_id}, ${project_id}, ${micros}, ${process}, ${now})`)
        })
        return { kind: 'held', hold }
      } catch (error) {
        if (!(error instanceof DoesNotFit)) throw error
        return { kind: 'refused', limit: error.limit, available_micros: await available(db, { key_id, project_id }) }
      }
    },

    /** Turns a hold into a charge, in the caller's transaction. Without a hold there was no limit to keep. */
    async settle(spender: Spender, hold: Hold | undefined, cost_micros: number): Promise<Settlement> {
      const held_micros = hold && (await takeHold(db, hold.id))
      const settlement = settlementOf(cost_micros, hold && (held_micros ?? 0))
      await moveMoney(db, spender, { held: -(held_micros ?? 0), spent: settlement.charged_micros })
      return settlement
    },

    /** Gives a hold back. A second time changes nothing. */
    async release(hold: Hold): Promise<void> {
      await db.transaction(async (tx) => {
        const micros = await takeHold(tx, hold.id)
        if (micros !== undefined) await moveMoney(tx, hold, { held: -micros, spent: 0 })
      })
    },

    async beat(now: number): Promise<void> {
      await db.rows(sql`
        INSERT INTO live_process (id, beat_at) VALUES (${process}, ${now})
        ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at`)
    },

    /** Only where this process is known to be the only one: whoever else is on record died without a word. */
    async forgetOtherProcesses(): Promise<void> {
      await db.rows(sql`DELETE FROM live_process WHERE id <> ${process}`)
    },

    async leave(): Promise<void> {
      await db.rows(sql`DELETE FROM live_process WHERE id = ${process}`)
    },

    /** Returns the holds of the dead; how many there were. */
    async returnOrphans(now: number): Promise<number> {
      await db.rows(sql`DELETE FROM live_process WHERE beat_at <= ${now - DEAD_AFTER_MS}`)
      const orphans = await db.rows<Hold>(sql`
        SELECT id, key_id, project_id, micros FROM budget_hold
        WHERE process <> ${process} AND process NOT IN (SELECT id FROM live_process) LIMIT 1000`)
      for (const orphan of orphans) await this.release(orphan)
      return orphans.length
    },
  }
}

async function raiseHeld(tx: Db, { key_id, project_id, micros }: Hold): Promise<void> {
  const project = await tx.rows(sql`
    UPDATE project SET held_micros = held_micros + ${micros}
    WHERE id = ${project_id} AND (cap_micros IS NULL OR spent_micros + held_micros + ${micros} <= cap_micros)
    RETURNING id`)
  if (project.length === 0) throw new DoesNotFit('project')
  const key = await tx.rows(sql`
    UPDATE api_key SET held_micros = held_micros + ${micros}
    WHERE id = ${key_id} AND (budget_micros IS NULL OR spent_micros + held_micros + ${micros} <= budget_micros)
    RETURNING id`)
  if (key.length === 0 && (await isKey(tx, key_id))) throw new DoesNotFit('key')
}

/** Somebody who signed in spends without a key: then only the project's limit counts. */
async function isKey(tx: Db, id: string): Promise<boolean> {
  return (await tx.rows(sql`SELECT id FROM api_key WHERE id = ${id}`)).length > 0
}

async function takeHold(tx: Db, id: string): Promise<number | undefined> {
  const [taken] = await tx.rows<{ micros: number }>(sql`DELETE FROM budget_hold WHERE id = ${id} RETURNING micros`)
  return taken?.micros
}

async function moveMoney(tx: Db, { key_id, project_id }: Spender, by: { held: number; spent: number }): Promise<void> {
  await tx.rows(sql`
    UPDATE project SET held_micros = held_micros + ${by.held}, spent_micros = spent_micros + ${by.spent}
    WHERE id = ${project_id}`)
  await tx.rows(sql`
    UPDATE api_key SET held_micros = held_micros + ${by.held}, spent_micros = spent_micros + ${by.spent}
    WHERE id = ${key_id}`)
}

/** What both limits together still leave; a very large number where there is none. */
async function available(db: Db, { key_id, project_id }: Spender): Promise<number> {
  const [left] = await db.rows<{ by_key: number | null; by_project: number | null }>(sql`
    SELECT k.budget_micros - k.spent_micros - k.held_micros AS by_key,
           p.cap_micros - p.spent_micros - p.held_micros AS by_project
    FROM project p LEFT JOIN api_key k ON k.project_id = p.id AND k.id = ${key_id}
    WHERE p.id = ${project_id}`)
  const limits = [left?.by_key, left?.by_project].filter((micros) => typeof micros === 'number')
  return Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, ...limits))
}
