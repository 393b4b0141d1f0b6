// R65 in SQL, on whichever engine this run is for: a limit by the calendar is as hard as the total, on both sides of
// every midnight.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { mutateSql, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { rollEverything } from '../../test/support/usage-answers.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { DAY_MS, HOUR_MS, rfc3339 } from '../core/clock.ts'
import { createKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { type Db, sql } from '../storage/db.ts'
import { usageStore } from '../usage/usage-store.ts'
import type { Hold } from './budget.ts'
import { budgetStore, type Spender } from './budget-store.ts'
import type { Period } from './budget-window.ts'
import { DoesNotFit, raiseProject } from './ledger-store.ts'

const MIDNIGHT = NOON + 12 * HOUR_MS // of 16 November 2026, a Monday

withDb((db) => {
  const store = (on: Db = db()) => budgetStore(on, 'one')

  async function limited(limit_micros: number, period: Period = 'day', budget?: number): Promise<Spender> {
    const project_id = await projectIn(db())
    const { api_key } = await keyStore(db()).insert(createKey(project_id, { name: 'k' }, NOON), NOON)
    if (budget !== undefined) await keyStore(db()).setBudget(project_id, api_key.id, budget)
    await keyStore(db()).setWindow(project_id, api_key.id, { period, limit_micros }, NOON)
    return { project_id, key_id: api_key.id }
  }

  async function take(who: Spender, micros: number, now = NOON): Promise<Hold> {
    const outcome = await store().hold(who, micros, now)
    if (outcome.kind !== 'held') throw new Error(`it does not fit: ${JSON.stringify(outcome)}`)
    return outcome.hold
  }

  const window = async ({ project_id, key_id }: Spender) => (await keyStore(db()).find(project_id, key_id))?.window

  test('R65 to the micro, spent and held alike, and the refusal says when it starts anew', async () => {
    const who = await limited(1_000)
    await store().settle(who, await take(who, 400), 400, NOON)
    await take(who, 350)
    const refused = { kind: 'refused', limit: 'window', available_micros: 250, resets_at: MIDNIGHT }
    expect(await store().hold(who, 251, NOON)).toEqual(refused)
    await take(who, 250)
    expect(await store().hold(who, 1, NOON)).toMatchObject({ limit: 'window', available_micros: 0 })
  })

  test('R65 total and window stand beside each other: whichever is reached first, and it is named', async () => {
    const who = await limited(1_000, 'day', 1_500)
    await store().settle(who, await take(who, 1_000), 1_000, NOON)
    expect(await store().hold(who, 1, NOON)).toMatchObject({ limit: 'window' })
    expect(await store().hold(who, 501, NOON)).toMatchObject({ limit: 'key', available_micros: 0 })
    expect(await store().hold(who, 501, MIDNIGHT)).toMatchObject({ limit: 'key', available_micros: 500 })
    await take(who, 500, MIDNIGHT)
  })

  test('R65 at midnight, and not a millisecond before, all of it is there again', async () => {
    const who = await limited(1_000)
    await store().settle(who, await take(who, 1_000), 1_000, NOON)
    expect(await store().hold(who, 1, MIDNIGHT - 1)).toMatchObject({ limit: 'window' })
    await take(who, 1_000, MIDNIGHT)
  })

  test('R65 what is held over midnight counts in both windows; the one it is settled in pays', async () => {
    const who = await limited(1_000)
    const over = await take(who, 700, MIDNIGHT - 1)
    expect(await store().hold(who, 301, MIDNIGHT)).toMatchObject({ limit: 'window', available_micros: 300 })
    await store().settle(who, over, 600, MIDNIGHT)
    expect(await window(who)).toMatchObject({ spent_micros: 600, resets_at: '2026-11-17T00:00:00.000Z' })
    expect(await store().hold(who, 401, MIDNIGHT)).toMatchObject({ limit: 'window', available_micros: 400 })
    await take(who, 400, MIDNIGHT)
  })

  test('R65 a replica whose clock is behind charges the window that has begun, and opens none again', async () => {
    const who = await limited(1_000)
    const [one, two] = [await take(who, 300), await take(who, 300)]
    await store().settle(who, one, 300, MIDNIGHT)
    await store().settle(who, two, 300, MIDNIGHT - 50)
    expect(await window(who)).toMatchObject({ spent_micros: 600, resets_at: '2026-11-17T00:00:00.000Z' })
  })

  test.each<[Period, number]>([
    ['day', MIDNIGHT],
    ['week', MIDNIGHT],
    ['month', Date.UTC(2026, 11, 1)],
  ])('R65 a %s ends when it does', async (period, end) => {
    const who = await limited(100, period)
    await store().settle(who, await take(who, 100), 100, NOON)
    expect(await store().hold(who, 1, end - 1)).toMatchObject({ limit: 'window', resets_at: end })
    await store().settle(who, await take(who, 100, end), 100, end)
    expect(await store().hold(who, 1, end)).toMatchObject({ limit: 'window' })
  })

  test('R65 a window that is set late knows what was spent since it began', async () => {
    const who = await limited(1_000)
    const { project_id, key_id } = who
    await keyStore(db()).setWindow(project_id, key_id, null, NOON)
    expect(await window(who)).toBeUndefined()
    await store().settle(who, undefined, 600, NOON)
    for (const [at, charged_micros] of [[NOON - DAY_MS, 50] as const, [NOON, 600] as const])
      await usageStore(db()).insert(usageEvent(project_id, { key_id, created_at: rfc3339(at), charged_micros }))
    await keyStore(db()).setWindow(project_id, key_id, { period: 'day', limit_micros: 1_000 }, NOON)
    expect(await window(who)).toMatchObject({ spent_micros: 600 })
    await keyStore(db()).setWindow(project_id, key_id, { period: 'week', limit_micros: 1_000 }, NOON)
    expect(await window(who)).toMatchObject({ spent_micros: 650, period: 'week' })
    await keyStore(db()).setWindow(project_id, key_id, { period: 'week', limit_micros: 9 }, NOON)
    expect(await window(who)).toMatchObject({ spent_micros: 650, limit_micros: 9 })
  })

  test('R65 a window that is set late finds what is rolled up, what is not, and what children spent', async () => {
    const who = await limited(1_000)
    const { project_id, key_id } = who
    const { api_key: child } = await keyStore(db()).insert(createKey(project_id, { name: 'c' }, NOON), NOON)
    await db().rows(sql`UPDATE api_key SET parent_id = ${key_id} WHERE id = ${child.id}`)
    const spend = (key: string, at: number, charged_micros: number) =>
      usageStore(db()).insert(usageEvent(project_id, { key_id: key, created_at: rfc3339(at), charged_micros }))
    const month = Date.UTC(2026, 10, 1)
    await spend(key_id, month - 1, 1) // of the month before
    await spend(key_id, month, 20)
    await spend(child.id, NOON, 300)
    await spend('key_of_others', NOON, 5)
    await rollEverything(db())
    await db().rows(sql`DELETE FROM usage_event WHERE project_id = ${project_id}`) // retention has let them go
    await spend(key_id, month, 4_000)
    await spend(child.id, NOON - 1, 50_000)
    await spend('key_of_others', NOON, 7)
    await keyStore(db()).setWindow(project_id, key_id, { period: 'month', limit_micros: 1_000 }, NOON)
    expect(await window(who)).toMatchObject({ spent_micros: 54_320, period: 'month' })
  })

  const COUNT = 30
  const FIT = 10

  async function admitted(on: Db): Promise<number> {
    const who = await limited(FIT * 20 + 19)
    const outcomes = await Promise.all(Array.from({ length: COUNT }, () => store(on).hold(who, 20, NOON)))
    return outcomes.filter(({ kind }) => kind === 'held').length
  }

  test('R65 of many at once exactly those get a hold that fit', async () => {
    expect(await admitted(db())).toBe(FIT)
  })

  test.each([
    ['a window that is not looked at', /window_limit_micros IS NULL OR/, '1 = 1 OR', COUNT],
    ['a window that does not count what is held', /OR held_micros \+ $/, 'OR ', COUNT],
  ])('R65 planted: %s is noticed', async (_bug, from, to, expected) => {
    const tampering: Tampering = {}
    mutateSql(tampering, from, to, /^UPDATE api_key/)
    expect(await admitted(tamperedDb(db(), tampering))).toBe(expected)
  })

  test('R43 without any limit, what is held still ends where numbers stop being exact', async () => {
    const project_id = await projectIn(db())
    await raiseProject(db(), project_id, Number.MAX_SAFE_INTEGER - 10)
    await raiseProject(db(), project_id, 10)
    await expect(raiseProject(db(), project_id, 1)).rejects.toThrow(DoesNotFit)
    const [project] = await db().rows(sql`SELECT held_micros FROM project WHERE id = ${project_id}`)
    expect(project).toEqual({ held_micros: Number.MAX_SAFE_INTEGER })
  })
})
