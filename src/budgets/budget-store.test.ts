// R43 in SQL, on whichever engine this run is for: limits that no number of callers at once can pass, and holds that
// always come back. The check that counts callers also runs against a store that checks first and records later.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/clock.ts'
import { createKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { sql } from '../storage/db.ts'
import type { Hold, HoldOutcome } from './budget.ts'
import { type BudgetStore, budgetStore, type Spender } from './budget-store.ts'
import { ownBeats } from './own-beats.ts'

withDb((db) => {
  const store = (process = 'one') => budgetStore(db(), process)

  async function newKey(project_id: string, budget_micros?: number): Promise<Spender> {
    const minted = createKey(project_id, { name: 'k' }, NOON)
    await keyStore(db()).insert(minted, NOON)
    if (budget_micros !== undefined) await keyStore(db()).setBudget(project_id, minted.api_key.id, budget_micros)
    return { project_id, key_id: minted.api_key.id }
  }

  /** A key with this limit, in a project with that cap. */
  async function spender(budget_micros?: number, cap_micros?: number): Promise<Spender> {
    const project_id = await projectIn(db())
    if (cap_micros !== undefined)
      await db().rows(sql`UPDATE project SET cap_micros = ${cap_micros} WHERE id = ${project_id}`)
    return newKey(project_id, budget_micros)
  }

  async function books({ key_id, project_id }: Spender) {
    const [key] = await db().rows(sql`SELECT spent_micros, held_micros FROM api_key WHERE id = ${key_id}`)
    const [project] = await db().rows(sql`SELECT spent_micros, held_micros FROM project WHERE id = ${project_id}`)
    const holds = await db().rows(sql`SELECT id FROM budget_hold WHERE project_id = ${project_id}`)
    return { key, project, holds: holds.length }
  }

  const both = (spent_micros: number, held_micros: number, holds: number) => ({
    key: { spent_micros, held_micros },
    project: { spent_micros, held_micros },
    holds,
  })

  async function take(who: Spender, micros: number, by: BudgetStore = store()): Promise<Hold> {
    const outcome = await by.hold(who, micros, NOON)
    if (outcome.kind !== 'held') throw new Error('it does not fit')
    return outcome.hold
  }

  test('R43 a hold counts for key and project, and settles to what it cost', async () => {
    const who = await spender(1_000, 5_000)
    const hold = await take(who, 300)
    expect(await books(who)).toEqual(both(0, 300, 1))
    expect(await store().settle(who, hold, 120, NOON)).toEqual({ charged_micros: 120, written_off_micros: 0 })
    expect(await books(who)).toEqual(both(120, 0, 0))
  })

  test.each([
    ['the key’s', 1_000, 5_000, 'key', 1_000],
    ['the project’s', 5_000, 1_000, 'project', 1_000],
    ['the key’s alone', 1_000, undefined, 'key', 1_000],
    ['the project’s alone', undefined, 1_000, 'project', 1_000],
    ['nothing of', 0, 0, 'project', 0],
  ] as const)('R43 %s limit, to the micro', async (_whose, budget, cap, limit, available_micros) => {
    const who = await spender(budget, cap)
    expect(await store().hold(who, 1_001, NOON)).toEqual({ kind: 'refused', limit, available_micros })
    expect(await books(who)).toEqual(both(0, 0, 0)) // the project's row does not stay raised where the key refuses
    if (available_micros > 0) await take(who, 1_000)
    expect(await store().hold(who, 1, NOON)).toEqual({ kind: 'refused', limit, available_micros: 0 })
  })

  test('R43 what is spent and what is held both count against the limit', async () => {
    const who = await spender(1_000)
    await store().settle(who, await take(who, 400), 400, NOON)
    await take(who, 350)
    expect(await store().hold(who, 251, NOON)).toEqual({ kind: 'refused', limit: 'key', available_micros: 250 })
    await take(who, 250)
  })

  test('R43 keys of one project share its cap', async () => {
    const one = await spender(10_000, 1_000)
    const two = await newKey(one.project_id, 10_000)
    await take(one, 600)
    expect(await store().hold(two, 401, NOON)).toMatchObject({ kind: 'refused', limit: 'project' })
    await take(two, 400)
  })

  test('R6 a limit lowered below what is spent and held: nothing new fits, what was held may settle', async () => {
    const who = await spender(1_000)
    const hold = await take(who, 800)
    await keyStore(db()).setBudget(who.project_id, who.key_id, 100)
    expect(await store().hold(who, 0, NOON)).toMatchObject({ kind: 'refused', available_micros: 0 })
    expect(await store().settle(who, hold, 700, NOON)).toEqual({ charged_micros: 700, written_off_micros: 0 })
    expect(await store().hold(who, 1, NOON)).toMatchObject({ kind: 'refused', available_micros: 0 })
  })

  test('R43 no generation is charged more than was held; the rest is written off', async () => {
    const who = await spender(1_000)
    expect(await store().settle(who, await take(who, 100), 130, NOON)).toEqual({
      charged_micros: 100,
      written_off_micros: 30,
    })
    expect(await books(who)).toEqual(both(100, 0, 0))
  })

  test('R43 without a limit there is no hold, and all of it is charged', async () => {
    const who = await spender()
    expect(await store().settle(who, undefined, 130, NOON)).toEqual({ charged_micros: 130, written_off_micros: 0 })
    expect(await books(who)).toEqual(both(130, 0, 0))
  })

  test('R43 a hold resolves at most once, whatever is tried, and in whatever order', async () => {
    const who = await spender(1_000)
    const [released, settled] = [await take(who, 100), await take(who, 100)]
    await Promise.all([store().release(released), store().release(released), store().release(released)])
    await store().settle(who, settled, 60, NOON)
    await store().release(settled)
    expect(await store().settle(who, settled, 60, NOON)).toEqual({ charged_micros: 0, written_off_micros: 60 })
    expect(await store().settle(who, released, 60, NOON)).toEqual({ charged_micros: 0, written_off_micros: 60 })
    expect(await books(who)).toEqual(both(60, 0, 0))
  })

  test('R43 the holds of a process that died come back after a minute, those of the living stay', async () => {
    const who = await spender(1_000)
    const [dead, living] = [store('dead'), store('living')]
    await dead.beat(NOON)
    await living.beat(NOON)
    await take(who, 300, dead)
    const kept = await take(who, 200, living)
    await living.beat(NOON + MINUTE_MS)
    await store().returnOrphans(NOON + MINUTE_MS - 1)
    expect(await books(who)).toEqual(both(0, 500, 2))
    expect(await store().returnOrphans(NOON + MINUTE_MS)).toBe(1)
    expect(await books(who)).toEqual(both(0, 200, 1))
    await living.settle(who, kept, 150, NOON)
    expect(await store().returnOrphans(NOON + MINUTE_MS)).toBe(0)
    expect(await books(who)).toEqual(both(150, 0, 0))
  })

  test('R22, R43 after the store was away for everybody, each has a minute again; then the dead are dead', async () => {
    const who = await spender(1_000)
    const [sweeper, living, dead] = [budgetStore(db(), 'sweeper', ownBeats()), store('living'), store('dead')]
    for (const one of [sweeper, living, dead]) await one.beat(NOON)
    const kept = await take(who, 200, living)
    await take(who, 300, dead)
    const BACK = NOON + 70 * SECOND_MS // nobody could beat until then
    await sweeper.returnOrphans(BACK) // its own turn comes before its own beat
    await sweeper.beat(BACK)
    await sweeper.returnOrphans(BACK)
    const newcomer = budgetStore(db(), 'newcomer', ownBeats())
    await newcomer.beat(BACK)
    await newcomer.returnOrphans(BACK)
    expect(await books(who)).toEqual(both(0, 500, 2))
    await take(who, 100, store('of another day'))
    await store('of another day').beat(BACK - HOUR_MS)
    expect(await newcomer.returnOrphans(BACK)).toBe(1)
    for (let now = BACK; now <= BACK + MINUTE_MS; now += 5 * SECOND_MS) {
      await living.beat(now + 1)
      await sweeper.beat(now)
      if (now < BACK + MINUTE_MS) await sweeper.returnOrphans(now)
      else expect(await sweeper.returnOrphans(now)).toBe(1)
    }
    expect(await living.settle(who, kept, 150, NOON)).toMatchObject({ charged_micros: 150 })
    expect(await books(who)).toEqual(both(150, 0, 0))
  })

  test('R43 a process never takes its own holds for a dead one’s', async () => {
    const who = await spender(1_000)
    await take(who, 300, store('silent'))
    await store('silent').returnOrphans(NOON + 10 * MINUTE_MS)
    expect(await books(who)).toEqual(both(0, 300, 1))
    await store().returnOrphans(NOON)
    expect(await books(who)).toEqual(both(0, 0, 0))
  })

  test('R43 one that leaves in order, or that is known to be gone, is dead at once', async () => {
    const who = await spender(1_000)
    for (const [process, end] of [
      ['orderly', (process: string) => store(process).leave()],
      ['killed', () => store().forgetOtherProcesses()],
    ] as const) {
      await store(process).beat(NOON)
      await take(who, 300, store(process))
      await store().returnOrphans(NOON)
      expect(await books(who)).toEqual(both(0, 300, 1))
      await end(process)
      await store().returnOrphans(NOON)
      expect(await books(who)).toEqual(both(0, 0, 0))
    }
  })

  test('R22, R43 one that was only thought dead is charged nothing for what it settles late', async () => {
    const who = await spender(1_000)
    const paused = store('paused')
    await paused.beat(NOON)
    const hold = await take(who, 300, paused)
    await store().returnOrphans(NOON + MINUTE_MS)
    await take(who, 1_000) // what came back is given to somebody else
    expect(await paused.settle(who, hold, 200, NOON)).toEqual({ charged_micros: 0, written_off_micros: 200 })
    expect(await books(who)).toEqual(both(0, 1_000, 1))
  })

  const COUNT = 300
  const FIT = 100

  /** How many of so many at once get a hold, where the limit takes a hundred; and what is held in the end. */
  async function admittedOf(hold: (who: Spender, micros: number) => Promise<Pick<HoldOutcome, 'kind'>>) {
    const who = await spender(FIT * 20 + 19)
    const outcomes = await Promise.all(Array.from({ length: COUNT }, () => hold(who, 20)))
    const { key } = await books(who)
    return { admitted: outcomes.filter(({ kind }) => kind === 'held').length, ...(key as { held_micros: number }) }
  }

  test('R43 of three hundred at once exactly those get a hold that fit', async () => {
    const { admitted, held_micros } = await admittedOf((who, micros) => store().hold(who, micros, NOON))
    expect([admitted, held_micros]).toEqual([FIT, FIT * 20])
  })

  test('R43 planted: whoever checks first and records later lets too many through', async () => {
    const { admitted, held_micros } = await admittedOf(async ({ key_id }, micros) => {
      const [key] = await db().rows<{ left: number }>(sql`
        SELECT budget_micros - spent_micros - held_micros AS left FROM api_key WHERE id = ${key_id}`)
      if ((key?.left ?? 0) < micros) return { kind: 'refused' }
      await db().rows(sql`UPDATE api_key SET held_micros = held_micros + ${micros} WHERE id = ${key_id}`)
      return { kind: 'held' }
    })
    expect(admitted).toBeGreaterThan(FIT)
    expect(held_micros).toBeGreaterThan(FIT * 20 + 19)
  })
})
