// The rows that carry money: a project's and its keys'. Each rise is a conditional update of the row that carries the
// limit. The project's row is always taken first, and two keys' rows in the order of their ids, as those are that note
// the use of keys: so no two transactions wait for each other.
import { type Db, sql } from '../storage/db.ts'
import type { Hold, Limit } from './budget.ts'
import { windowEnd } from './budget-window.ts'
import { type Crossing, crossingsOfKey, crossingsOfProject, type KeySums, type ProjectSums } from './threshold.ts'

export class DoesNotFit extends Error {
  readonly limit: Limit

  constructor(limit: Limit) {
    super(limit)
    this.limit = limit
  }
}

export interface Movement {
  held: number
  spent: number
}

/** Who holds what: so that it can be given back should the process die. */
export async function noteHeld(tx: Db, hold: Hold, process: string, now: number): Promise<void> {
  await tx.rows(sql`
    INSERT INTO budget_hold (id, key_id, project_id, micros, process, created_at)
    VALUES (${hold.id}, ${hold.key_id}, ${hold.project_id}, ${hold.micros}, ${process}, ${now})`)
}

/**
 * T-104: for a hold whose COMMIT was cut off and may still be under way, so that nobody sees its row yet. Whoever
 * writes the same id waits until that has ended; where nothing came of it, there is a row now that holds nothing.
 */
export async function awaitNoted(tx: Db, { id, key_id, project_id }: Hold, process: string): Promise<void> {
  await tx.rows(sql`
    INSERT INTO budget_hold (id, key_id, project_id, micros, process, created_at)
    VALUES (${id}, ${key_id}, ${project_id}, 0, ${process}, 0)
    ON CONFLICT (id) DO NOTHING`)
}

/**
 * What the lower cap leaves then; null where there is none, or only one with overage. Never beyond what a number can
 * tell, cap or none: children may be given any sum.
 */
export async function raiseProject(tx: Db, project_id: string, micros: number): Promise<number | null> {
  const [raised] = await tx.rows<{ left_micros: number | null }>(sql`
    UPDATE project SET held_micros = held_micros + ${micros}
    WHERE id = ${project_id}
      AND (cap_micros IS NULL OR overage_enabled = 1 OR spent_micros + held_micros + ${micros} <= cap_micros)
      AND (operator_cap_micros IS NULL OR spent_micros + held_micros + ${micros} <= operator_cap_micros)
      AND spent_micros + held_micros + ${micros} <= ${Number.MAX_SAFE_INTEGER}
    RETURNING CASE WHEN overage_enabled = 1 OR cap_micros IS NULL OR operator_cap_micros < cap_micros
      THEN operator_cap_micros ELSE cap_micros END - spent_micros - held_micros AS left_micros`)
  if (!raised) throw new DoesNotFit('project')
  return raised.left_micros
}

/** Somebody who signed in spends without a key: then only the project's limit counts. */
export async function raiseKey(tx: Db, key_id: string, micros: number, now: number): Promise<KeyLeft> {
  const [raised] = await tx.rows<KeyLeft>(sql`
    UPDATE api_key SET held_micros = held_micros + ${micros}
    WHERE id = ${key_id} AND (budget_micros IS NULL OR spent_micros + held_micros + ${micros} <= budget_micros)
      AND (window_limit_micros IS NULL OR held_micros + ${micros} +
           CASE WHEN window_ends_at > ${now} THEN window_spent_micros ELSE 0 END <= window_limit_micros)
    RETURNING budget_micros - spent_micros - held_micros AS by_key, window_limit_micros - held_micros -
      CASE WHEN window_ends_at > ${now} THEN window_spent_micros ELSE 0 END AS by_window`)
  if (raised) return raised
  const limit = await limitInTheWay(tx, key_id, micros)
  if (limit) throw new DoesNotFit(limit)
  return { by_key: null, by_window: null }
}

/** Null where there is no such limit. */
export type KeyLeft = Record<'by_key' | 'by_window', number | null>

/** The total or the window's, where there is a key at all. */
export async function limitInTheWay(tx: Db, key_id: string, micros: number): Promise<Limit | undefined> {
  const [key] = await tx.rows<{ fits: number }>(sql`
    SELECT CASE WHEN budget_micros IS NULL OR spent_micros + held_micros + ${micros} <= budget_micros
           THEN 1 ELSE 0 END AS fits
    FROM api_key WHERE id = ${key_id}`)
  return key && (key.fits === 1 ? 'window' : 'key')
}

/** Takes the project's row and changes nothing: whoever ends, settles or releases a child waits for the others. */
export async function lockProject(tx: Db, project_id: string): Promise<void> {
  await tx.rows(sql`UPDATE project SET held_micros = held_micros WHERE id = ${project_id}`)
}

export async function moveProject(tx: Db, project_id: string, { held, spent }: Movement): Promise<void> {
  await tx.rows(sql`
    UPDATE project SET held_micros = held_micros + ${held}, spent_micros = spent_micros + ${spent}
    WHERE id = ${project_id}`)
}

/** What a project has spent once a charge is in it, and its cap then. */
export interface Spent extends ProjectSums {
  spent_micros: number
  cap_micros: number | null
}

/** The same, and what it comes to (R72). */
export async function chargeProject(tx: Db, project_id: string, { held, spent }: Movement): Promise<Spent> {
  const [row] = await tx.rows<Spent>(sql`
    UPDATE project SET held_micros = held_micros + ${held}, spent_micros = spent_micros + ${spent}
    WHERE id = ${project_id} RETURNING spent_micros, cap_micros, operator_cap_micros, overage_enabled`)
  return row ?? { spent_micros: 0, cap_micros: null, operator_cap_micros: null, overage_enabled: 0 }
}

/** What is spent counts in the window of this moment, which begins here where the last one has ended. */
export async function moveKey(tx: Db, key_id: string, { held, spent }: Movement, now: number): Promise<MovedKey> {
  const [moved] = await tx.rows<MovedKey>(sql`
    UPDATE api_key SET held_micros = held_micros + ${held}, spent_micros = spent_micros + ${spent},
      window_spent_micros = CASE WHEN window_period IS NULL THEN 0
        WHEN window_ends_at > ${now} THEN window_spent_micros + ${spent} ELSE ${spent} END,
      window_ends_at = CASE WHEN window_period IS NULL OR window_ends_at > ${now} THEN window_ends_at
        WHEN window_period = 'day' THEN ${windowEnd('day', now)}
        WHEN window_period = 'week' THEN ${windowEnd('week', now)} ELSE ${windowEnd('month', now)} END
    WHERE id = ${key_id}
    RETURNING returned_at, spent_micros, budget_micros, window_spent_micros, window_limit_micros`)
  return moved ?? NO_KEY
}

const NO_KEY = {
  ...{ returned_at: null, spent_micros: 0, budget_micros: null, window_spent_micros: 0, window_limit_micros: null },
}

/** Gives back what was held, and nothing else. */
export async function lowerHeld(tx: Db, key_id: string, micros: number): Promise<Moved> {
  const [moved] = await tx.rows<Moved>(sql`
    UPDATE api_key SET held_micros = held_micros - ${micros} WHERE id = ${key_id} RETURNING returned_at`)
  return moved ?? { returned_at: null }
}

export interface Moved {
  /** Set where the key is a child whose money has gone back to its parent. */
  returned_at: number | null
}

/** Also what it comes to, for whoever is told of thresholds. */
export type MovedKey = Moved & KeySums

/** What several charges come to, row by row, in the order in which rows are taken. */
export class Moves {
  readonly #projects = new Map<string, Movement>()
  readonly #keys = new Map<string, Movement & { project_id: string }>()
  /** Of limits, by the charges that were written. */
  readonly crossings: Crossing[] = []

  add({ project_id, key_id, project_cap_micros }: Mover, movement: Movement): void {
    addTo(this.#projects, project_id, { held: movement.held, spent: movement.spent })
    addTo(this.#keys, key_id, { held: movement.held, spent: movement.spent, project_id })
    if (project_cap_micros !== undefined) this.#capped = true
  }

  /** One of the projects has a cap that refuses: what it comes to is asked for. */
  #capped = false

  async #charge(tx: Db, id: string, movement: Movement): Promise<Spent> {
    const charged = await chargeProject(tx, id, movement)
    this.crossings.push(...crossingsOfProject(id, charged, movement.spent))
    return charged
  }

  async #moveKey(tx: Db, id: string, movement: Movement & { project_id: string }, now: number): Promise<void> {
    const moved = await moveKey(tx, id, movement, now)
    if (moved.budget_micros === null && moved.window_limit_micros === null) return
    this.crossings.push(...crossingsOfKey({ id, project_id: movement.project_id }, moved, movement.spent))
  }

  /** The projects' rows by themselves, before the others: what each has spent then. */
  async chargeProjects(tx: Db): Promise<Map<string, Spent>> {
    const spent = new Map<string, Spent>()
    for (const [id, movement] of inOrder(this.#projects)) spent.set(id, await this.#charge(tx, id, movement))
    this.#projects.clear()
    return spent
  }

  /** None needs another's result: to be written `together`. */
  writes(tx: Db, now: number): Promise<unknown>[] {
    return [
      ...inOrder(this.#projects).map(([id, movement]) =>
        this.#capped ? this.#charge(tx, id, movement) : moveProject(tx, id, movement),
      ),
      ...inOrder(this.#keys).map(([id, movement]) => this.#moveKey(tx, id, movement, now)),
    ]
  }
}

interface Mover {
  project_id: string
  key_id: string
  project_cap_micros?: number | undefined
}

/** What is added first is the sum, and is written into. */
function addTo<Sum extends Movement>(sums: Map<string, Sum>, id: string, movement: Sum): void {
  const sum = sums.get(id)
  if (!sum) return void sums.set(id, movement)
  sum.held += movement.held
  sum.spent += movement.spent
}

const inOrder = <Sum>(sums: Map<string, Sum>) => [...sums].sort(([a], [b]) => (a < b ? -1 : 1))
