// R43: what holds take from the budgets of tags, beside their key's and their project's. Each rise is a conditional
// update of the row that carries the limit; what a hold took is on record until it is settled or given back, once.
import { type Db, sql } from '../storage/db.ts'
import { DoesNotFit } from './ledger-store.ts'

interface TagHold {
  budget_id: string
  micros: number
}

/**
 * In the order of their ids, after the project's row: so no two transactions wait for each other. A limit of 0 blocks
 * free calls too.
 */
export async function raiseTags(tx: Db, { id, project_id, micros, tag_budgets = [] }: TaggedHold): Promise<void> {
  for (const budget_id of tag_budgets) {
    const raised = await tx.rows(sql`
      UPDATE tag_budget SET held_micros = held_micros + ${micros}
      WHERE project_id = ${project_id} AND id = ${budget_id}
        AND limit_micros > 0 AND spent_micros + held_micros + ${micros} <= limit_micros
      RETURNING id`)
    if (raised.length === 0 && (await isThere(tx, project_id, budget_id))) throw new DoesNotFit('tag')
    if (raised.length > 0)
      await tx.rows(sql`
        INSERT INTO tag_hold (hold_id, budget_id, project_id, micros)
        VALUES (${id}, ${budget_id}, ${project_id}, ${micros})`)
  }
}

export interface TaggedHold {
  id: string
  project_id: string
  micros: number
  tag_budgets?: readonly string[] | undefined
}

/** One that was deleted since the call came in limits nothing. */
async function isThere(tx: Db, project_id: string, id: string): Promise<boolean> {
  return (await tx.rows(sql`SELECT id FROM tag_budget WHERE project_id = ${project_id} AND id = ${id}`)).length > 0
}

/** The hold is over: what it took goes back, and what was charged is spent. A second time changes nothing. */
export async function settleTags(tx: Db, project_id: string, hold_id: string, charged_micros: number): Promise<void> {
  const taken = await tx.rows<TagHold>(sql`
    DELETE FROM tag_hold WHERE project_id = ${project_id} AND hold_id = ${hold_id} RETURNING budget_id, micros`)
  taken.sort((a, b) => (a.budget_id < b.budget_id ? -1 : 1))
  for (const { budget_id, micros } of taken)
    await tx.rows(sql`
      UPDATE tag_budget SET held_micros = held_micros - ${micros}, spent_micros = spent_micros + ${charged_micros}
      WHERE project_id = ${project_id} AND id = ${budget_id}`)
}

/** What the tightest of these leaves; undefined where there is none. */
export async function leftByTags(db: Db, project_id: string, ids: readonly string[]): Promise<number | undefined> {
  let least: number | undefined
  for (const id of ids) {
    const [row] = await db.rows<{ left_micros: number }>(sql`
      SELECT limit_micros - spent_micros - held_micros AS left_micros FROM tag_budget
      WHERE project_id = ${project_id} AND id = ${id}`)
    if (row) least = Math.min(row.left_micros, least ?? row.left_micros)
  }
  return least
}
