// R64: a child key's budget is carved out of its parent's. From its making until it ends, parent and project hold all
// of it; a call of the child's then takes from the child's row alone. What it spends, parent and project have spent
// too; when it ends, what is neither spent nor held goes back, and what is held follows when its call is over.
import { type Db, sql } from '../storage/db.ts'
import { type Hold, quotaExceeded } from './budget.ts'
import { type Period, windowEnd } from './budget-window.ts'
import {
  chargeProject,
  DoesNotFit,
  limitInTheWay,
  lockProject,
  lowerHeld,
  type Movement,
  moveKey,
  moveProject,
  raiseProject,
  type Spent,
} from './ledger-store.ts'
import { type Crossing, crossingsOfKey, crossingsOfProject } from './threshold.ts'

const SWEEP_MAX = 1_000
const FORGOTTEN_AT_ONCE = 200

export interface Child {
  key_id: string
  project_id: string
  parent_id: string
}

export interface Parent {
  project_id: string
  key_id: string
  /** So many children may be there at once. */
  children_max: number
}

export type CarveOutcome = { kind: 'carved'; parent_expires_at: number | null } | { kind: 'ended' } | { kind: 'full' }

export function carveStore(db: Db) {
  return {
    /** In the caller's transaction, which a refusal must undo. */
    async carve({ project_id, key_id, children_max }: Parent, micros: number, now: number): Promise<CarveOutcome> {
      await this.returnDue(now, project_id)
      await raiseProject(db, project_id, micros).catch(refuse)
      const [parent] = await db.rows<{ expires_at: number | null }>(sql`
        UPDATE api_key SET held_micros = held_micros + ${micros}, open_children = open_children + 1
        WHERE project_id = ${project_id} AND id = ${key_id} AND parent_id IS NULL AND status = 'active'
          AND (expires_at IS NULL OR expires_at > ${now}) AND open_children < ${children_max}
          AND (budget_micros IS NULL OR spent_micros + held_micros + ${micros} <= budget_micros)
          AND (window_limit_micros IS NULL OR held_micros + ${micros} +
               CASE WHEN window_ends_at > ${now} THEN window_spent_micros ELSE 0 END <= window_limit_micros)
        RETURNING expires_at`)
      if (parent) return { kind: 'carved', parent_expires_at: parent.expires_at }
      const [key] = await db.rows<ParentRow>(sql`
        SELECT status, expires_at, open_children, window_period FROM api_key
        WHERE project_id = ${project_id} AND id = ${key_id}`)
      if (key?.status !== 'active' || (key.expires_at ?? now + 1) <= now) return { kind: 'ended' }
      if (key.open_children >= children_max) return { kind: 'full' }
      const limit = (await limitInTheWay(db, key_id, micros)) ?? 'key'
      throw quotaExceeded(limit, key.window_period === null ? undefined : windowEnd(key.window_period, now))
    },

    /** The same for somebody who signed in, and so has no key: only the project holds it. */
    async carveOfProject(project_id: string, micros: number, now: number): Promise<void> {
      await this.returnDue(now, project_id)
      await raiseProject(db, project_id, micros).catch(refuse)
    },

    /**
     * Revokes a key that is a parent or a child: whatever hangs on it ends in the same instant. What had ended before,
     * of which there may be many more, is left alone.
     */
    async revokeFamily(project_id: string, key_id: string, now: number): Promise<void> {
      await db.transaction(async (tx) => {
        await lockProject(tx, project_id)
        await tx.rows(sql`
          DELETE FROM saved_view WHERE project_id = ${project_id} AND owner IN (
            SELECT CAST(${key_id} AS TEXT)
            UNION ALL SELECT id FROM api_key
            WHERE project_id = ${project_id} AND parent_id = ${key_id} AND returned_at IS NULL)`)
        await tx.rows(sql`
          UPDATE api_key SET status = 'revoked', hash = NULL, previous_hash = NULL, previous_expires_at = NULL
          WHERE project_id = ${project_id} AND (id = ${key_id} OR (parent_id = ${key_id} AND returned_at IS NULL))`)
        const ended = await tx.rows<Ended>(sql`
          UPDATE api_key SET returned_at = ${now}
          WHERE project_id = ${project_id} AND (id = ${key_id} OR parent_id = ${key_id})
            AND parent_id IS NOT NULL AND returned_at IS NULL
          RETURNING parent_id, budget_micros - spent_micros - held_micros AS rest`)
        await giveBack(tx, project_id, ended)
      })
    },

    /** Ends the children that have expired, in one project or in all; how many there were. */
    async returnDue(now: number, project_id?: string): Promise<number> {
      const due = await (project_id === undefined
        ? db.rows<Due>(sql`
            SELECT id, project_id FROM api_key
            WHERE parent_id IS NOT NULL AND returned_at IS NULL AND expires_at <= ${now} LIMIT ${SWEEP_MAX}`)
        : db.rows<Due>(sql`
            SELECT id, project_id FROM api_key
            WHERE project_id = ${project_id} AND parent_id IS NOT NULL AND returned_at IS NULL
              AND expires_at <= ${now} LIMIT ${SWEEP_MAX}`))
      for (const child of due) await returnOne(db, child, now)
      return due.length
    },

    /**
     * Ended children stay in lists for a while; what they used stays for good. What one of them saved while it ended
     * goes before it does. True while there may be more.
     */
    async forgetEnded(before: number): Promise<boolean> {
      const views = await db.rows(sql`
        DELETE FROM saved_view WHERE id IN (
          SELECT v.id FROM (
            SELECT id, project_id FROM api_key
            WHERE parent_id IS NOT NULL AND returned_at < ${before} AND held_micros = 0
            ORDER BY returned_at LIMIT ${FORGOTTEN_AT_ONCE}) AS k
          JOIN saved_view v ON v.project_id = k.project_id AND v.owner = k.id LIMIT ${FORGOTTEN_AT_ONCE})
        RETURNING id`)
      if (views.length === FORGOTTEN_AT_ONCE) return true
      const gone = await db.rows(sql`
        DELETE FROM api_key WHERE id IN (
          SELECT id FROM api_key WHERE parent_id IS NOT NULL AND returned_at < ${before} AND held_micros = 0
          ORDER BY returned_at LIMIT ${FORGOTTEN_AT_ONCE})
        RETURNING id`)
      return gone.length === FORGOTTEN_AT_ONCE
    },
  }
}

interface ParentRow {
  status: string
  expires_at: number | null
  open_children: number
  window_period: Period | null
}

function refuse(error: unknown): never {
  throw error instanceof DoesNotFit ? quotaExceeded(error.limit) : error
}

interface Due {
  id: string
  project_id: string
}

interface Ended {
  parent_id: string
  rest: number
}

/** Whoever comes second finds it returned. There is no way back, so its hash goes as well, and the views it saved. */
async function returnOne(db: Db, { id, project_id }: Due, now: number): Promise<void> {
  await db.transaction(async (tx) => {
    await lockProject(tx, project_id)
    const ended = await tx.rows<Ended>(sql`
      UPDATE api_key SET returned_at = ${now}, hash = NULL, previous_hash = NULL, previous_expires_at = NULL
      WHERE id = ${id} AND returned_at IS NULL
      RETURNING parent_id, budget_micros - spent_micros - held_micros AS rest`)
    await giveBack(tx, project_id, ended)
    await tx.rows(sql`DELETE FROM saved_view WHERE project_id = ${project_id} AND owner = ${id}`)
  })
}

async function giveBack(tx: Db, project_id: string, ended: readonly Ended[]): Promise<void> {
  const [first] = ended
  if (!first) return
  const rest = ended.reduce((sum, one) => sum + one.rest, 0)
  await moveProject(tx, project_id, { held: -rest, spent: 0 })
  await tx.rows(sql`
    UPDATE api_key SET held_micros = held_micros - ${rest}, open_children = open_children - ${ended.length}
    WHERE id = ${first.parent_id}`)
}

/** A child that has ended has nothing left to hold, whoever still comes with its secret. */
export async function holdOfChild(tx: Db, { key_id, micros }: Hold, now: number): Promise<void> {
  const held = await tx.rows(sql`
    UPDATE api_key SET held_micros = held_micros + ${micros}
    WHERE id = ${key_id} AND returned_at IS NULL AND expires_at > ${now}
      AND spent_micros + held_micros + ${micros} <= budget_micros
    RETURNING id`)
  if (held.length === 0) throw new DoesNotFit('key')
}

/** Parent and project hold a child's whole budget, so only what is spent moves; after its end, all of a hold. */
export async function settleOfChild(tx: Db, child: Child, { held, spent }: Movement, now: number): Promise<OfChild> {
  const { key_id, project_id, parent_id } = child
  const project = await chargeProject(tx, project_id, { held: -spent, spent })
  const crossings = crossingsOfProject(project_id, project, spent)
  let returned_at: number | null = null
  for (const id of [key_id, parent_id].sort()) {
    const isChild = id === key_id
    const moved = await moveKey(tx, id, { held: isChild ? -held : -spent, spent }, now)
    if (isChild) returned_at = moved.returned_at
    else crossings.push(...crossingsOfKey({ id, project_id }, moved, spent))
  }
  if (returned_at !== null) await lowerFamily(tx, child, held - spent)
  return { project, crossings }
}

/** What a child's charge came to, and which thresholds of its parent's and the project's it crossed. */
export interface OfChild {
  project: Spent
  crossings: Crossing[]
}

export async function releaseOfChild(tx: Db, child: Child, micros: number): Promise<void> {
  await lockProject(tx, child.project_id)
  const { returned_at } = await lowerHeld(tx, child.key_id, micros)
  if (returned_at !== null) await lowerFamily(tx, child, micros)
}

async function lowerFamily(tx: Db, { project_id, parent_id }: Child, micros: number): Promise<void> {
  await moveProject(tx, project_id, { held: -micros, spent: 0 })
  await lowerHeld(tx, parent_id, micros)
}
