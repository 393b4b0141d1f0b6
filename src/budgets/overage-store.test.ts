// R72 in SQL, on whichever engine this run is for: with overage a cap refuses nothing, and what is above it is shared
// out among the charges exactly, one after the other.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { createKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { sql } from '../storage/db.ts'
import { overageOf } from './budget.ts'
import { budgetStore, type Spender } from './budget-store.ts'
import { slices } from './slice-store.ts'

test.each([
  [10, 100, null, 0],
  [10, 100, 100, 0],
  [10, 105, 100, 5],
  [10, 110, 100, 10],
  [10, 500, 100, 10],
  [0, 500, 100, 0],
])('R72 of a charge of %d that takes spending to %d, with a cap of %s, %d is above it', (charged, spent, cap, over) => {
  expect(overageOf(charged, spent, cap)).toBe(over)
})

withDb((db) => {
  const store = () => budgetStore(db(), 'one')

  async function spender(cap_micros: number, budget_micros?: number): Promise<Spender> {
    const project_id = await projectIn(db())
    await db().rows(sql`UPDATE project SET cap_micros = ${cap_micros}, overage_enabled = 1 WHERE id = ${project_id}`)
    const minted = createKey(project_id, { name: 'k' }, NOON)
    await keyStore(db()).insert(minted, NOON)
    const { api_key } = minted
    if (budget_micros !== undefined) await keyStore(db()).setBudget(project_id, api_key.id, budget_micros)
    return { project_id, key_id: api_key.id, counts_overage: true }
  }

  const settleAll = (who: Spender, costs: readonly number[]) =>
    store().settleAll(
      costs.map((cost_micros) => ({ spender: who, hold: undefined, cost_micros })),
      NOON,
    )

  test('R72 charges that settle together share out exactly what is above the cap', async () => {
    const who = await spender(25)
    const overages = (await settleAll(who, [10, 10, 10, 10])).map((one) => one.overage_micros)
    expect(overages).toEqual([0, 0, 5, 10])
    expect((await settleAll(who, [7])).map((one) => one.overage_micros)).toEqual([7])
  })

  test('R72 at the cap of the moment: raised, it counts again from there; cleared, it counts nothing', async () => {
    const who = await spender(0)
    const over = async () => (await settleAll(who, [10]))[0]?.overage_micros
    expect(await over()).toBe(10)
    await db().rows(sql`UPDATE project SET cap_micros = 25 WHERE id = ${who.project_id}`)
    expect([await over(), await over()]).toEqual([0, 5])
    await db().rows(sql`UPDATE project SET cap_micros = NULL WHERE id = ${who.project_id}`)
    expect(await over()).toBe(0)
  })

  test('R72 a hold fits above the cap, and a key’s budget is as hard as ever', async () => {
    const who = await spender(0, 100)
    const from = slices(db(), 'one')
    const held = await from.hold(who, 100, NOON)
    expect(held).toMatchObject({ kind: 'held' })
    expect(await from.hold(who, 1, NOON)).toEqual({ kind: 'refused', limit: 'key', available_micros: 0 })
    if (held.kind !== 'held') throw new Error('it does not fit')
    const settling = from.beginSettling([held.hold])
    const row = settling.fates[0] ?? 'ends'
    const settlements = await store().settleAll([{ spender: who, hold: held.hold, cost_micros: 60, row }], NOON)
    expect(settlements).toEqual([{ charged_micros: 60, written_off_micros: 0, overage_micros: 60 }])
    await settling.succeeded(settlements, NOON)
  })
})
