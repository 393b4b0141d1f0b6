// §11 in SQL, on whichever engine this run is for. Each check also runs against a store with the bug it is there for.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { mutateSql, type Tampering, takeAway, tamperedDb } from '../../test/support/tampered-db.ts'
import { HOUR_MS, SECOND_MS } from '../core/clock.ts'
import { sealing } from '../core/sealing.ts'
import { type OpenDb, sql, unavailable } from '../storage/db.ts'
import { digest, type KeptResponse, type KeyedRequest } from './idempotency.ts'
import { holder, type IdempotencyStore, idempotencyStore, type Reservation } from './idempotency-store.ts'

const DAY_MS = 24 * HOUR_MS
const SEALS = sealing('a secret for tests, 32 characters or more')
const OK: KeptResponse = {
  status: 200,
  headers: { 'content-type': 'application/json; charset=utf-8', 'agent-trace-id': 'trc_1' },
  body: Buffer.from('{"total_ms":0.30000000000000004,"name":"é🚀"}'),
}

const fresh = (): KeyedRequest => {
  const key = randomUUID()
  return { key, project_id: 'prj_1', digest: digest({ project_id: 'prj_1', route: '/v2/x', params: {}, key }) }
}

async function take(store: IdempotencyStore, request: KeyedRequest, now: number): Promise<Reservation> {
  const taken = await store.reserve(request, now)
  if (taken.kind !== 'taken') throw new Error(`not free but ${taken.kind}`)
  return taken.reservation
}

const kindOf = async (store: IdempotencyStore, request: KeyedRequest, now: number) =>
  (await store.reserve(request, now)).kind

withDb((db) => {
  const store = (process = 'one') => idempotencyStore(db(), SEALS, holder(process))
  const rowsOf = ({ digest: id }: KeyedRequest) => db().rows(sql`SELECT * FROM idempotency WHERE digest = ${id}`)

  /** The same store with one statement changed. */
  function planted(from: string | RegExp, to: string, process = 'one') {
    const tampering: Tampering = {}
    const mutant = mutateSql(tampering, from, to)
    return { store: idempotencyStore(tamperedDb(db(), tampering), SEALS, holder(process)), mutant }
  }

  async function winnersOfFifty(reserve: (request: KeyedRequest) => Promise<{ kind: string }>): Promise<number> {
    const request = fresh()
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => reserve(request)))
    return outcomes.filter(({ kind }) => kind === 'taken').length
  }

  test('§11.5 of fifty at once, exactly one executes', async () => {
    expect(await winnersOfFifty((request) => store().reserve(request, NOON))).toBe(1)
  })

  test('§11.5 of fifty at once on a lapsed reservation, exactly one executes', async () => {
    const request = fresh()
    await take(store(), request, NOON)
    const again = Array.from({ length: 50 }, () => store('two').reserve(request, NOON + 60 * SECOND_MS))
    expect((await Promise.all(again)).filter(({ kind }) => kind === 'taken')).toHaveLength(1)
  })

  test('§11.5 planted: looking first and writing then is caught', async () => {
    const lookThenWrite = async (request: KeyedRequest) => {
      if ((await store().find(request, NOON)).kind !== 'free') return { kind: 'held' }
      await db().rows(sql`
        INSERT INTO idempotency (digest, state, owner, process, expires_at)
        VALUES (${request.digest}, 'held', ${randomUUID()}, 'one', ${NOON + 60_000}) ON CONFLICT (digest) DO NOTHING`)
      return { kind: 'taken' }
    }
    expect(await winnersOfFifty(lookThenWrite)).toBeGreaterThan(1)
  })

  test('§11.4 what is kept is found again, byte for byte, by whoever brings the key', async () => {
    const request = fresh()
    expect(await store().keep(await take(store(), request, NOON), OK, NOON)).toBe(true)
    expect(await store('two').find(request, NOON)).toEqual({ kind: 'kept', response: OK })
    expect(await store('two').reserve(request, NOON)).toEqual({ kind: 'kept', response: OK })
  })

  test('R20 neither the key nor the response lies readable in the row', async () => {
    const request = fresh()
    await store().keepAtOnce(request, { ...OK, body: Buffer.from('svc_live_verysecretindeed') }, NOON)
    const stored = JSON.stringify(await rowsOf(request), (_name, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    )
    expect(stored).toContain(request.digest)
    expect(stored).not.toContain(request.key)
    expect(stored).not.toContain('verysecret')
  })

  test('R20 a row that was put in another’s place does not open', async () => {
    const [mine, other] = [fresh(), fresh()]
    await store().keepAtOnce(mine, OK, NOON)
    const [{ sealed }] = (await rowsOf(mine)) as [{ sealed: Uint8Array }]
    await store().keepAtOnce(other, OK, NOON)
    await db().rows(sql`UPDATE idempotency SET sealed = ${sealed} WHERE digest = ${other.digest}`)
    await expect(store().find(other, NOON)).rejects.toThrow()
  })

  test('§11.6 a release frees the triple at once', async () => {
    const request = fresh()
    await store().release(await take(store(), request, NOON))
    expect(await kindOf(store(), request, NOON)).toBe('taken')
  })

  test('§11.6 a kept response is never released', async () => {
    const request = fresh()
    const reservation = await take(store(), request, NOON)
    await store().keep(reservation, OK, NOON)
    await store().release(reservation)
    expect((await store().find(request, NOON)).kind).toBe('kept')
  })

  test('§11.8 a dead owner’s reservation is held for 60 s, to the millisecond, and then free', async () => {
    const request = fresh()
    await take(store(), request, NOON)
    expect(await kindOf(store('two'), request, NOON + 60 * SECOND_MS - 1)).toBe('held')
    expect(await kindOf(store('two'), request, NOON + 60 * SECOND_MS)).toBe('taken')
  })

  /** T-23: a live owner renews every 15 s; at 600 s its triple must still be its own. */
  async function survivesTenMinutes(owner: IdempotencyStore): Promise<boolean> {
    const request = fresh()
    const reservation = await take(owner, request, NOON)
    for (let now = NOON; now < NOON + 600 * SECOND_MS; now += 15 * SECOND_MS) await owner.renewAll(now)
    const held = (await kindOf(store('stranger'), request, NOON + 600 * SECOND_MS)) === 'held'
    return held && owner.keep(reservation, OK, NOON + 600 * SECOND_MS)
  }

  test('R22 a live owner keeps its reservation however long it works', async () => {
    expect(await survivesTenMinutes(store('alive'))).toBe(true)
  })

  test('R22 planted: reclaiming by age alone is caught', async () => {
    const { store: aging, mutant } = planted(
      /SET expires_at = $/,
      'SET expires_at = expires_at + 0 * expires_at * ',
      'alive',
    )
    expect(await survivesTenMinutes(aging)).toBe(false)
    expect(mutant.changed()).toBeGreaterThan(0)
  })

  test('R22 a process renews only what is its own', async () => {
    const request = fresh()
    await take(store('dead'), request, NOON)
    await store('alive').renewAll(NOON + 59 * SECOND_MS)
    expect(await kindOf(store('alive'), request, NOON + 60 * SECOND_MS)).toBe('taken')
  })

  test.each<[string, (owner: IdempotencyStore, taken: Reservation) => unknown]>([
    ['said so', (owner, taken) => owner.ended(taken)],
    ['could not give it back', (owner, taken) => expect(owner.release(taken)).rejects.toThrow('not available')],
  ])('R22 a process does not renew what a handler left behind that %s', async (_case, leave) => {
    const [tampering, request]: [Tampering, KeyedRequest] = [{}, fresh()]
    const owner = idempotencyStore(tamperedDb(db(), tampering), SEALS, holder('alive'))
    const taken = await take(owner, request, NOON)
    const bringBack = takeAway(tampering)
    await leave(owner, taken)
    bringBack()
    await owner.renewAll(NOON + 30 * SECOND_MS)
    expect(await kindOf(store(), request, NOON + 60 * SECOND_MS)).toBe('taken')
  })

  test('R22 a process does not renew what it never heard to be its own', async () => {
    const [tampering, request]: [Tampering, KeyedRequest] = [{}, fresh()]
    const owner = idempotencyStore(tamperedDb(db(), tampering), SEALS, holder('alive'))
    tampering.rows = async (statement, run) => {
      await run(statement)
      throw unavailable(new Error('cut off'))
    }
    await expect(owner.reserve(request, NOON)).rejects.toThrow('not available')
    tampering.rows = undefined
    await owner.renewAll(NOON + 30 * SECOND_MS)
    expect(await kindOf(store(), request, NOON + 60 * SECOND_MS - 1)).toBe('held')
    expect(await kindOf(store(), request, NOON + 60 * SECOND_MS)).toBe('taken')
  })

  test('R22 reservations are renewed in the order of their digests, whenever they were taken', async () => {
    const [tampering, renewed]: [Tampering, unknown[]] = [{}, []]
    const owner = idempotencyStore(tamperedDb(db(), tampering), SEALS, holder('alive'))
    const taken = Array.from({ length: 20 }, fresh)
    for (const request of taken) await take(owner, request, NOON)
    tampering.rows = (statement, run) => {
      renewed.push(statement.values[1])
      return run(statement)
    }
    await owner.renewAll(NOON)
    expect(renewed).toEqual(taken.map((request) => request.digest).sort())
  })

  test('R22 renewing does not stretch a kept response past its 24 hours', async () => {
    const request = fresh()
    await store().keepAtOnce(request, OK, NOON)
    await store().renewAll(NOON + 23 * HOUR_MS)
    expect((await store().find(request, NOON + DAY_MS)).kind).toBe('free')
  })

  /** T-24: the owner was paused, another took over, then the owner wakes up and wants to finish. */
  async function zombieDoes(zombie: IdempotencyStore): Promise<string[]> {
    const [kept, released] = [fresh(), fresh()]
    const old = [await take(zombie, kept, NOON), await take(zombie, released, NOON)] as const
    const later = NOON + 70 * SECOND_MS
    const heirs = [await take(store('heir'), kept, later), await take(store('heir'), released, later)] as const
    const done: string[] = []
    if (await zombie.keep(old[0], OK, later)) done.push('kept over its heir')
    await zombie.release(old[1])
    if ((await store().find(released, later)).kind === 'free') done.push('freed its heir')
    if (!(await store('heir').keep(heirs[1], OK, later))) done.push('kept its heir from keeping')
    return done
  }

  test('R22 a fenced owner can neither keep nor release', async () => {
    expect(await zombieDoes(store('zombie'))).toEqual([])
  })

  test('R22 planted: keeping or releasing without naming the owner is caught', async () => {
    const { store: keeping } = planted(/AND owner = $/, "AND '' <> ", 'zombie')
    expect(await zombieDoes(keeping)).toEqual(['kept over its heir', 'freed its heir', 'kept its heir from keeping'])
  })

  async function expiryFaults(on: IdempotencyStore, sweep: (now: number) => Promise<unknown>): Promise<string[]> {
    const [request, faults] = [fresh(), [] as string[]]
    await on.keepAtOnce(request, OK, NOON)
    await sweep(NOON + DAY_MS - 1)
    if ((await on.find(request, NOON + DAY_MS - 1)).kind !== 'kept') faults.push('gone too early')
    if (await on.keepAtOnce(request, OK, NOON + DAY_MS - 1)) faults.push('overwritten too early')
    await sweep(NOON + DAY_MS)
    if ((await on.find(request, NOON + DAY_MS)).kind !== 'free') faults.push('there too long')
    if (!(await on.keepAtOnce(request, OK, NOON + DAY_MS))) faults.push('not free to take')
    return faults
  }

  test('§11.7 kept for 24 hours to the millisecond, swept or not', async () => {
    expect(await expiryFaults(store(), async () => {})).toEqual([])
    expect(await expiryFaults(store(), (now) => store().sweep(now))).toEqual([])
  })

  test.each([
    ['a look-up', 'expires_at > ', 'expires_at >= ', 'there too long'],
    ['a take-over', 'idempotency.expires_at <= ', 'idempotency.expires_at < ', 'not free to take'],
  ])('§11.7 planted: %s that is a millisecond off is caught', async (_case, from, to, fault) => {
    expect(await expiryFaults(planted(from, to).store, async () => {})).toContain(fault)
  })

  test('§11.7 planted: a sweep that does not look at the time is caught', async () => {
    const hasty = planted('WHERE expires_at <= ', 'WHERE expires_at > 0 OR expires_at <= ').store
    expect(await expiryFaults(store(), (now) => hasty.sweep(now))).toContain('gone too early')
  })

  test('§11.7 a sweep takes what is over, a thousand at a time, and leaves the rest', async () => {
    await clear(db())
    const [old, young] = [Array.from({ length: 1_001 }, fresh), fresh()]
    // In one transaction: so many at once would have to wait for a connection.
    await db().transaction(async (tx) => {
      for (const request of old) await idempotencyStore(tx, SEALS, holder('one')).keepAtOnce(request, OK, NOON)
    })
    await store().keepAtOnce(young, OK, NOON + 1)
    const turns: boolean[] = []
    do turns.push(await store().sweep(NOON + DAY_MS))
    while (turns.at(-1))
    expect(turns).toEqual([true, false])
    expect(await db().rows(sql`SELECT digest FROM idempotency`)).toEqual([{ digest: young.digest }])
  })

  test('§11.7 a sweep overwrites some megabytes at a time, however few rows that is', async () => {
    await clear(db())
    const large = { ...OK, body: Buffer.alloc(256 * 1024) }
    await db().transaction(async (tx) => {
      for (let n = 0; n < 40; n++) await idempotencyStore(tx, SEALS, holder('one')).keepAtOnce(fresh(), large, NOON)
    })
    const left: number[] = []
    let more = true
    while (more) {
      more = await store().sweep(NOON + DAY_MS)
      left.push((await db().rows(sql`SELECT digest FROM idempotency`)).length)
    }
    expect(left).toEqual([24, 8, 0])
  })

  test('R21 a kept answer goes with its transaction: rolled back, nothing is left', async () => {
    const request = fresh()
    const undone = db().transaction(async (tx) => {
      await idempotencyStore(tx, SEALS, holder('one')).keepAtOnce(request, OK, NOON)
      throw new Error('stop')
    })
    await expect(undone).rejects.toThrow('stop')
    expect(await rowsOf(request)).toEqual([])
  })

  test('R21 what is held elsewhere cannot be kept at once', async () => {
    const request = fresh()
    await take(store('other'), request, NOON)
    expect(await store().keepAtOnce(request, OK, NOON)).toBe(false)
  })
})

const clear = (db: OpenDb) => db.rows(sql`DELETE FROM idempotency`)
