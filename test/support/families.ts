// Parents and child keys straight from the stores, and what must be true of their money at every moment (R64).
import { budgetStore, type Spender } from '../../src/budgets/budget-store.ts'
import { carveStore } from '../../src/budgets/carve-store.ts'
import { SECOND_MS } from '../../src/core/clock.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { bornOf, createChild } from '../../src/keys/child-key.ts'
import { type ApiKey, createKey } from '../../src/keys/key.ts'
import { keyStore } from '../../src/keys/key-store.ts'
import { type Db, type OpenDb, sql } from '../../src/storage/db.ts'
import { NOON } from './clock.ts'
import { projectIn } from './projects.ts'

export interface Limits {
  budget?: number
  cap?: number
}

export async function parentIn(db: OpenDb, { budget, cap }: Limits = {}): Promise<ApiKey> {
  const project_id = await projectIn(db)
  if (cap !== undefined) await db.rows(sql`UPDATE project SET cap_micros = ${cap} WHERE id = ${project_id}`)
  const { api_key } = await keyStore(db).insert(createKey(project_id, { name: 'parent' }, NOON), NOON)
  if (budget !== undefined) await keyStore(db).setBudget(project_id, api_key.id, budget)
  return api_key
}

export const spenderOf = ({ id, project_id, parent_id }: ApiKey): Spender => ({ key_id: id, project_id, parent_id })

/** As the route makes one; undefined where its budget does not fit. */
export async function childOf(
  db: Db,
  parent: ApiKey,
  micros: number,
  { now = NOON, ttl_seconds = 60, children_max = 1_000 } = {},
): Promise<ApiKey | undefined> {
  try {
    return await db.transaction(async (tx) => {
      const child = createChild(parent, { name: 'run', limit_usd: micros / 1e6, ttl_seconds }, now)
      const from = { project_id: parent.project_id, key_id: parent.id, children_max }
      const carved = await carveStore(tx).carve(from, micros, now)
      return (await keyStore(tx).insert(bornOf(child, carved), now)).api_key
    })
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'quota_exceeded') return undefined
    throw error
  }
}

export const endOf = (ttl_seconds = 60) => NOON + ttl_seconds * SECOND_MS

interface Row {
  id: string
  parent_id: string | null
  budget_micros: number | null
  spent_micros: number
  held_micros: number
  returned_at: number | null
  open_children: number
}

/** Everything about a project's money, and what is wrong with it. */
export async function familyBooks(db: Db, project_id: string) {
  const [project] = await db.rows<{ cap_micros: number | null; spent_micros: number; held_micros: number }>(sql`
    SELECT cap_micros, spent_micros, held_micros FROM project WHERE id = ${project_id}`)
  if (!project) throw new Error(`no project ${project_id}`)
  const keys = await db.rows<Row>(sql`
    SELECT id, parent_id, budget_micros, spent_micros, held_micros, returned_at, open_children
    FROM api_key WHERE project_id = ${project_id}`)
  const holds = await db.rows<{ key_id: string; micros: number }>(sql`
    SELECT key_id, micros FROM budget_hold WHERE project_id = ${project_id}`)
  const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0)
  const heldBy = (id: string) => sum(holds.filter(({ key_id }) => key_id === id).map(({ micros }) => micros))

  const wrong: string[] = []
  const check = (what: string, found: number, wanted: number) => {
    if (found !== wanted) wrong.push(`${what}: ${found}, not ${wanted}`)
  }
  for (const key of keys) {
    const children = keys.filter(({ parent_id }) => parent_id === key.id)
    const carved = children.map((child) =>
      child.returned_at === null ? (child.budget_micros ?? 0) - child.spent_micros : child.held_micros,
    )
    check(`held by ${key.id}`, key.held_micros, heldBy(key.id) + sum(carved))
    check(`children of ${key.id}`, key.open_children, children.filter((one) => one.returned_at === null).length)
    if (key.budget_micros !== null && key.spent_micros + key.held_micros > key.budget_micros)
      wrong.push(`${key.id} is over its limit`)
  }
  const roots = keys.filter(({ parent_id }) => parent_id === null)
  check('held by the project', project.held_micros, sum(roots.map(({ held_micros }) => held_micros)))
  check('spent by the project', project.spent_micros, sum(roots.map(({ spent_micros }) => spent_micros)))
  if (project.cap_micros !== null && project.spent_micros + project.held_micros > project.cap_micros)
    wrong.push('the project is over its cap')
  const of = (id: string) => keys.find((key) => key.id === id) as Row
  return { project, keys, of, wrong }
}

/** A store whose holds are this process's. */
export const budgetsOn = (db: Db) => budgetStore(db, 'one')
