// R43 with slices, on whichever engine this run is for: as many are admitted as without them, no limit is passed, and
// nothing stays held where nothing runs. Planted at the end: a charge that does not shrink its slice, a slice that is
// not returned, and a row that is lowered by more than it has.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import {
  cutOffNextCommit,
  mutateSql,
  type Tampering,
  takeAway,
  tamperedDb,
  textOf,
} from '../../test/support/tampered-db.ts'
import { MINUTE_MS } from '../core/clock.ts'
import { createKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { CommitUnknown, type Db, type OpenDb, sql } from '../storage/db.ts'
import type { Hold, HoldOutcome, Settlement } from './budget.ts'
import { budgetStore } from './budget-store.ts'
import { type LimitedSpender, type Slices, slices } from './slice-store.ts'

withDb((db) => {
  async function newKey(project_id: string, budget_micros?: number): Promise<LimitedSpender> {
    const minted = createKey(project_id, { name: 'k' }, NOON)
    await keyStore(db()).insert(minted, NOON)
    const key_id = minted.api_key.id
    if (budget_micros !== undefined) await keyStore(db()).setBudget(project_id, key_id, budget_micros)
    return { project_id, key_id, budget_micros }
  }

  async function spender(budget_micros?: number, cap_micros?: number): Promise<LimitedSpender> {
    const project_id = await projectIn(db())
    if (cap_micros !== undefined)
      await db().rows(sql`UPDATE project SET cap_micros = ${cap_micros} WHERE id = ${project_id}`)
    return newKey(project_id, budget_micros)
  }

  async function books({ key_id, project_id }: LimitedSpender) {
    const [key] = await db().rows(sql`SELECT spent_micros, held_micros FROM api_key WHERE id = ${key_id}`)
    const [project] = await db().rows(sql`SELECT spent_micros, held_micros FROM project WHERE id = ${project_id}`)
    const holds = await db().rows<{ micros: number }>(sql`
      SELECT micros FROM budget_hold WHERE project_id = ${project_id} ORDER BY micros`)
    return { key, project, rows: holds.map(({ micros }) => micros) }
  }

  const both = (spent_micros: number, held_micros: number, rows: number[]) => ({
    ...{ key: { spent_micros, held_micros }, project: { spent_micros, held_micros } },
    rows,
  })

  const heldIn = (outcomes: readonly HoldOutcome[]): Hold[] =>
    outcomes.flatMap((outcome) => (outcome.kind === 'held' ? [outcome.hold] : []))

  const takeAll = async (from: Slices, who: LimitedSpender, count: number, micros: number) =>
    heldIn(await Promise.all(Array.from({ length: count }, () => from.hold(who, micros, NOON))))

  async function take(from: Slices, who: LimitedSpender, micros: number, now = NOON): Promise<Hold> {
    const outcome = await from.hold(who, micros, now)
    if (outcome.kind !== 'held') throw new Error('it does not fit')
    return outcome.hold
  }

  /** As the path settles: in one transaction, with whatever else must happen in it. */
  function settle(from: Slices, who: LimitedSpender, holds: Hold[], cost_micros: number, also = async () => {}) {
    return from.settling(
      holds,
      NOON,
      (fates) =>
        db().transaction(async (tx) => {
          const owings = holds.map((hold, at) => ({ spender: who, hold, cost_micros, row: fates[at] ?? 'ends' }))
          const settlements = await budgetStore(tx, 'one').settleAll(owings, NOON)
          await also()
          return settlements
        }),
      (settlements: Settlement[]) => settlements,
    )
  }

  /** How many transactions a slice's store needs for this. */
  function counted() {
    const count = { transactions: 0 }
    const over: Db = {
      rows: (statement) => db().rows(statement),
      transaction: (work) => {
        count.transactions++
        return db().transaction(work)
      },
    }
    return { count, from: slices(over, 'one') }
  }

  const one = (): Slices => slices(db(), 'one')

  test('R43 a call alone holds exactly its own, and takes its row with it', async () => {
    const [from, who] = [one(), await spender(1_000, 5_000)]
    const hold = await take(from, who, 300)
    expect(await books(who)).toEqual(both(0, 300, [300]))
    expect(await settle(from, who, [hold], 120)).toEqual([{ charged_micros: 120, written_off_micros: 0 }])
    expect(await books(who)).toEqual(both(120, 0, []))
    await from.release(await take(from, who, 300))
    expect(await books(who)).toEqual(both(120, 0, []))
  })

  test('R43 calls side by side share a row, which shrinks by what is charged', async () => {
    const [from, who] = [one(), await spender(1_000)]
    const [first, second] = (await takeAll(from, who, 2, 300)) as [Hold, Hold]
    await settle(from, who, [first], 120)
    const { key, rows } = await books(who)
    expect([key, rows]).toEqual([{ spent_micros: 120, held_micros: 480 }, [480]])
    await take(from, who, 180) // free in memory: no statement could refuse or allow it
    expect(await books(who)).toMatchObject({ rows: [480] })
    expect(await from.hold(who, 401, NOON)).toEqual({ kind: 'refused', limit: 'key', available_micros: 400 })
    await settle(from, who, [second], 300)
    expect(await books(who)).toMatchObject({ rows: [180] })
  })

  test('R43 whoever waits is served by one extension, and what comes free by none', async () => {
    const who = await spender(100_000)
    const { from, count } = counted()
    const held = await takeAll(from, who, 100, 20)
    expect(held).toHaveLength(100)
    expect(count.transactions).toBeLessThanOrEqual(2) // the first alone, then all that came meanwhile
    const [, ...rest] = held as [Hold, ...Hold[]]
    await settle(from, who, rest.slice(0, 50), 5)
    const before = count.transactions
    expect(await takeAll(from, who, 35, 20)).toHaveLength(35)
    expect(count.transactions).toBe(before)
  })

  test('R43 an extension takes more while the key is hot, and a small part of what is left at the most', async () => {
    const who = await spender(1_000_000)
    const { from, count } = counted()
    await take(from, who, 10)
    for (let n = 0; n < 200; n++) await take(from, who, 10)
    expect(count.transactions).toBeLessThan(20)
    const tight = await spender(1_000)
    await take(from, tight, 10)
    for (let n = 0; n < 90; n++) await take(from, tight, 10)
    expect((await books(tight)).key).toMatchObject({ held_micros: expect.toSatisfy((held) => held <= 1_000) })
    for (let n = 0; n < 9; n++) await take(from, tight, 10)
    expect(await from.hold(tight, 1, NOON)).toEqual({ kind: 'refused', limit: 'key', available_micros: 0 })
  })

  test.each([
    ['the key’s', 2_019, undefined, 'key'],
    ['the project’s', undefined, 2_019, 'project'],
  ] as const)('R43 of three hundred at once exactly those get a hold that fit into %s limit', async (...row) => {
    const [, budget, cap, limit] = row
    const [from, who] = [one(), await spender(budget, cap)]
    const outcomes = await Promise.all(Array.from({ length: 300 }, () => from.hold(who, 20, NOON)))
    expect(heldIn(outcomes)).toHaveLength(100)
    expect(outcomes.at(-1)).toEqual({ kind: 'refused', limit, available_micros: 19 })
    expect(await books(who)).toEqual(both(0, 2_000, [2_000]))
  })

  test('R43 of many waiting those get a hold that fit, though a larger one before them did not', async () => {
    const [from, who] = [one(), await spender(100)]
    const kinds = await Promise.all([30, 90, 60, 20, 10].map((micros) => from.hold(who, micros, NOON)))
    expect(kinds.map(({ kind }) => kind)).toEqual(['held', 'refused', 'held', 'refused', 'held'])
    expect(kinds[1]).toMatchObject({ available_micros: 0 })
  })

  test('R43 three processes at once admit as many as fit, to the micro, and none of them leaves anything', async () => {
    const who = await spender(6_000)
    const three = ['one', 'two', 'three'].map((process) => slices(db(), process))
    let [served, most] = [0, 0]
    for (let wave = 0; wave < 12; wave++) {
      const waves = three.map(async (from) => {
        const held = await takeAll(from, who, 20, 20)
        served += held.length
        for (const hold of held) await settle(from, who, [hold], 20)
      })
      await Promise.all(waves)
      const { spent_micros, held_micros } = (await books(who)).key as { spent_micros: number; held_micros: number }
      most = Math.max(most, spent_micros + held_micros)
    }
    expect([served, most]).toEqual([300, 6_000])
    expect(await books(who)).toEqual(both(6_000, 0, []))
  })

  test('R43 keys of one project share its cap: what one keeps free goes back before the other is refused', async () => {
    const [from, first] = [one(), await spender(undefined, 1_000)]
    const second = await newKey(first.project_id)
    const [a, b] = (await takeAll(from, first, 2, 400)) as [Hold, Hold]
    await settle(from, first, [a], 100) // 300 are free in the slice of the first
    await take(from, second, 500)
    expect(await from.hold(second, 1, NOON)).toMatchObject({ kind: 'refused', limit: 'project', available_micros: 0 })
    await settle(from, first, [b], 400)
    expect((await books(first)).project).toEqual({ spent_micros: 500, held_micros: 500 })
  })

  test('R6 where the limit was changed meanwhile, what is free is judged again by the new one', async () => {
    const [from, who] = [one(), await spender(1_000)]
    const [a] = (await takeAll(from, who, 2, 400)) as [Hold]
    await settle(from, who, [a], 50) // 350 are free
    await keyStore(db()).setBudget(who.project_id, who.key_id, 460)
    const lowered = { ...who, budget_micros: 460 }
    expect(await from.hold(lowered, 11, NOON)).toEqual({ kind: 'refused', limit: 'key', available_micros: 10 })
    await take(from, lowered, 10)
    expect(await books(who)).toMatchObject({ key: { spent_micros: 50, held_micros: 410 } })
    await keyStore(db()).setBudget(who.project_id, who.key_id, 0)
    expect(await from.hold({ ...who, budget_micros: 0 }, 0, NOON)).toMatchObject({ kind: 'refused' })
  })

  test('R43 a hold resolves at most once, whatever is tried, and in whatever order', async () => {
    const [from, who] = [one(), await spender(1_000)]
    const [released, settled, other] = (await takeAll(from, who, 3, 100)) as [Hold, Hold, Hold]
    await Promise.all([from.release(released), from.release(released)])
    await settle(from, who, [settled], 60)
    await from.release(settled)
    for (const hold of [settled, released])
      expect(await settle(from, who, [hold], 60)).toEqual([{ charged_micros: 0, written_off_micros: 60 }])
    expect(await books(who)).toMatchObject({ key: { spent_micros: 60, held_micros: 240 } })
    await Promise.all([from.release(other), settle(from, who, [settled], 1)])
    expect(await books(who)).toEqual(both(60, 0, []))
  })

  test('R21 a charge that is undone leaves slice and books as they were', async () => {
    const [from, who] = [one(), await spender(1_000)]
    const held = await takeAll(from, who, 2, 100)
    const broken = async () => Promise.reject(new Error('no'))
    await expect(settle(from, who, held.slice(0, 1), 60, broken)).rejects.toThrow('no')
    await expect(settle(from, who, held, 60, broken)).rejects.toThrow('no') // both: the row would have ended
    expect(await books(who)).toEqual(both(0, 200, [200]))
    for (const hold of held) await settle(from, who, [hold], 60)
    expect(await books(who)).toEqual(both(120, 0, []))
  })

  test('R43 two that end at the same moment in two transactions leave nothing', async () => {
    const [from, who] = [one(), await spender(1_000)]
    const held = await takeAll(from, who, 2, 100)
    await Promise.all(held.map((hold) => settle(from, who, [hold], 60)))
    expect(await books(who)).toEqual(both(120, 0, []))
  })

  test('R22 a process that was thought dead is charged nothing for what it settles late, and begins anew', async () => {
    const [paused, who] = [slices(db(), 'paused'), await spender(1_000)]
    const [a, b] = (await takeAll(paused, who, 2, 300)) as [Hold, Hold]
    await paused.release(a) // 300 are free, or so it believes
    await budgetStore(db(), 'one').returnOrphans(NOON + MINUTE_MS)
    expect(await books(who)).toEqual(both(0, 0, []))
    const later = await take(paused, who, 200, NOON + MINUTE_MS) // long not seen: asked for, and not found
    expect(await books(who)).toEqual(both(0, 200, [200]))
    expect(await settle(paused, who, [b], 200)).toEqual([{ charged_micros: 0, written_off_micros: 200 }])
    expect(await settle(paused, who, [later], 200)).toEqual([{ charged_micros: 200, written_off_micros: 0 }])
    expect(await books(who)).toEqual(both(200, 0, []))
  })

  test('R43 after a crash exactly what was not charged comes back', async () => {
    const [crashed, who] = [slices(db(), 'crashed'), await spender(1_000)]
    const held = await takeAll(crashed, who, 5, 100)
    await settle(crashed, who, held.slice(0, 3), 70)
    await budgetStore(db(), 'one').returnOrphans(NOON)
    expect(await books(who)).toEqual(both(210, 0, []))
  })

  test('R43 what nobody needs goes back while other calls go on', async () => {
    const [from, who] = [one(), await spender(100_000)]
    const [long, ...others] = (await takeAll(from, who, 10, 100)) as [Hold, ...Hold[]]
    for (const hold of others) await settle(from, who, [hold], 1)
    await from.giveBackUnused() // looks
    expect((await books(who)).key).toMatchObject({ held_micros: 991 })
    await take(from, who, 91)
    await from.giveBackUnused()
    expect(await books(who)).toEqual(both(9, 191, [191]))
    await settle(from, who, [long], 100)
    expect(await books(who)).toEqual(both(109, 91, [91]))
  })

  test.each([true, false])(
    'T-104 an extension that was cut off leaves no row, though it was written: %s',
    async (was) => {
      const [tampering, who]: [Tampering, LimitedSpender] = [{}, await spender(1_000)]
      const from = slices(tamperedDb(db(), tampering), 'one')
      cutOffNextCommit(tampering, was)
      await expect(from.hold(who, 100, NOON)).rejects.toThrow(CommitUnknown)
      await from.giveBackUnused()
      expect(await books(who)).toEqual(both(0, 0, []))
    },
  )

  test('T-104 nobody draws on a slice of which it is not known what was charged', async () => {
    const [from, who] = [one(), await spender(1_000)]
    const [a, b] = (await takeAll(from, who, 2, 500)) as [Hold, Hold]
    const cut = async () => Promise.reject(new CommitUnknown(new Error('cut')))
    await expect(settle(from, who, [a], 0, cut)).rejects.toThrow(CommitUnknown)
    await from.release(a) // 500 are free, or so it seems
    expect(await from.hold(who, 1, NOON)).toMatchObject({ kind: 'refused' })
    await from.release(b)
    expect(await books(who)).toEqual(both(0, 0, []))
  })

  test('R43 a slice that cannot be given back is given back later', async () => {
    const [tampering, who]: [Tampering, LimitedSpender] = [{}, await spender(1_000)]
    const from = slices(tamperedDb(db(), tampering), 'one')
    const hold = await take(from, who, 100)
    const comeBack = takeAway(tampering)
    await expect(from.release(hold)).rejects.toThrow()
    comeBack()
    await from.release(hold)
    expect(await books(who)).toEqual(both(0, 0, []))
  })

  /** Two at once, one after the other is charged in full, as often as the limit lets it; what was spent and held. */
  async function spendAll(tampering: Tampering) {
    const who = await spender(1_000)
    const over: OpenDb = tamperedDb(db(), tampering)
    const from = slices(over, 'one')
    const long = await take(from, who, 10)
    for (let n = 0; n < 40; n++) {
      const [hold] = await takeAll(from, who, 1, 50)
      if (!hold) break
      await from.settling(
        [hold],
        NOON,
        ([row = 'ends']) =>
          over.transaction((tx) =>
            budgetStore(tx, 'one').settleAll([{ spender: who, hold, cost_micros: 50, row }], NOON),
          ),
        (settlements: Settlement[]) => settlements,
      )
    }
    await from.release(long)
    const { key, rows } = await books(who)
    return { ...(key as { spent_micros: number; held_micros: number }), rows }
  }

  test('R43 planted: what must be found is not there without a bug', async () => {
    expect(await spendAll({})).toEqual({ spent_micros: 950, held_micros: 0, rows: [] })
  })

  test('R43 planted: a charge that does not shrink its slice is found in what stays held', async () => {
    const tampering: Tampering = {}
    mutateSql(tampering, /^(\s*UPDATE budget_hold SET micros = micros) - $/, '$1 - 0 * ')
    expect(await spendAll(tampering)).not.toEqual({ spent_micros: 950, held_micros: 0, rows: [] })
  })

  test('R43 planted: a slice that is not returned is found', async () => {
    const kept: Tampering = {
      rows: (statement, run) =>
        textOf(statement).startsWith('DELETE FROM budget_hold') ? Promise.resolve([]) : run(statement),
    }
    expect(await spendAll(kept)).not.toMatchObject({ held_micros: 0, rows: [] })
  })
})
