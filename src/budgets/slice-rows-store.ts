// The rows of slices (slice.ts, R43). A slice's row is always taken before the project's and the key's, as settling
// does too: so no two transactions wait for each other.
import { type Db, sql, type Tx, together } from '../storage/db.ts'
import type { Limit } from './budget.ts'
import { carveStore } from './carve-store.ts'
import { DoesNotFit, lowerHeld, moveProject, noteHeld, raiseKey, raiseProject } from './ledger-store.ts'
import { type Left, leftFor } from './left-store.ts'
import type { Slice } from './slice.ts'

export type Raised =
  | { kind: 'raised'; micros: number; left_micros: number }
  | { kind: 'refused'; limit: Limit; left: Left }
  /** R22: this process was thought dead, and what it held was returned. */
  | { kind: 'gone' }

class Gone extends Error {}

async function raiseRow(tx: Db, id: string, micros: number): Promise<void> {
  const raised = await tx.rows(sql`UPDATE budget_hold SET micros = micros + ${micros} WHERE id = ${id} RETURNING id`)
  if (raised.length === 0) throw new Gone()
}

export function sliceRows(db: Db, process: string) {
  async function raise(slice: Slice, micros: number, now: number): Promise<Raised> {
    const { id, key_id, project_id, has_row } = slice
    const write = async (tx: Tx) => {
      const row = has_row ? raiseRow(tx, id, micros) : noteHeld(tx, { id, key_id, project_id, micros }, process, now)
      const [, by_project, { by_key, by_window }] = await together([
        row,
        raiseProject(tx, project_id, micros),
        raiseKey(tx, key_id, micros, now),
      ])
      const limits = [by_project, by_key, by_window].filter((one) => one !== null)
      return Math.min(Number.MAX_SAFE_INTEGER, ...limits)
    }
    // For this process: a power cut, which ends it, gives it back as well.
    return { kind: 'raised', micros, left_micros: await db.transaction(write, { lasting: 'committed' }) }
  }

  return {
    /** By what is needed and, where that fits too, by the chunk. Less than nothing is needed where much is free. */
    async extend(slice: Slice, need: { micros: number; chunk: number }, now: number): Promise<Raised> {
      const { key_id, project_id } = slice
      const amounts = need.chunk > 0 ? [need.micros + need.chunk, need.micros] : [need.micros]
      for (let swept = false; ; swept = true) {
        let limit: Limit | undefined
        for (const amount of amounts) {
          try {
            return await raise(slice, amount, now)
          } catch (error) {
            if (error instanceof Gone) return { kind: 'gone' }
            if (!(error instanceof DoesNotFit)) throw error
            limit = error.limit
          }
        }
        const left = await leftFor(db, { key_id, project_id }, now)
        if (limit && (left.due === 0 || swept)) return { kind: 'refused', limit, left }
        // R64: what an expired child did not spend is there from that moment on, whether or not anybody has swept.
        await carveStore(db).returnDue(now, project_id)
      }
    },

    /** Gives a part back, while calls go on drawing on the rest; false where the row does not have it. */
    async lower({ id, key_id, project_id }: Slice, micros: number): Promise<boolean> {
      return db.transaction(async (tx) => {
        const lowered = await tx.rows(sql`
          UPDATE budget_hold SET micros = micros - ${micros} WHERE id = ${id} AND micros >= ${micros} RETURNING id`)
        if (lowered.length === 0) return false
        await moveProject(tx, project_id, { held: -micros, spent: 0 })
        await lowerHeld(tx, key_id, micros)
        return true
      })
    },
  }
}
