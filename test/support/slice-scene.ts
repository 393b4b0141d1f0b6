// Slices over a real database, and the books that they keep (R43).
import type { Hold, HoldOutcome, Settlement } from '../../src/budgets/budget.ts'
import { budgetStore } from '../../src/budgets/budget-store.ts'
import type { LimitedSpender } from '../../src/budgets/slice.ts'
import { type Slices, slices } from '../../src/budgets/slice-store.ts'
import { createKey } from '../../src/keys/key.ts'
import { keyStore } from '../../src/keys/key-store.ts'
import { type Db, type OpenDb, sql } from '../../src/storage/db.ts'
import { NOON } from './clock.ts'
import { projectIn } from './projects.ts'

export const both = (spent_micros: number, held_micros: number, rows: number[]) => ({
  ...{ key: { spent_micros, held_micros }, project: { spent_micros, held_micros } },
  rows,
})

export const heldIn = (outcomes: readonly HoldOutcome[]): Hold[] =>
  outcomes.flatMap((outcome) => (outcome.kind === 'held' ? [outcome.hold] : []))

export const takeAll = async (from: Slices, who: LimitedSpender, count: number, micros: number) =>
  heldIn(await Promise.all(Array.from({ length: count }, () => from.hold(who, micros, NOON))))

export async function take(from: Slices, who: LimitedSpender, micros: number, now = NOON): Promise<Hold> {
  const outcome = await from.hold(who, micros, now)
  if (outcome.kind !== 'held') throw new Error('it does not fit')
  return outcome.hold
}

export function sliceScene(db: () => OpenDb) {
  async function newKey(project_id: string, budget_micros?: number): Promise<LimitedSpender> {
    const minted = createKey(project_id, { name: 'k' }, NOON)
    await keyStore(db()).insert(minted, NOON)
    const key_id = minted.api_key.id
    if (budget_micros !== undefined) await keyStore(db()).setBudget(project_id, key_id, budget_micros)
    return { project_id, key_id, budget_micros }
  }

  return {
    one: (): Slices => slices(db(), 'one'),
    newKey,

    /** A key with this limit, in a project with that cap. */
    async spender(budget_micros?: number, cap_micros?: number): Promise<LimitedSpender> {
      const project_id = await projectIn(db())
      if (cap_micros !== undefined)
        await db().rows(sql`UPDATE project SET cap_micros = ${cap_micros} WHERE id = ${project_id}`)
      return newKey(project_id, budget_micros)
    },

    async books({ key_id, project_id }: LimitedSpender) {
      const [key] = await db().rows(sql`SELECT spent_micros, held_micros FROM api_key WHERE id = ${key_id}`)
      const [project] = await db().rows(sql`SELECT spent_micros, held_micros FROM project WHERE id = ${project_id}`)
      const holds = await db().rows<{ micros: number }>(sql`
        SELECT micros FROM budget_hold WHERE project_id = ${project_id} ORDER BY micros`)
      return { key, project, rows: holds.map(({ micros }) => micros) }
    },

    /** As the path settles: in one transaction, with whatever else must happen in it. */
    settle(from: Slices, who: LimitedSpender, holds: Hold[], cost_micros: number, also = async () => {}) {
      return settleOn(db(), from, { who, holds, cost_micros, also })
    },

    /** Slices that count their transactions. */
    counted() {
      const count = { transactions: 0 }
      const over: Db = {
        rows: (statement) => db().rows(statement),
        transaction: (work) => {
          count.transactions++
          return db().transaction(work)
        },
      }
      return { count, from: slices(over, 'one') }
    },
  }
}

interface Charges {
  who: LimitedSpender
  holds: Hold[]
  cost_micros: number
  also?: () => Promise<void>
}

export async function settleOn(db: Db, from: Slices, { who, holds, cost_micros, also = async () => {} }: Charges) {
  const settling = from.beginSettling(holds)
  const write = async (tx: Db): Promise<Settlement[]> => {
    const owings = holds.map((hold, at) => ({ spender: who, hold, cost_micros, row: settling.fates[at] ?? 'ends' }))
    const settlements = await budgetStore(tx, 'one').settleAll(owings, NOON)
    await also()
    return settlements
  }
  try {
    const settlements = await settling.whileOnItsWay(db.transaction(write))
    await settling.succeeded(settlements, NOON)
    return settlements
  } catch (error) {
    settling.failed(error)
    throw error
  }
}
