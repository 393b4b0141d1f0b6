// R43, §8.2: charges that are written together are charges all the same: each once, each with its event, none undone by
// a neighbour.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { deferred, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { budgetStore, type Spender } from '../budgets/budget-store.ts'
import { slices } from '../budgets/slice-store.ts'
import { newId } from '../core/ids.ts'
import { sealing } from '../core/sealing.ts'
import { holder, type IdempotencyStore, idempotencyStore, type Reservation } from '../idempotency/idempotency-store.ts'
import { createKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { type Db, type Lasting, sql } from '../storage/db.ts'
import { usageStore } from '../usage/usage-store.ts'
import { type Keeping, type Owed, settleTogether } from './settle-together.ts'

const SECRET = 'a secret for tests, 32 characters or more'
const FACTS = { stream: false, keyed: false, fallback_used: false } as Owed['facts']

withDb((db) => {
  const budgetsOn = (on: Db) => budgetStore(on, 'one')
  const settling = (on: Db = db()) =>
    settleTogether({ db: on, now: () => NOON, budgetsOn, slices: slices(on, 'one'), usageOn: usageStore })

  async function spenderIn(project_id: string): Promise<Spender> {
    const minted = createKey(project_id, { name: 'k' }, NOON)
    await keyStore(db()).insert(minted, NOON)
    return { project_id, key_id: minted.api_key.id }
  }

  const owed = (spender: Spender, cost_micros: number, more: Partial<Owed> & { trace_id?: string } = {}): Owed => {
    const { trace_id, ...rest } = more
    const { project_id, key_id } = spender
    const known = trace_id === undefined ? {} : { trace_id }
    return {
      spender,
      hold: undefined,
      cost_micros,
      event: ({ charged_micros }) => usageEvent(project_id, { key_id, charged_micros, ...known }),
      facts: FACTS,
      ...rest,
    }
  }

  const keeping = (digest: string, bytes: number, write: Keeping['write']): Keeping => ({ digest, bytes, write })

  /** What each transaction must outlive before its callers hear of it. */
  function counting() {
    const told: (Lasting | undefined)[] = []
    const counted: Db = {
      rows: (statement) => db().rows(statement),
      transaction: (work, writing) => {
        told.push(writing?.lasting)
        return db().transaction(work, writing)
      },
    }
    return { told, counted }
  }

  async function booksOf({ key_id, project_id }: Spender) {
    const [row] = await db().rows(sql`
      SELECT k.spent_micros AS key_spent, k.held_micros AS key_held, p.spent_micros AS spent, p.held_micros AS held,
        (SELECT COUNT(*) FROM usage_event u WHERE u.key_id = k.id) AS events,
        (SELECT CAST(COALESCE(SUM(u.charged_micros), 0) AS BIGINT) FROM usage_event u WHERE u.key_id = k.id) AS charged
      FROM api_key k JOIN project p ON p.id = k.project_id WHERE k.id = ${key_id} AND p.id = ${project_id}`)
    return row
  }

  test('R43 of fifty at once each is charged once, with its own event and its own settlement', async () => {
    const spender = await spenderIn(await projectIn(db()))
    const settle = settling()
    const settled = await Promise.all(Array.from({ length: 50 }, (_, n) => settle(owed(spender, n))))
    expect(settled.map((one) => one.charged_micros)).toEqual(Array.from({ length: 50 }, (_, n) => n))
    const sum = (50 * 49) / 2
    expect(await booksOf(spender)).toEqual({
      key_spent: sum,
      key_held: 0,
      spent: sum,
      held: 0,
      events: 50,
      charged: sum,
    })
  })

  test('R43 they share transactions, and holds go with their charges', async () => {
    const spender = await spenderIn(await projectIn(db()))
    const holds = await Promise.all(Array.from({ length: 20 }, () => budgetsOn(db()).hold(spender, 100, NOON)))
    const { told, counted } = counting()
    const settle = settling(counted)
    await Promise.all(
      holds.map((outcome) => settle(owed(spender, 130, { hold: outcome.kind === 'held' ? outcome.hold : undefined }))),
    )
    expect(told.length).toBeLessThan(3)
    expect(await booksOf(spender)).toEqual({
      ...{ key_spent: 2_000, key_held: 0, spent: 2_000, held: 0, events: 20, charged: 2_000 },
    })
    expect(await db().rows(sql`SELECT id FROM budget_hold WHERE key_id = ${spender.key_id}`)).toEqual([])
  })

  test('R43 what a limit counts is on the disk before it is told; a charge without one is committed', async () => {
    const spender = await spenderIn(await projectIn(db()))
    const outcome = await budgetsOn(db()).hold(spender, 100, NOON)
    const { told, counted } = counting()
    const settle = settling(counted)
    await settle(owed(spender, 5))
    await settle(owed(spender, 5, { hold: outcome.kind === 'held' ? outcome.hold : undefined }))
    expect(told).toEqual(['committed', 'flushed'])
  })

  test('§8.2 one that cannot be written fails alone', async () => {
    const spender = await spenderIn(await projectIn(db()))
    const settle = settling()
    await settle(owed(spender, 5, { trace_id: 'trc_twice' }))
    const outcomes = await Promise.allSettled([
      settle(owed(spender, 7)),
      settle(owed(spender, 1_000, { trace_id: 'trc_twice' })),
      settle(owed(spender, 11)),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await booksOf(spender)).toMatchObject({ key_spent: 23, spent: 23, events: 3, charged: 23 })
  })

  test('§11 answers are kept together with their charges, and on the disk before they are told', async () => {
    const spender = await spenderIn(await projectIn(db()))
    const { told, counted } = counting()
    const settle = settling(counted)
    const kept_by = (n: number) =>
      keeping(`d${n}`, 10, async (tx, { charged_micros }) => {
        await tx.rows(sql`INSERT INTO idempotency (digest, state, owner, process, expires_at)
          VALUES (${`d${n}`}, 'kept', ${String(charged_micros)}, 'one', ${NOON})`)
      })
    await Promise.all(Array.from({ length: 20 }, (_, n) => settle(owed(spender, n, { keep: kept_by(n) }))))
    expect(told).toEqual(['flushed'])
    expect(await booksOf(spender)).toMatchObject({ key_spent: 190, spent: 190, events: 20, charged: 190 })
    const kept = await db().rows(sql`SELECT COUNT(*) AS kept FROM idempotency WHERE digest = 'd' || owner`)
    expect(kept).toEqual([{ kept: 20 }])
  })

  test('§11 an answer that may not be kept is not charged, and its neighbours are', async () => {
    const spender = await spenderIn(await projectIn(db()))
    const settle = settling()
    const outcomes = await Promise.allSettled([
      settle(owed(spender, 7)),
      settle(owed(spender, 1_000, { keep: keeping('e', 10, () => Promise.reject(new Error('kept by another'))) })),
      settle(owed(spender, 11)),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await booksOf(spender)).toMatchObject({ key_spent: 18, spent: 18, events: 2, charged: 18 })
  })

  test('§11 what there is to seal and to send at once is bounded, and small answers do not wait for large', async () => {
    const spender = await spenderIn(await projectIn(db()))
    const told_apart: Db = {
      rows: (statement) => db().rows(statement),
      transaction: (work, writing) => db().transaction((tx) => work({ ...tx }), writing),
    }
    const settle = settling(told_apart)
    const batches = new Map<Db, number[]>()
    const keep = (bytes: number, n: number) =>
      keeping(`f${n}`, bytes, async (tx) => void batches.set(tx, [...(batches.get(tx) ?? []), bytes]))
    const sizes = [64_000_000, 3_000_000, 900_000, 200_000, 600_000, 10]
    await Promise.all(sizes.map((bytes, n) => settle(owed(spender, 1, { keep: keep(bytes, n) }))))
    const found = [...batches.values()].sort(([a = 0], [b = 0]) => a - b)
    expect(found).toEqual([[200_000, 10], [600_000], [3_000_000, 900_000], [64_000_000]])
    expect(await booksOf(spender)).toMatchObject({ key_spent: 6, events: 6 })
  })

  /** Two reservations, told in the order opposite to that of their rows. */
  async function reserveTwo(store: IdempotencyStore): Promise<Reservation[]> {
    const taken: Reservation[] = []
    for (const id of ['a', 'z']) {
      const outcome = await store.reserve({ digest: `${id} ${newId('hld')}`, key: id }, NOON)
      if (outcome.kind === 'taken') taken.push(outcome.reservation)
    }
    return taken.reverse()
  }

  if (ENGINE === 'postgres')
    test('R22 keeping and renewing the same rows at the same moment wait for each other, never both', async () => {
      const [tampering, spender]: [Tampering, Spender] = [{}, await spenderIn(await projectIn(db()))]
      const handlers = holder('one')
      const on = (on: Db) => idempotencyStore(on, sealing(SECRET), handlers)
      const reservations = await reserveTwo(on(db()))
      const [first, go] = [deferred(), deferred()]
      const written: string[] = []
      const keep = (one: Reservation) =>
        keeping(one.digest, 10, async (tx) => {
          if (written.push('keep') > 1) await go.promise
          await on(tx).keep(one, { status: 200, headers: {}, body: Buffer.from('x') }, NOON)
          first.resolve()
        })
      const settle = settling()
      const settled = Promise.all(reservations.map((one) => settle(owed(spender, 1, { keep: keep(one) }))))
      await first.promise
      tampering.rows = (statement, run) => {
        written.push('renew')
        return run(statement)
      }
      const renewed = on(tamperedDb(db(), tampering)).renewAll(NOON)
      await expect.poll(waiting).toBe(1)
      go.resolve()
      await Promise.all([settled, renewed])
      expect(written).toEqual(['keep', 'keep', 'renew', 'renew']) // none of them twice: no deadlock undid any
    })

  /** How many transactions wait for somebody else's row of this table. */
  async function waiting(): Promise<number> {
    const [row] = await db().rows<{ waiting: number }>(sql`
      SELECT COUNT(DISTINCT w.pid) AS waiting FROM pg_locks w JOIN pg_locks r ON r.pid = w.pid
      WHERE NOT w.granted AND r.relation = 'idempotency'::regclass`)
    return row?.waiting ?? 0
  }

  test('§8.2 planted: neighbours that are written again although the batch was not undone are found', async () => {
    const spender = await spenderIn(await projectIn(db()))
    // Every statement for itself: what was written before the failure stays.
    const torn: Db = {
      rows: (statement) => db().rows(statement),
      transaction: (work) => work({ ...torn, tryLock: async () => true }),
    }
    const settle = settling(torn)
    await settle(owed(spender, 5, { trace_id: 'trc_torn' }))
    await Promise.allSettled([settle(owed(spender, 7)), settle(owed(spender, 1_000, { trace_id: 'trc_torn' }))])
    expect(await booksOf(spender)).not.toMatchObject({ key_spent: 12, spent: 12, events: 2, charged: 12 })
  })
})
