// Holds at rest (R43). Each decision is a conditional update of the row that carries the limit: no number of callers at
// once can pass it.
import { newId } from '../core/ids.ts'
import { CommitUnknown, type Db, sql, type Tx, together } from '../storage/db.ts'
import { type Hold, type HoldOutcome, overageOf, type RowFate, type Settlement, settlementOf } from './budget.ts'
import { carveStore, holdOfChild, releaseOfChild, settleOfChild } from './carve-store.ts'
import {
  awaitNoted,
  DoesNotFit,
  lowerHeld,
  Moves,
  moveProject,
  noteHeld,
  raiseKey,
  raiseProject,
  type Spent,
} from './ledger-store.ts'
import { leftFor, refusal, type Spender } from './left-store.ts'
import { DEAD_AFTER_MS, type OwnBeats, ownBeats } from './own-beats.ts'
import { raiseTags, settleTags } from './tag-ledger-store.ts'
import { tellCrossings } from './threshold-store.ts'

export type { Spender } from './left-store.ts'

export interface Owing {
  spender: Spender
  hold: Hold | undefined
  cost_micros: number
  /** Without it the row is this call's alone, and ends with it. */
  row?: RowFate
}

export type BudgetStore = ReturnType<typeof budgetStore>

/** `beats`: of this process, where several of these stand for it. */
export function budgetStore(db: Db, process: string, beats: OwnBeats = ownBeats()) {
  /** Nobody has these, and their rows may be there all the same. */
  const abandoned = new Set<Hold>()

  /** Undefined where it fits, and then it is held: for this process, so it need not outlive a power cut. */
  async function tryHold(hold: Hold, now: number): Promise<DoesNotFit | undefined> {
    const write = async (tx: Tx) => {
      const raises =
        hold.parent_id === undefined
          ? [raiseProject(tx, hold.project_id, hold.micros), raiseKey(tx, hold.key_id, hold.micros, now)]
          : [holdOfChild(tx, hold, now)]
      const tagged = hold.tag_budgets === undefined ? [] : [raiseTags(tx, hold)]
      await together([...raises, ...tagged, noteHeld(tx, hold, process, now)])
    }
    try {
      await db.transaction(write, { lasting: 'committed' })
      return undefined
    } catch (error) {
      if (error instanceof DoesNotFit) return error
      if (error instanceof CommitUnknown) abandoned.add(hold) // T-104
      throw error
    }
  }

  return {
    async hold(spender: Spender, micros: number, now: number): Promise<HoldOutcome> {
      const { key_id, project_id, parent_id, tag_budgets } = spender
      const hold: Hold = { id: newId('hld'), key_id, project_id, parent_id, micros, tag_budgets }
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
      const [settlement] = await this.settleAll([{ spender, hold, cost_micros }], now)
      return settlement as Settlement
    },

    /**
     * The same for several at once, told in the order in which they are given. Each row moves once. What is written
     * `beside` needs nothing but the settlements, and shares the round trip of the rows that carry the money. It must
     * not throw: its promises may reject.
     */
    async settleAll(
      owings: readonly Owing[],
      now: number,
      beside: (settlements: readonly Settlement[]) => Promise<unknown>[] = () => [],
    ): Promise<Settlement[]> {
      const settlements: Settlement[] = []
      const moves = new Moves()
      for (const [id, row] of byRow(owings)) {
        let left = await takeFor(db, id, row)
        moves.add((row.charges[0] as RowCharges['charges'][number]).owing.spender, { held: -left, spent: 0 })
        for (const { at, hold, owing } of row.charges) {
          const settlement = settlementOf(owing.cost_micros, Math.min(hold.micros, left))
          settlements[at] = settlement
          left -= settlement.charged_micros
          moves.add(owing.spender, { held: 0, spent: settlement.charged_micros })
        }
      }
      for (const [at, { spender, hold, cost_micros }] of owings.entries()) {
        const { key_id, project_id, parent_id } = spender
        if (parent_id !== undefined) {
          const held = hold && ((await takeHold(db, hold.id)) ?? 0)
          const settlement = settlementOf(cost_micros, held)
          const moved = { held: held ?? 0, spent: settlement.charged_micros }
          const { project, crossings } = await settleOfChild(db, { key_id, project_id, parent_id }, moved, now)
          moves.crossings.push(...crossings)
          settlements[at] = spender.counts_overage ? withOverage(settlement, project) : settlement
        } else if (!hold) {
          settlements[at] = settlementOf(cost_micros, undefined)
          moves.add(spender, { held: 0, spent: cost_micros })
        }
      }
      // R72: what each charge is above the cap is known once the project's row has moved.
      if (owings.some(isCounted)) countOverage(owings, settlements, await moves.chargeProjects(db))
      await together([...moves.writes(db, now), ...beside(settlements)])
      for (const [at, { hold, spender }] of owings.entries())
        if (hold?.tag_budgets)
          await settleTags(db, spender.project_id, hold.id, (settlements[at] as Settlement).charged_micros)
      if (moves.crossings.length > 0) await tellCrossings(db, moves.crossings, now)
      return settlements
    },

    /** Gives a hold back, if need be once it is known whether there is one. A second time changes nothing. */
    async release(hold: Hold, has_row: boolean | 'unknown' = true): Promise<void> {
      const { id, key_id, project_id, parent_id, tag_budgets } = hold
      await db.transaction(async (tx) => {
        if (has_row === 'unknown') await awaitNoted(tx, hold, process)
        const micros = await takeHold(tx, id)
        if (micros === undefined) return
        if (parent_id != null) await releaseOfChild(tx, { key_id, project_id, parent_id }, micros)
        else await together([moveProject(tx, project_id, { held: -micros, spent: 0 }), lowerHeld(tx, key_id, micros)])
        if (tag_budgets) await settleTags(tx, project_id, id, 0) // last, as whoever holds takes them
      })
    },

    /** For a hold that nobody was told of: it is given back with the others of its kind. */
    abandon(hold: Hold): void {
      abandoned.add(hold)
    },

    /** Those that cannot be given back now are the next time. */
    async releaseAbandoned(): Promise<void> {
      for (const hold of abandoned) {
        await this.release(hold, 'unknown')
        abandoned.delete(hold)
      }
    },

    async beat(now: number): Promise<void> {
      await db.rows(sql`
        INSERT INTO live_process (id, beat_at) VALUES (${process}, ${now})
        ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at`)
      beats.note(now)
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
      await db.rows(sql`DELETE FROM live_process WHERE beat_at <= ${beats.deadSince(now)}`)
      const orphans = await db.rows<Hold & { is_tagged: number }>(sql`
        SELECT h.id, h.key_id, h.project_id, h.micros, k.parent_id,
               CASE WHEN EXISTS (SELECT 1 FROM tag_hold t WHERE t.hold_id = h.id) THEN 1 ELSE 0 END AS is_tagged
        FROM budget_hold h LEFT JOIN api_key k ON k.id = h.key_id
        WHERE h.process <> ${process} AND h.process NOT IN (SELECT id FROM live_process) LIMIT 1000`)
      for (const { is_tagged, ...orphan } of orphans)
        await this.release(is_tagged === 1 ? { tag_budgets: [], ...orphan } : orphan)
      return orphans.length
    },
  }
}

/** A child's charge moves the project's row by itself. */
const isCounted = ({ spender }: Owing) => spender.counts_overage === true && spender.parent_id === undefined

type Capped = Pick<Spent, 'spent_micros' | 'cap_micros'>

const withOverage = (settlement: Settlement, { spent_micros, cap_micros }: Capped): Settlement => ({
  charged_micros: settlement.charged_micros,
  written_off_micros: settlement.written_off_micros,
  overage_micros: overageOf(settlement.charged_micros, spent_micros, cap_micros),
})

/** One charge after the other: from what the project had spent before all of them, to what it has spent now. */
function countOverage(owings: readonly Owing[], settlements: Settlement[], spent: Map<string, Capped>): void {
  for (let at = owings.length - 1; at >= 0; at--) {
    const { spender } = owings[at] as Owing
    const project = spent.get(spender.project_id)
    const settlement = settlements[at]
    if (!project || !settlement || spender.parent_id !== undefined) continue
    if (spender.counts_overage) settlements[at] = withOverage(settlement, project)
    spent.set(spender.project_id, {
      spent_micros: project.spent_micros - settlement.charged_micros,
      cap_micros: project.cap_micros,
    })
  }
}

/** What the row held, which is gone now; undefined where it was gone already. */
async function takeHold(tx: Db, id: string): Promise<number | undefined> {
  const [taken] = await tx.rows<{ micros: number }>(sql`DELETE FROM budget_hold WHERE id = ${id} RETURNING micros`)
  return taken?.micros
}

/** Lowers a row that others still draw on. Not below 0: what is not in it cannot be charged. */
async function lowerHold(tx: Db, id: string, micros: number): Promise<boolean> {
  const lowered = await tx.rows(sql`
    UPDATE budget_hold SET micros = micros - ${micros} WHERE id = ${id} AND micros >= ${micros} RETURNING id`)
  return lowered.length > 0
}

/** All charges of one batch that go to the same row. */
interface RowCharges {
  fate: RowFate
  charges: { at: number; hold: Hold; owing: Owing }[]
}

/** In the order of their ids, and before any row that carries money: so do those that raise a row (slice-store.ts). */
function byRow(all: readonly Owing[]): [string, RowCharges][] {
  const rows = new Map<string, RowCharges>()
  for (const [at, owing] of all.entries()) {
    const { hold, row: fate = 'ends' } = owing
    if (!hold || owing.spender.parent_id !== undefined) continue
    const id = fate === 'lost' ? `lost ${at}` : hold.id
    const known = rows.get(id)
    if (known) known.charges.push({ at, hold, owing })
    else rows.set(id, { fate, charges: [{ at, hold, owing }] })
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** How much these charges may take out of their row, and what is no longer held because of them. */
async function takeFor(tx: Db, id: string, { fate, charges }: RowCharges): Promise<number> {
  if (fate === 'lost') return 0
  const wanted = charges.reduce((sum, { hold, owing }) => sum + Math.min(owing.cost_micros, hold.micros), 0)
  if (fate === 'stays' && (wanted === 0 || (await lowerHold(tx, id, wanted)))) return wanted
  return (await takeHold(tx, id)) ?? 0
}
