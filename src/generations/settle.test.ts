// R43, §8.2: charges that are written together are charges all the same: each once, each with its event, none undone by
// a neighbour.
import { expect, test } from 'vitest'
import { billOf } from '../../test/support/bills.ts'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { deferred, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { budgetStore, type Spender } from '../budgets/budget-store.ts'
import { slices } from '../budgets/slice-store.ts'
import { newId } from '../core/ids.ts'
import { sealing } from '../core/sealing.ts'
import { holder, type IdempotencyStore, idempotencyStore, type Reservation } from '../idempotency/idempotency-store.ts'
import { createKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { type Db, type Lasting, sql } from '../storage/db.ts'
import { removeLooseParts } from '../storage/large-bodies.ts'
import { usageStore } from '../usage/usage-store.ts'
import { charges, type SettleNeeds } from './settle.ts'

const SECRET = 'a secret for tests, 32 characters or more'
const SEALS = sealing(SECRET)

type Keep = ReturnType<SettleNeeds['idempotencyOn']>['keep']

const reservationOf = (digest: string): Reservation => ({ digest, project_id: 'prj_1', key: digest, owner: 'one' })

withDb((db) => {
  const budgetsOn = (on: Db) => budgetStore(on, 'one')
  function settling(on: Db = db(), keepOn: (tx: Db) => Keep = () => async () => true) {
    const nobody = () => {}
    const { settle } = charges({
      ...{ db: on, now: () => NOON, seals: SEALS, slices: slices(on, 'one'), budgetsOn, usageOn: usageStore },
      subscriptionsOn: () => ({ useTokens: async () => 0 }),
      idempotencyOn: (tx) => ({ keep: keepOn(tx), ended: nobody }),
      onSettled: nobody,
    })
    return settle
  }

  async function spenderIn(project_id: string): Promise<Spender> {
    const minted = createKey(project_id, { name: 'k' }, NOON)
    await keyStore(db()).insert(minted, NOON)
    return { project_id, key_id: minted.api_key.id }
  }

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
    const settled = await Promise.all(Array.from({ length: 50 }, (_, n) => settle(billOf(spender, n))))
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
      holds.map((outcome) =>
        settle(billOf(spender, 130, { hold: outcome.kind === 'held' ? outcome.hold : undefined })),
      ),
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
    await settle(billOf(spender, 5))
    await settle(billOf(spender, 5, { hold: outcome.kind === 'held' ? outcome.hold : undefined }))
    expect(told).toEqual(['committed', 'flushed'])
  })

  test('§8.2 one that cannot be written fails alone', async () => {
    const spender = await spenderIn(await projectIn(db()))
    const settle = settling()
    await settle(billOf(spender, 5, { trace_id: 'trc_twice' }))
    const outcomes = await Promise.allSettled([
      settle(billOf(spender, 7)),
      settle(billOf(spender, 1_000, { trace_id: 'trc_twice' })),
      settle(billOf(spender, 11)),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await booksOf(spender)).toMatchObject({ key_spent: 23, spent: 23, events: 3, charged: 23 })
  })

  test('§11 answers are kept together with their charges, and on the disk before they are told', async () => {
    const spender = await spenderIn(await projectIn(db()))
    const { told, counted } = counting()
    const settle = settling(counted, (tx) => async ({ digest }, { headers }) => {
      await tx.rows(sql`INSERT INTO idempotency (digest, state, owner, process, expires_at)
        VALUES (${digest}, 'kept', ${headers['agent-charged-micros'] ?? ''}, 'one', ${NOON})`)
      return true
    })
    const keyed = (n: number) => billOf(spender, n, { reservation: reservationOf(`d${n}`), bytes: 10 })
    await Promise.all(Array.from({ length: 20 }, (_, n) => settle(keyed(n))))
    expect(told).toEqual(['flushed'])
    expect(await booksOf(spender)).toMatchObject({ key_spent: 190, spent: 190, events: 20, charged: 190 })
    const kept = await db().rows(sql`SELECT COUNT(*) AS kept FROM idempotency WHERE digest = 'd' || owner`)
    expect(kept).toEqual([{ kept: 20 }])
  })

  test('§11 an answer that may not be kept is not charged, and its neighbours are', async () => {
    const spender = await spenderIn(await projectIn(db()))
    const settle = settling(db(), () => async () => false) // another has kept its own meanwhile
    const outcomes = await Promise.allSettled([
      settle(billOf(spender, 7)),
      settle(billOf(spender, 1_000, { reservation: reservationOf('e'), bytes: 10 })),
      settle(billOf(spender, 11)),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await booksOf(spender)).toMatchObject({ key_spent: 18, spent: 18, events: 2, charged: 18 })
  })

  test('R77 no statement has more of an answer than a part, and small answers do not wait for large', async () => {
    const spender = await spenderIn(await projectIn(db()))
    const handlers = holder('one')
    let most_bytes = 0
    const rows: Tampering['rows'] = (statement, run) => {
      for (const value of statement.values)
        if (value instanceof Uint8Array) most_bytes = Math.max(most_bytes, value.length)
      return run(statement)
    }
    const watched = tamperedDb(db(), { rows })
    const order: number[] = []
    const settle = settling(watched, (tx) => (one, answer, now, large) => {
      order.push(answer.body.length)
      return idempotencyStore(tx, SEALS, handlers).keep(one, answer, now, large)
    })
    const keyed = async (bytes: number) => {
      const request = { digest: newId('hld'), project_id: spender.project_id, key: `key ${bytes}` }
      const taken = await idempotencyStore(db(), SEALS, handlers).reserve(request, NOON)
      if (taken.kind !== 'taken') throw new Error(taken.kind)
      return { request, bill: billOf(spender, 1, { reservation: taken.reservation, bytes }) }
    }
    const sizes = [2_000_000, 900_000, 262_145, 200_000, 10]
    const all = await Promise.all(sizes.map(keyed))
    await Promise.all(all.map(({ bill }) => settle(bill)))
    expect(order.slice(0, 2).sort()).toEqual([10, 200_000])
    expect(most_bytes).toBeLessThan(270_000)
    expect(await booksOf(spender)).toMatchObject({ key_spent: 5, events: 5 })
    for (const { request, bill } of all) {
      const found = await idempotencyStore(db(), SEALS, handlers).find(request, NOON)
      const parts: Buffer[] = []
      if (found.kind === 'kept') for await (const part of found.large ?? []) parts.push(part)
      if (found.kind === 'kept') parts.push(found.response.body)
      expect(bill.answer?.body.equals(Buffer.concat(parts))).toBe(true)
    }
  })

  test('R77 where its parts were swept meanwhile, an answer is kept all the same', async () => {
    const spender = await spenderIn(await projectIn(db()))
    const store = idempotencyStore(db(), SEALS, holder('one'))
    const request = { digest: newId('hld'), project_id: spender.project_id, key: 'k' }
    const taken = await store.reserve(request, NOON)
    const reservation = taken.kind === 'taken' ? taken.reservation : undefined
    let swept = 0
    const settle = settling(db(), (tx) => async (one, answer, now, large) => {
      if (large && swept++ === 0) await removeLooseParts(tx, spender.project_id)
      return idempotencyStore(tx, SEALS, holder('one')).keep(one, answer, now, large)
    })
    await settle(billOf(spender, 1, { reservation, bytes: 600_000 }))
    const found = await store.find(request, NOON)
    expect([swept, found.kind === 'kept' && found.response.body.length]).toEqual([1, 600_000])
    expect(await booksOf(spender)).toMatchObject({ key_spent: 1, events: 1 })
  })

  /** Two reservations, told in the order opposite to that of their rows. */
  async function reserveTwo(store: IdempotencyStore): Promise<Reservation[]> {
    const taken: Reservation[] = []
    for (const id of ['a', 'z']) {
      const outcome = await store.reserve({ digest: `${id} ${newId('hld')}`, project_id: 'prj_1', key: id }, NOON)
      if (outcome.kind === 'taken') taken.push(outcome.reservation)
    }
    return taken.reverse()
  }

  if (ENGINE === 'postgres')
    test('R22 keeping and renewing the same rows at the same moment wait for each other, never both', async () => {
      const [tampering, spender]: [Tampering, Spender] = [{}, await spenderIn(await projectIn(db()))]
      const handlers = holder('one')
      const on = (on: Db) => idempotencyStore(on, SEALS, handlers)
      const reservations = await reserveTwo(on(db()))
      const [first, go] = [deferred(), deferred()]
      const written: string[] = []
      const settle = settling(db(), (tx) => async (one, answer, now) => {
        if (written.push('keep') > 1) await go.promise
        const kept = await on(tx).keep(one, answer, now)
        first.resolve()
        return kept
      })
      const bills = reservations.map((reservation) => billOf(spender, 1, { reservation, bytes: 10 }))
      const settled = Promise.all(bills.map(settle))
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
      transaction: (work) =>
        work({ ...torn, tryLock: async () => true, last: async (statement) => void (await torn.rows(statement)) }),
    }
    const settle = settling(torn)
    await settle(billOf(spender, 5, { trace_id: 'trc_torn' }))
    await Promise.allSettled([settle(billOf(spender, 7)), settle(billOf(spender, 1_000, { trace_id: 'trc_torn' }))])
    expect(await booksOf(spender)).not.toMatchObject({ key_spent: 12, spent: 12, events: 2, charged: 12 })
  })
})
