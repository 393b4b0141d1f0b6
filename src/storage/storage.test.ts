// The port's promises, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { deferred } from '../../test/support/tampered-db.ts'
import { type Sql, sql, type Tx, together } from './db.ts'

const put = (name: string, value: string) => sql`INSERT INTO setting (name, value) VALUES (${name}, ${value})`
const get = (name: string) => sql`SELECT value FROM setting WHERE name = ${name}`

withDb((db) => {
  test('§store a write is there for the next read', async () => {
    await db().rows(put('written', '1'))
    expect(await db().rows(get('written'))).toEqual([{ value: '1' }])
  })

  test('§store of many writes at once, one that fails undoes only itself', async () => {
    await db().rows(put('taken', 'first'))
    const names = ['a1', 'a2', 'taken', 'a3']
    const outcomes = await Promise.allSettled(names.map((name) => db().rows(put(name, 'many'))))
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    expect(await db().rows(sql`SELECT name FROM setting WHERE value = 'many' ORDER BY name`)).toEqual([
      { name: 'a1' },
      { name: 'a2' },
      { name: 'a3' },
    ])
  })

  test('§store one that fails for what a neighbour wrote can read it at once', async () => {
    const insert = (value: string) =>
      db()
        .transaction((tx) => tx.rows(put('contested', value)))
        .then(
          () => [{ value }],
          () => db().rows<{ value: string }>(get('contested')),
        )
    const found = await Promise.all(['a', 'b', 'c'].map(insert))
    expect(new Set(found.map(([row]) => row?.value)).size).toBe(1)
    expect(found.flat()).toHaveLength(3)
  })

  test('§store a transaction that throws leaves nothing, and its neighbours are untouched', async () => {
    const failing = db().transaction(async (tx) => {
      await tx.rows(put('undone', '1'))
      throw new Error('stop')
    })
    const working = db().transaction(async (tx) => tx.rows(put('kept', '1')))
    await expect(failing).rejects.toThrow('stop')
    await working
    expect(await db().rows(get('undone'))).toEqual([])
    expect(await db().rows(get('kept'))).toHaveLength(1)
  })

  test('§store a transaction reads its own writes; nobody else does before it commits', async () => {
    const seen = await db().transaction(async (tx) => {
      await tx.rows(put('inside', '1'))
      return (await tx.rows(get('inside'))).length
    })
    expect(seen).toBe(1)
  })

  test('§store fifty transactions that add one each leave fifty', async () => {
    await db().rows(put('count', '0'))
    const increment = async () =>
      db().transaction(async (tx) => {
        while (!(await tx.tryLock('count')));
        const [row] = await tx.rows<{ value: string }>(get('count'))
        await tx.rows(sql`UPDATE setting SET value = ${String(Number(row?.value) + 1)} WHERE name = 'count'`)
      })
    await Promise.all(Array.from({ length: 50 }, increment))
    expect(await db().rows(get('count'))).toEqual([{ value: '50' }])
  })

  test('§store one who writes again and again keeps nobody from their turn', async () => {
    const turns = { taken: 0 }
    let writing = true
    const taking = () => {
      turns.taken++
      if (writing) setImmediate(taking)
    }
    setImmediate(taking)
    for (let n = 0; n < 20; n++) await db().rows(put(`again ${n}`, '1'))
    writing = false
    expect(turns.taken).toBeGreaterThanOrEqual(19)
  })

  test('§store what is begun together runs in its order, and each has its own result', async () => {
    const [, before, , after] = await db().transaction((tx) =>
      together([
        tx.rows(put('order', 'first')),
        tx.rows(get('order')),
        tx.rows(sql`UPDATE setting SET value = 'second' WHERE name = 'order'`),
        tx.rows(get('order')),
      ]),
    )
    expect([before, after]).toEqual([[{ value: 'first' }], [{ value: 'second' }]])
  })

  test('§store one of those begun together that fails undoes all, is the reason told, and comes last of none', async () => {
    await db().rows(put('there', 'before'))
    let over = 0
    const counted = <T>(one: Promise<T>) => one.finally(() => over++)
    const failing = db()
      .transaction((tx) =>
        together([
          counted(tx.rows(put('beside 1', '1'))),
          counted(tx.rows(put('there', 'again'))),
          counted(tx.rows(put('beside 2', '1'))),
        ]),
      )
      .catch((error: Error) => [over, error.message] as const)
    expect(await failing).toEqual([3, expect.stringMatching(/unique/i)])
    expect(await db().rows(sql`SELECT name FROM setting WHERE name LIKE 'beside%'`)).toEqual([])
  })

  test('0363 what comes last is written with the rest, in its order', async () => {
    await db().transaction(async (tx) => {
      await tx.rows(put('last', '0'))
      await tx.last(sql`UPDATE setting SET value = value || ' 1' WHERE name = 'last'`)
      await tx.last(sql`UPDATE setting SET value = value || ' 2' WHERE name = 'last'`)
    })
    expect(await db().rows(get('last'))).toEqual([{ value: '0 1 2' }])
  })

  test('0363 of what comes last, one that fails undoes all and is the reason told', async () => {
    await db().rows(put('there already', 'before'))
    const failing = db().transaction(async (tx) => {
      await tx.rows(put('first 1', '1'))
      await tx.last(put('last 1', '1'))
      await tx.last(put('there already', 'again'))
      await tx.last(put('last 2', '1'))
    })
    await expect(failing).rejects.toThrow(/unique/i)
    expect(await db().rows(sql`SELECT name FROM setting WHERE name IN ('first 1', 'last 1', 'last 2')`)).toEqual([])
    await db().rows(put('after it', '1')) // the connection is as good as before
  })

  /** Whether another may write the row while the transaction goes on. */
  async function isFreeMeanwhile(name: string, take: (tx: Tx, statement: Sql) => Promise<unknown>): Promise<boolean> {
    await db().rows(put(name, '0'))
    const [inside, released] = [deferred(), deferred()]
    const first = db().transaction(async (tx) => {
      await take(tx, sql`UPDATE setting SET value = value || ' first' WHERE name = ${name}`)
      inside.resolve()
      await released.promise
    })
    await inside.promise
    const second = db().transaction(async (tx) => {
      await tx.rows(sql`SELECT set_config('lock_timeout', '100', true)`)
      await tx.rows(sql`UPDATE setting SET value = value || ' second' WHERE name = ${name}`)
    })
    const is_free = await second.then(
      () => true,
      () => false,
    )
    released.resolve()
    await first
    const value = is_free ? '0 second first' : '0 first'
    expect(await db().rows(get(name))).toEqual([{ value }])
    return is_free
  }

  test.runIf(ENGINE === 'postgres')(
    '0363 a row that is taken last is free while its transaction goes on; planted: one taken at once is not',
    async () => {
      expect(await isFreeMeanwhile('free', (tx, statement) => tx.last(statement))).toBe(true)
      expect(await isFreeMeanwhile('taken at once', (tx, statement) => tx.rows(statement))).toBe(false)
    },
  )

  test.runIf(ENGINE === 'postgres')(
    '§store a transaction that conflicts each time it is tried is away: nothing has happened, and it may be tried later',
    async () => {
      let tries = 0
      const conflicting = db().transaction(async (tx) => {
        tries++
        await tx.rows(put('conflicting', '1'))
        await tx.rows(sql`DO 'BEGIN RAISE EXCEPTION USING ERRCODE = ''40P01''; END'`)
      })
      await expect(conflicting).rejects.toMatchObject({ kind: 'unavailable' })
      expect([tries, await db().rows(get('conflicting'))]).toEqual([4, []])
    },
  )

  test.runIf(ENGINE === 'sqlite')(
    '§store where a full disk undoes a transaction, nothing begun with it is written',
    async () => {
      const pragma = (text: string) => db().rows<Record<string, number>>({ text: [text], values: [], once: true })
      const [pages] = await pragma('SELECT page_count FROM pragma_page_count')
      await pragma(`PRAGMA max_page_count = ${(pages?.page_count ?? 0) + 1}`)
      const large = 'x'.repeat(100_000)
      const failing = db().transaction((tx) => together([tx.rows(put('large', large)), tx.rows(put('small', '1'))]))
      await expect(failing).rejects.toMatchObject({ kind: 'unavailable' })
      await pragma('PRAGMA max_page_count = 1000000')
      expect(await db().rows(get('small'))).toEqual([])
      await db().rows(put('small', '2'))
      expect(await db().rows(get('small'))).toHaveLength(1)
    },
  )

  // Guards against the deadlock that this mistake would be in production.
  test('§store the outer db inside a transaction is refused', async () => {
    const mistake = db().transaction(async () => db().rows(get('anything')))
    await expect(mistake).rejects.toThrow('use the tx it was handed')
  })

  test('§store bytes, NULL, and integers up to 2^53 come back as they went in', async () => {
    await db().rows(sql`CREATE TABLE kinds (n BIGINT, b BYTEA, t TEXT)`)
    const bytes = Uint8Array.from([0, 1, 255])
    await db().rows(sql`INSERT INTO kinds (n, b, t) VALUES (${Number.MAX_SAFE_INTEGER}, ${bytes}, ${null})`)
    const [row] = await db().rows<{ n: number; b: Uint8Array; t: null }>(sql`SELECT n, b, t FROM kinds`)
    expect([row?.n, [...(row?.b ?? [])], row?.t]).toEqual([Number.MAX_SAFE_INTEGER, [0, 1, 255], null])
  })
})
