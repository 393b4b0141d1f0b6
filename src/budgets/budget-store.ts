// Holds at rest (R43). Each decision is a conditional update of the row that carries the limit: no number of callers at
// once can pass it.
import { MINUTE_MS } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import { type Hold, type HoldOutcome, type Settlement, settlementOf } from './budget.ts'
import { type Period, windowEnd } from './budget-window.ts'
import { carveStore, holdOfChild, releaseOfChild, settleOfChild } from './carve-store.ts'
import { DoesNotFit, lowerHeld, Moves, moveKey, moveProject, raiseKey, raiseProject } from './ledger-store.ts'

/** A process that has not said that it lives for this long is dead, and its holds go back. */
const DEAD_AFTER_MS = MINUTE_MS

export interface Spender {
  key_id: string
  project_id: string
  /** R64: of a child key. */
  parent_id?: string | undefined
}

export interface Owing {
  spender: Spender
  hold: Hold | undefined
  cost_micros: number
}

export type BudgetStore = ReturnType<typeof budgetStore>

export function budgetStore(db: Db, process: string) {
  /** Undefined where it fits, and then it is held. */
  async function tryHold(hold: Hold, now: number): Promise<DoesNotFit | undefined> {
    try {
      await db.transaction(async (tx) => {
        if (hold.parent_id !== undefined) await holdOfChild(tx, hold, now)
        else {
          await raiseProject(tx, hold.project_id, hold.micros)
          await raiseKey(tx, hold.key_id, hold.micros, now)
        }
        await tx.rows(sql`
          INSERT INTO budget_hold (id, key_id, project_id, micros, process, created_at)
          VALUES (${hold.id}, ${hold.key_id}, ${hold.project_id}, ${hold.micros}, ${process}, ${now})`)
      })
      return undefined
    } catch (error) {
      if (error instanceof DoesNotFit) return error
      throw error
    }
  }

  return {
    async hold(spender: Spender, micros: number, now: number): Promise<HoldOutcome> {
      const { key_id, project_id, parent_id } = spender
      const hold: Hold = { id: newId('hld'), key_id, project_id, parent_id, micros }
      for (let swept = false; ; swept = true) {
        const refused = await tryHold(hold, now)
        if (!refused) return { kind: 'held', hold }
        const left = await leftFor(db, spender, now)
        if (left.ended) return { kind: 'ended' }
        if (left.due === 0 || swept) return refusal(refused, left, now)
        // R64: what an expired child did not spend is there from that moment on, whether or not anybody has swept.
        await carveStore(db).returnDue(now, project_id)
      }
    },

    /** Turns a hold into a charge, in the caller's transaction. Without a hold there was no limit to keep. */
    async settle(spender: Spender, hold: Hold | undefined, cost_micros: number, now: number): Promise<Settlement> {
      const held_micros = hold && (await takeHold(db, hold.id))
      const settlement = settlementOf(cost_micros, hold && (held_micros ?? 0))
      const { key_id, project_id, parent_id } = spender
      const [held, spent] = [held_micros ?? 0, settlement.charged_micros]
      if (parent_id !== undefined) await settleOfChild(db, { key_id, project_id, parent_id }, { held, spent }, now)
      else {
        await moveProject(db, project_id, { held: -held, spent })
        await moveKey(db, key_id, { held: -held, spent }, now)
      }
      return settlement
    },

    /** The same for several at once, in the order in which they are given. Each row that carries money moves once. */
    async settleAll(charges: readonly Owing[], now: number): Promise<Settlement[]> {
      const settlements: Settlement[] = []
      const moves = new Moves()
      for (const { spender, hold, cost_micros } of charges) {
        if (spender.parent_id !== undefined) {
          settlements.push(await this.settle(spender, hold, cost_micros, now))
          continue
        }
        const held_micros = hold && (await takeHold(db, hold.id))
        const settlement = settlementOf(cost_micros, hold && (held_micros ?? 0))
        moves.add(spender, { held: -(held_micros ?? 0), spent: settlement.charged_micros })
        settlements.push(settlement)
      }
      await moves.write(db, now)
      return settlements
    },

    /** Gives a hold back. A second time changes nothing. */
    async release({ id, key_id, project_id, parent_id }: Hold): Promise<void> {
      await db.transaction(async (tx) => {
        const micros = await takeHold(tx, id)
        if (micros === undefined) return
        if (parent_id != null) return releaseOfChild(tx, { key_id, project_id, parent_id }, micros)
        await moveProject(tx, project_id, { held: -micros, spent: 0 })
        await lowerHeld(tx, key_id, micros)
      })
    },

    async beat(now: number): Promise<void> {
      await db.rows(sql`
        INSERT INTO live_process (id, beat_at) VALUES (${process}, ${now})
        ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at`)
    },

    /** The processes that are not known to be dead. */
    async living(now: number): Promise<string[]> {
      const living = await db.rows<{ id: string }>(sql`
        SELECT id FROM live_process WHERE beat_at > ${now - DEAD_AFTER_MS} ORDER BY id`)
      return living.map(({ id }) => id)
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
        SELECT h.id, h.key_id, h.project_id, h.micros, k.parent_id
        FROM budget_hold h LEFT JOIN api_key k ON k.id = h.key_id
        WHERE h.process <> ${process} AND h.process NOT IN (SELECT id FROM live_process) LIMIT 1000`)
      for (const orphan of orphans) await this.release(orphan)
      return orphans.length
    },
  }
}

async function takeHold(tx: Db, id: string): Promise<number | undefined> {
  const [taken] = await tx.rows<{ micros: number }>(sql`DELETE FROM budget_hold WHERE id = ${id} RETURNING micros`)
  return taken?.micros
}

interface Left {
  /** What all limits together still leave; a very large number where there is none. */
  micros: number
  period: Period | null
  /** How many children of the project have expired and not given back yet. */
  due: number
  ended: boolean
}

async function leftFor(db: Db, { key_id, project_id, parent_id }: Spender, now: number): Promise<Left> {
  const [left] = await db.rows<Record<'by_key' | 'by_window' | 'by_project', number | null> & LeftRow>(sql`
    SELECT k.budget_micros - k.spent_micros - k.held_micros AS by_key,
           k.window_limit_micros - k.held_micros -
             CASE WHEN k.window_ends_at > ${now} THEN k.window_spent_micros ELSE 0 END AS by_window,
           p.cap_micros - p.spent_micros - p.held_micros AS by_project,
           k.window_period AS period, k.expires_at, k.returned_at,
           (SELECT COUNT(*) FROM api_key c WHERE c.project_id = p.id AND c.parent_id IS NOT NULL
              AND c.returned_at IS NULL AND c.expires_at <= ${now}) AS due
    FROM project p LEFT JOIN api_key k ON k.project_id = p.id AND k.id = ${key_id}
    WHERE p.id = ${project_id}`)
  const isChild = parent_id !== undefined // what the project holds for it is its own
  const limits = [left?.by_key, left?.by_window, isChild ? null : left?.by_project]
  const micros = Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, ...limits.filter((one) => typeof one === 'number')))
  const ended = isChild && (left?.returned_at != null || (left?.expires_at ?? now) <= now)
  return { micros, period: left?.period ?? null, due: left?.due ?? 0, ended }
}

interface LeftRow {
  period: Period | null
  expires_at: number | null
  returned_at: number | null
  due: number
}

function refusal({ limit }: DoesNotFit, { micros, period }: Left, now: number): HoldOutcome {
  const resets = limit === 'window' && period !== null && { resets_at: windowEnd(period, now) }
  return { kind: 'refused', limit, available_micros: micros, ...resets }
}
