// R21, R22, R43, T-104 with slices, when something goes wrong: a charge that is undone, a process that dies or is thought
// dead, a commit of which nobody knows. Planted at the end: bugs that these checks must find.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { childOf, parentIn, spenderOf } from '../../test/support/families.ts'
import { both, heldIn, settleOn, sliceScene, take, takeAll } from '../../test/support/slice-scene.ts'
import {
  cutOffNextCommit,
  mutateSql,
  stallNextCommit,
  type Tampering,
  takeAway,
  tamperedDb,
  textOf,
} from '../../test/support/tampered-db.ts'
import { doneOrWaiting } from '../../test/support/waiting-locks.ts'
import { MINUTE_MS } from '../core/clock.ts'
import type { ApiKey } from '../keys/key.ts'
import { CommitUnknown, sql, unavailable } from '../storage/db.ts'
import type { Hold, HoldOutcome } from './budget.ts'
import { budgetStore } from './budget-store.ts'
import type { LimitedSpender } from './slice.ts'
import { slices } from './slice-store.ts'

withDb((db) => {
  const { one, spender, books, settle } = sliceScene(db)

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

  test.each([true, false])(
    'T-104, R64 a hold of a child key that was cut off is given back, though it was written: %s',
    async (was) => {
      const tampering: Tampering = {}
      const child = await childOf(db(), await parentIn(db(), { budget: 1_000 }), 600)
      const who = spenderOf(child as ApiKey)
      const from = slices(tamperedDb(db(), tampering), 'one')
      cutOffNextCommit(tampering, was)
      await expect(from.hold(who, 600, NOON)).rejects.toThrow(CommitUnknown)
      const comeBack = takeAway(tampering)
      await from.giveBackUnused().catch(() => {}) // the store is away: the next time, then
      comeBack()
      await from.giveBackUnused()
      expect((await books(who)).rows).toEqual([])
      expect(await from.hold(who, 600, NOON)).toMatchObject({ kind: 'held' })
    },
  )

  /** Somebody whose holds are in such a row: one of a slice, one of a child key, one that the budget of a tag counts. */
  async function holderOf(kind: 'slice' | 'child' | 'tag'): Promise<LimitedSpender> {
    if (kind === 'child')
      return spenderOf((await childOf(db(), await parentIn(db(), { budget: 1_000 }), 600)) as ApiKey)
    const who = await spender(1_000)
    if (kind === 'slice') return who
    const id = `tgb_${who.key_id}`
    await db().rows(sql`
      INSERT INTO tag_budget (id, project_id, name, value, limit_micros, created_at, sequence)
      VALUES (${id}, ${who.project_id}, 'team', 'search', 1000, '2026-01-01T00:00:00Z', 1)`)
    return { ...who, tag_budgets: [id] }
  }

  // Where there is one writer at a time, nobody comes while a COMMIT is under way.
  if (ENGINE === 'postgres')
    test.each([
      ['slice', true],
      ['slice', false],
      ['child', true],
      ['child', false],
      ['tag', true],
      ['tag', false],
    ] as const)(
      'T-104 a hold (%s) whose COMMIT is only slow is given back, though it is tried too early; written in the end: %s',
      async (kind, happens) => {
        const [tampering, who]: [Tampering, LimitedSpender] = [{}, await holderOf(kind)]
        const all = async () => ({
          ...(await books(who)),
          tags: await db().rows(sql`SELECT held_micros FROM tag_budget WHERE project_id = ${who.project_id}`),
          tagged: await db().rows(sql`SELECT micros FROM tag_hold WHERE project_id = ${who.project_id}`),
        })
        const before = await all()
        const from = slices(tamperedDb(db(), tampering), 'one')
        const commit = stallNextCommit(tampering, happens)
        await expect(from.hold(who, 600, NOON)).rejects.toThrow(CommitUnknown)
        const early = from.giveBackUnused()
        await doneOrWaiting(early, db(), 'budget_hold')
        commit.release()
        await commit.settled
        await early
        await from.giveBackUnused()
        expect(await all()).toEqual(before)
        expect(await from.hold(who, 600, NOON)).toMatchObject({ kind: 'held' })
      },
    )

  /** Refuses to raise a row until those who wait are served one by one; then these happen to what is held, in turn. */
  function oneByOne(tampering: Tampering, then: readonly ('is written' | 'cut off' | 'is gone' | 'fails')[]): void {
    let [refused, nth, raises] = [0, 0, false]
    tampering.rows = (statement, run) => {
      const text = textOf(statement)
      const is_row = /^(INSERT INTO|UPDATE) budget_hold/.test(text)
      if (is_row) raises = text.startsWith('UPDATE')
      if (text.startsWith('SELECT k.budget_micros')) refused++
      if (refused < 3) return raises && text.startsWith('UPDATE project') ? Promise.resolve([]) : run(statement)
      const fate = is_row && then[nth++]
      if (is_row && then[nth] === 'cut off') cutOffNextCommit(tampering, true)
      if (fate === 'fails') return Promise.reject(unavailable(new Error('away')))
      return fate === 'is gone' ? Promise.resolve([]) : run(statement)
    }
  }

  test('T-104 so it is where a call is served by itself, because its slice was gone', async () => {
    const [tampering, who]: [Tampering, LimitedSpender] = [{}, await spender(1_000)]
    const from = slices(tamperedDb(db(), tampering), 'one')
    const first = await take(from, who, 100)
    oneByOne(tampering, ['is gone', 'cut off'])
    await expect(from.hold(who, 300, NOON)).rejects.toThrow(CommitUnknown)
    Object.assign(tampering, { rows: undefined, transaction: undefined })
    expect((await books(who)).rows).toEqual([100, 300])
    await from.release(first)
    await from.giveBackUnused()
    expect(await books(who)).toEqual(both(0, 0, []))
  })

  test('R43 where one of those who are served one by one fails, nothing stays held for the others', async () => {
    const [tampering, who]: [Tampering, LimitedSpender] = [{}, await spender(1_000)]
    const from = slices(tamperedDb(db(), tampering), 'one')
    // The second draws on the slice, the third gets a row of its own, the last none.
    oneByOne(tampering, ['is written', 'is gone', 'is written', 'fails'])
    const holds = [100, 100, 200, 300].map((micros) => from.hold(who, micros, NOON))
    const outcomes = await Promise.allSettled(holds)
    tampering.rows = undefined
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected'])
    await from.release(heldIn([await (holds[0] as Promise<HoldOutcome>)])[0] as Hold)
    await from.giveBackUnused()
    expect(await books(who)).toEqual(both(0, 0, []))
  })

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

  const DEAD_CHARGE = 50

  /**
   * A process charges some calls of a slice and dies. What comes back is spent by another, as far as the limit goes.
   * The sum of both, which may not be more than the limit, and what is held in the end.
   */
  async function dieAndSpend(tampering: Tampering) {
    const who = await spender(1_000)
    const over = tamperedDb(db(), tampering)
    const dying = slices(over, 'dying')
    const held = await takeAll(dying, who, 10, DEAD_CHARGE)
    const holds = held.slice(0, 9)
    const charged = await settleOn(over, dying, { who, holds, cost_micros: DEAD_CHARGE })
    await budgetStore(over, 'one').returnOrphans(NOON)
    const heir = slices(over, 'one')
    let told = charged.reduce((sum, { charged_micros }) => sum + charged_micros, 0)
    for (let n = 0; n < 40; n++) {
      const outcome = await heir.hold(who, DEAD_CHARGE, NOON)
      if (outcome.kind !== 'held') break
      const [settlement] = await settleOn(over, heir, { who, holds: [outcome.hold], cost_micros: DEAD_CHARGE })
      told += settlement?.charged_micros ?? 0
    }
    const { key, rows } = await books(who)
    return { told, ...(key as { spent_micros: number; held_micros: number }), rows }
  }
  const RIGHT = { told: 1_000, spent_micros: 1_000, held_micros: 0, rows: [] }

  test('R43 what a dead process charged is spent, the rest of its slice is there for others, to the micro', async () => {
    expect(await dieAndSpend({})).toEqual(RIGHT)
  })

  test('R43 planted: a slice that is not shrunk by a charge overshoots once its process has died', async () => {
    const tampering: Tampering = {}
    const planted = mutateSql(
      tampering,
      /UPDATE budget_hold SET micros = micros - /,
      'UPDATE budget_hold SET micros = micros - 0 * ',
    )
    const { told, held_micros } = await dieAndSpend(tampering)
    expect(planted.changed()).toBeGreaterThan(0)
    expect(told).toBeGreaterThan(1_000)
    expect(held_micros).toBeLessThan(0)
  })

  test('R43 planted: a slice that is not returned stays held', async () => {
    const kept: Tampering = {
      rows: (statement, run) =>
        textOf(statement).startsWith('DELETE FROM budget_hold') ? Promise.resolve([]) : run(statement),
    }
    expect(await dieAndSpend(kept)).not.toMatchObject({ held_micros: 0, rows: [] })
  })
})
