// R64 in SQL, on whichever engine this run is for: what a child may spend is its parent's and the project's from the
// start, and comes back exactly once, whatever races its end.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import {
  budgetsOn,
  childOf,
  endOf,
  familyBooks,
  type Limits,
  parentIn,
  spenderOf,
} from '../../test/support/families.ts'
import { plansOf } from '../../test/support/plans.ts'
import { mutateSql, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import type { ApiKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { sql } from '../storage/db.ts'
import type { Hold } from './budget.ts'
import { budgetStore } from './budget-store.ts'
import { carveStore } from './carve-store.ts'

const END = endOf()

withDb((db) => {
  const carves = () => carveStore(db())
  const budgets = () => budgetsOn(db())

  async function family(limits: Limits, micros: number): Promise<{ parent: ApiKey; child: ApiKey }> {
    const parent = await parentIn(db(), limits)
    const child = await childOf(db(), parent, micros)
    if (!child) throw new Error('it does not fit')
    return { parent, child }
  }

  async function take(key: ApiKey, micros: number, now = NOON): Promise<Hold> {
    const outcome = await budgets().hold(spenderOf(key), micros, now)
    if (outcome.kind !== 'held') throw new Error(`it does not fit: ${JSON.stringify(outcome)}`)
    return outcome.hold
  }

  /** Spent and held by each, once the books have been found right. */
  async function books(...keys: ApiKey[]) {
    const { of, project, wrong } = await familyBooks(db(), keys[0]?.project_id ?? '')
    expect(wrong).toEqual([])
    const figures = ({ spent_micros: spent, held_micros: held }: { spent_micros: number; held_micros: number }) => ({
      spent,
      held,
    })
    return { project: figures(project), keys: keys.map(({ id }) => figures(of(id))) }
  }

  test('R64 carved out at once, spent on both, and the rest back when it expires', async () => {
    const { parent, child } = await family({ budget: 1_000, cap: 5_000 }, 600)
    expect(await books(parent, child)).toEqual({
      project: { spent: 0, held: 600 },
      keys: [
        { spent: 0, held: 600 },
        { spent: 0, held: 0 },
      ],
    })
    await budgets().settle(spenderOf(child), await take(child, 300), 120, NOON)
    expect(await books(parent, child)).toEqual({
      project: { spent: 120, held: 480 },
      keys: [
        { spent: 120, held: 480 },
        { spent: 120, held: 0 },
      ],
    })
    expect(await carves().returnDue(END - 1)).toBe(0)
    expect(await carves().returnDue(END)).toBe(1)
    expect(await carves().returnDue(END)).toBe(0)
    expect(await books(parent, child)).toEqual({
      project: { spent: 120, held: 0 },
      keys: [
        { spent: 120, held: 0 },
        { spent: 120, held: 0 },
      ],
    })
  })

  test.each<[string, Limits]>([
    ['the parent’s limit', { budget: 1_000 }],
    ['the project’s cap', { cap: 1_000 }],
  ])('R64 carved out of %s to the micro, and never twice', async (_whose, limits) => {
    const parent = await parentIn(db(), limits)
    expect(await childOf(db(), parent, 1_001)).toBeUndefined()
    expect(await childOf(db(), parent, 600)).toBeDefined()
    expect(await childOf(db(), parent, 401)).toBeUndefined()
    expect(await budgets().hold(spenderOf(parent), 401, NOON)).toMatchObject({
      kind: 'refused',
      available_micros: 400,
    })
    await take(parent, 400)
    await books(parent)
  })

  test('R64, R65 carved out of the window too, which pays for what a child spends', async () => {
    const parent = await parentIn(db())
    const { project_id, id } = parent
    await keyStore(db()).setWindow(project_id, id, { period: 'day', limit_micros: 1_000 }, NOON)
    expect(await childOf(db(), parent, 1_001)).toBeUndefined()
    const child = (await childOf(db(), parent, 900)) as ApiKey
    await budgets().settle(spenderOf(child), await take(child, 500), 500, NOON)
    expect((await keyStore(db()).find(project_id, id))?.window).toMatchObject({ spent_micros: 500 })
    expect(await budgets().hold(spenderOf(parent), 101, NOON)).toMatchObject({ limit: 'window', available_micros: 100 })
  })

  test('R64 the child’s own budget caps it, also where the parent has none', async () => {
    const { parent, child } = await family({}, 100)
    expect(await budgets().hold(spenderOf(child), 101, NOON)).toEqual({
      kind: 'refused',
      limit: 'key',
      available_micros: 100,
    })
    await take(child, 100)
    await books(parent, child)
  })

  test('R64 from the moment of its end a child holds nothing more, returned or not', async () => {
    const { parent, child } = await family({ budget: 1_000 }, 600)
    expect(await budgets().hold(spenderOf(child), 1, END)).toEqual({ kind: 'ended' })
    await carves().returnDue(END)
    expect(await budgets().hold(spenderOf(child), 1, END)).toEqual({ kind: 'ended' })
    expect(await budgets().hold(spenderOf(child), 1, NOON)).toEqual({ kind: 'ended' }) // a clock that is behind
    await books(parent, child)
  })

  test('R64 an expired child’s rest is there for the parent at once, before anybody has swept', async () => {
    const { parent, child } = await family({ budget: 1_000, cap: 1_000 }, 600)
    expect(await budgets().hold(spenderOf(parent), 401, END - 1)).toMatchObject({ kind: 'refused' })
    await take(parent, 1_000, END)
    expect(await books(parent, child)).toMatchObject({ project: { held: 1_000 } })
  })

  test('R64 and for the next child', async () => {
    const { parent } = await family({ budget: 1_000 }, 600)
    expect(await childOf(db(), parent, 1_000, { now: END - 1 })).toBeUndefined()
    expect(await childOf(db(), parent, 1_000, { now: END })).toBeDefined()
    await books(parent)
  })

  test.each(['settled', 'released', 'orphaned'] as const)('R64 a hold that outlives its child: %s', async (how) => {
    const { parent, child } = await family({ budget: 1_000, cap: 1_000 }, 600)
    const hold = await take(child, 400)
    await carves().returnDue(END)
    expect(await books(parent, child)).toMatchObject({ project: { spent: 0, held: 400 } })
    if (how === 'settled') await budgets().settle(spenderOf(child), hold, 150, END)
    if (how === 'released') await budgets().release(hold)
    if (how === 'orphaned') await budgetStore(db(), 'another').returnOrphans(END)
    const spent = how === 'settled' ? 150 : 0
    expect(await books(parent, child)).toMatchObject({ project: { spent, held: 0 }, keys: [{ spent }, { spent }] })
  })

  test('R64 a parent that is revoked takes its children with it, and their rest comes back', async () => {
    const { parent, child } = await family({ budget: 1_000 }, 600)
    const other = (await childOf(db(), parent, 100)) as ApiKey
    const hold = await take(child, 50)
    expect(await keyStore(db()).revoke(parent.project_id, parent.id)).toBe(false) // its family must end with it
    await carves().revokeFamily(parent.project_id, parent.id, NOON)
    const listed = await keyStore(db()).list(parent.project_id)
    expect(listed.filter(({ status }) => status === 'revoked').map(({ id }) => id)).toEqual(
      expect.arrayContaining([parent.id, child.id, other.id]),
    )
    expect(await books(parent, child)).toMatchObject({ project: { held: 50 } })
    expect(await childOf(db(), parent, 1).catch((error) => error.message)).toContain('revoked')
    await budgets().settle(spenderOf(child), hold, 50, NOON)
    expect(await books(parent, child)).toMatchObject({ project: { spent: 50, held: 0 } })
  })

  test('R64 a parent has so many children at a time', async () => {
    const parent = await parentIn(db())
    const make = () => childOf(db(), parent, 0, { children_max: 2 })
    const [first] = [await make(), await make()]
    await expect(make()).rejects.toThrow('at most')
    await carves().revokeFamily(parent.project_id, first?.id ?? '', NOON)
    await make()
    await books(parent)
  })

  test('R64 ended children are forgotten in the end, those that hold something never', async () => {
    const { parent, child } = await family({}, 600)
    const busy = (await childOf(db(), parent, 10)) as ApiKey
    await take(busy, 10)
    await carves().returnDue(END)
    await carves().forgetEnded(END)
    expect((await books(parent, child, busy)).keys).toHaveLength(3)
    await carves().forgetEnded(END + 1)
    const left = (await keyStore(db()).list(parent.project_id)).map(({ id }) => id)
    expect([left.includes(child.id), left.includes(busy.id), left.includes(parent.id)]).toEqual([false, true, true])
  })

  test('R64 a parent that is revoked leaves children alone that had ended before', async () => {
    const { parent, child } = await family({ budget: 1_000 }, 600)
    await carves().returnDue(END)
    const ended = () => db().rows(sql`SELECT * FROM api_key WHERE id = ${child.id}`)
    const before = await ended()
    const late = (await childOf(db(), parent, 100, { now: END })) as ApiKey
    await carves().revokeFamily(parent.project_id, parent.id, END)
    expect(await ended()).toEqual(before)
    expect((await keyStore(db()).find(parent.project_id, late.id))?.status).toBe('revoked')
    await carves().revokeFamily(parent.project_id, child.id, END) // itself is revoked all the same
    expect((await keyStore(db()).find(parent.project_id, child.id))?.status).toBe('revoked')
    await books(parent, child, late)
  })

  test('R64 ended children are forgotten two hundred at a time, until none is left', async () => {
    const parent = await parentIn(db())
    await db().rows(sql`DELETE FROM api_key WHERE returned_at IS NOT NULL AND held_micros = 0`)
    await db().transaction(async (tx) => {
      for (let n = 0; n < 401; n++)
        await tx.rows(sql`
          INSERT INTO api_key (id, project_id, name, masked, origin, scopes, status, created_at, sequence,
                               spent_micros, parent_id, returned_at)
          VALUES (${`key_ended_${n}`}, ${parent.project_id}, 'run', '', 'minted', 'inference', 'active', '', ${n}, 0,
                  ${parent.id}, ${NOON})`)
    })
    const more: boolean[] = []
    do more.push(await carves().forgetEnded(NOON + 1))
    while (more.at(-1))
    expect(more).toEqual([true, true, false])
    expect((await keyStore(db()).list(parent.project_id, { parent_id: parent.id })).length).toBe(0)
  })

  test('R64 views that a child saved while it ended go before it is forgotten, two hundred at a time', async () => {
    await carves().returnDue(END)
    await db().rows(sql`DELETE FROM api_key WHERE returned_at IS NOT NULL AND held_micros = 0`)
    const { parent, child } = await family({ budget: 1_000 }, 600)
    await carves().returnDue(END)
    await db().transaction(async (tx) => {
      for (let n = 0; n < 201; n++)
        await tx.rows(sql`
          INSERT INTO saved_view (id, project_id, owner, page, name, query, created_at, sequence)
          VALUES (${`viw_late_${n}`}, ${parent.project_id}, ${child.id}, 'usage', ${`v${n}`}, '', '', ${n})`)
    })
    const left = async () => {
      const views = await db().rows(sql`SELECT id FROM saved_view WHERE owner = ${child.id}`)
      return [views.length, (await keyStore(db()).find(parent.project_id, child.id)) !== undefined]
    }
    const after: unknown[] = []
    while (await carves().forgetEnded(END + 1)) after.push(await left())
    expect([...after, await left()]).toEqual([
      [1, true],
      [0, false],
    ])
  })

  test.runIf(ENGINE === 'sqlite')('R64 which children ended long ago is known by an index', async () => {
    expect(await plansOf(db(), (on) => carveStore(on).forgetEnded(NOON))).toContainEqual(
      expect.stringContaining('USING INDEX api_key_by_return (returned_at<?)'),
    )
  })

  test('R64 of thirty carve-outs at once exactly those are made that fit', async () => {
    const parent = await parentIn(db(), { budget: 519, cap: 5_000 })
    const made = await Promise.all(Array.from({ length: 30 }, () => childOf(db(), parent, 50)))
    expect(made.filter(Boolean)).toHaveLength(10)
    expect(await books(parent)).toMatchObject({ project: { held: 500 } })
  })

  test('R64 the last settle, the sweep and the revocation at once, many times: the rest comes back once', async () => {
    for (let round = 0; round < 15; round++) {
      const { parent, child } = await family({ budget: 1_000, cap: 1_000 }, 600)
      const [one, two] = [await take(child, 200), await take(child, 300)]
      await Promise.all([
        db().transaction((tx) => budgetsOn(tx).settle(spenderOf(child), one, 77, END)),
        carves().returnDue(END, parent.project_id),
        budgets().release(two),
        carves().revokeFamily(parent.project_id, child.id, END),
        budgets().hold(spenderOf(child), 10, END - 1),
      ])
      const { project } = await familyBooks(db(), parent.project_id)
      const late = project.held_micros // the last hold got in before the end, or it did not
      expect([0, 10]).toContain(late)
      expect(await books(parent, child)).toMatchObject({ project: { spent: 77, held: late } })
    }
  })

  test.each<[string, string | RegExp, string]>([
    ['a carve-out that the parent does not hold', 'held_micros = held_micros + ', 'held_micros = held_micros + 0 * '],
    ['a rest that comes back twice', /AND returned_at IS NULL\s+RETURNING/, 'RETURNING'],
    [
      'a rest with what is still held in it',
      'budget_micros - spent_micros - held_micros AS rest',
      'budget_micros AS rest',
    ],
    ['a child that holds after its end', 'AND returned_at IS NULL AND expires_at > ', 'AND spent_micros <> '],
  ])('R64 planted: %s is noticed', async (_bug, from, to) => {
    const tampering: Tampering = {}
    const broken = tamperedDb(db(), tampering)
    const plant = mutateSql(
      tampering,
      from,
      to,
      /^UPDATE api_key SET (held_micros.*open_children|returned|held.*expires)/,
    )
    const parent = await parentIn(db(), { budget: 1_000 })
    const child = (await childOf(broken, parent, 600)) as ApiKey
    await take(child, 400)
    for (let times = 0; times < 2; times++) {
      await carveStore(broken).returnDue(END)
      await carveStore(broken).revokeFamily(parent.project_id, child.id, END)
    }
    await budgetsOn(broken).hold(spenderOf(child), 100, END)
    expect(plant.changed()).toBeGreaterThan(0)
    expect((await familyBooks(db(), parent.project_id)).wrong).not.toEqual([])
  })
})
