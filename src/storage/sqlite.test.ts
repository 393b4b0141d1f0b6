// What only the embedded adapter promises: what is on the disk when, and what does not wait on the event loop.
import { randomBytes } from 'node:crypto'
import { fdatasync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { foundPieces, piecesOf } from '../../test/support/found-pieces.ts'
import { type OpenDb, sql } from './db.ts'
import type { FlushFile } from './disk-flush.ts'
import { openSqlite } from './sqlite.ts'
import { noGuard } from './transaction-guard.ts'

const put = (name: string) => sql`INSERT INTO note (name) VALUES (${name})`
const noted = sql`SELECT name FROM note ORDER BY name`

/** A disk whose flushes end when the test says so. */
function heldDisk() {
  const under_way: (() => void)[] = []
  let refusal: Error | null = null
  let begun = 0
  const flushFile: FlushFile = (_file, done) => {
    begun++
    under_way.push(() => done(refusal))
  }
  return {
    flushFile,
    begun: () => begun,
    end: () => under_way.shift()?.(),
    refuse: (error: Error) => (refusal = error),
  }
}

/** Pieces of 16 bytes of what was deleted that are anywhere in the store's files. */
const leftOf = (path: string, deleted: readonly Buffer[]) => foundPieces(path, new Set(deleted.flatMap(piecesOf)))

describe('§store the embedded store and its disk', () => {
  let folder: string
  const path = () => join(folder, 'switchyard.db')
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'switchyard-store-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  /** With a table in it, and everything on the disk. */
  async function opened(flushFile: FlushFile) {
    const before = openSqlite(path())
    await before.rows(sql`CREATE TABLE note (name TEXT PRIMARY KEY)`)
    await before.close()
    return openSqlite(path(), noGuard, flushFile)
  }

  /** Closing flushes once more; by then there were so many. */
  async function closed(db: OpenDb, disk: ReturnType<typeof heldDisk>, flushes: number) {
    const closing = db.close()
    await expect.poll(disk.begun).toBe(flushes)
    disk.end()
    await closing
  }

  /** `rejected` and `resolved` once it is so. */
  function watched(promise: Promise<unknown>) {
    const state = { is: 'open' }
    const outcome = promise.then(
      () => (state.is = 'resolved'),
      (error) => (state.is = `rejected: ${error.message}`),
    )
    return { state, outcome }
  }

  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await new Promise((next) => setImmediate(next))
  }

  test('R21 a write is told of when a flush that began after its commit is done, not one that was under way', async () => {
    const disk = heldDisk()
    const db = await opened(disk.flushFile)
    const first = watched(db.rows(put('first')))
    await expect.poll(disk.begun).toBe(1)
    const second = watched(db.transaction((tx) => tx.rows(put('second'))))
    await db.transaction((tx) => tx.rows(put('third')), { lasting: 'committed' }) // and the second with it
    expect(await db.rows(noted)).toHaveLength(3)
    expect([first.state.is, second.state.is, disk.begun()]).toEqual(['open', 'open', 1])
    disk.end()
    await first.outcome
    await turns(5)
    expect([first.state.is, second.state.is, disk.begun()]).toEqual(['resolved', 'open', 2])
    disk.end()
    expect(await second.outcome).toBe('resolved')
    await closed(db, disk, 3)
  })

  test('0142 what has to be on the disk is committed after the flush under way, all together; the rest at once', async () => {
    const disk = heldDisk()
    const db = await opened(disk.flushFile)
    const first = watched(db.rows(put('first')))
    await expect.poll(disk.begun).toBe(1)
    const later = [watched(db.rows(put('second')))]
    await turns(5)
    later.push(watched(db.rows(put('third'))))
    await turns(5)
    expect(await db.rows(noted)).toHaveLength(1)
    disk.end()
    await first.outcome
    await expect.poll(disk.begun).toBe(2)
    expect(await db.rows(noted)).toHaveLength(3)
    await db.transaction((tx) => tx.rows(put('fourth')), { lasting: 'committed' })
    expect(await db.rows(noted)).toHaveLength(4)
    disk.end()
    expect(await Promise.all(later.map(({ outcome }) => outcome))).toEqual(['resolved', 'resolved'])
    await closed(db, disk, 3)
  })

  test('§store what waits for a flush that the disk refuses is not written, and told so', async () => {
    const disk = heldDisk()
    const db = await opened(disk.flushFile)
    const first = watched(db.rows(put('first')))
    await expect.poll(disk.begun).toBe(1)
    const waiting = db.rows(put('waiting')).catch((error) => error)
    await turns(5)
    disk.refuse(new Error('EIO: i/o error'))
    disk.end()
    expect(await waiting).toMatchObject({ kind: 'unavailable', message: expect.not.stringContaining('unknown') })
    expect(await first.outcome).toContain('rejected')
    expect(await db.rows(noted)).toHaveLength(1)
    await db.close()
  })

  test('§10 a charge is told of when it is committed; its flush follows by itself, one for many', async () => {
    const disk = heldDisk()
    const db = await opened(disk.flushFile)
    for (const name of ['a', 'b', 'c']) await db.transaction((tx) => tx.rows(put(name)), { lasting: 'committed' })
    expect(await db.rows(noted)).toHaveLength(3)
    await expect.poll(disk.begun).toBe(1)
    disk.end()
    await closed(db, disk, 2)
  })

  test('§10 what was gathered already is committed within its turn, all of it together; the rest waits a turn', async () => {
    const disk = heldDisk()
    const db = await opened(disk.flushFile)
    const order: string[] = []
    const write = (name: string, gathered: boolean) =>
      db.transaction((tx) => tx.rows(put(name)), { lasting: 'committed', gathered }).then(() => order.push(name))
    const turn = turns(1).then(() => order.push('a turn'))
    await Promise.all([write('a', true), write('b', true), turn])
    const next = turns(1).then(() => order.push('a turn'))
    await Promise.all([write('c', false), next])
    expect(order).toEqual(['a', 'b', 'a turn', 'a turn', 'c'])
    await expect.poll(disk.begun).toBe(1)
    disk.end()
    await closed(db, disk, 2)
  })

  test('§store a disk that refuses a flush: the outcome is told as unknown, and nothing more is written', async () => {
    const disk = heldDisk()
    const db = await opened(disk.flushFile)
    const write = db.rows(put('lost')).catch((error) => error)
    await expect.poll(disk.begun).toBe(1)
    disk.refuse(new Error('EIO: i/o error'))
    disk.end()
    expect(await write).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('outcome is unknown') })
    await expect(db.rows(put('later'))).rejects.toMatchObject({ kind: 'unavailable' })
    await expect(db.ping()).rejects.toMatchObject({ kind: 'unavailable' })
    expect(disk.begun()).toBe(1)
    await db.close()
  })

  test('§store what is put together for one use is read on another thread, as of the last commit', async () => {
    const db = await opened(fdatasync)
    await db.rows(put('there'))
    expect(await db.rows({ ...noted, once: true })).toEqual([{ name: 'there' }])
    await expect(db.rows({ text: ['SELECT nothing FROM note'], values: [], once: true })).rejects.toThrow('nothing')
    const bytes = Uint8Array.of(0, 255)
    expect(await db.rows({ ...sql`SELECT ${bytes} AS b, ${null} AS n, ${7} AS i`, once: true })).toEqual([
      { b: bytes, n: null, i: 7 },
    ])
    await db.close()
  })

  test('§store a long read keeps nobody from their turn', async () => {
    const db = await opened(fdatasync)
    const long = sql`
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000)
      SELECT 1 AS there WHERE (SELECT MAX(i) FROM n) > 0`
    const statement = { ...long, text: [`SELECT there FROM (${long.text[0]})`], once: true as const }
    let turned = 0
    const reading = watched(db.rows(statement))
    while (reading.state.is === 'open') {
      await turns(1)
      turned++
    }
    expect(reading.state.is).toBe('resolved')
    expect(turned).toBeGreaterThan(20)
    await db.close()
  })

  test('§store who writes while it closes, or after, is told so', async () => {
    const db = await opened(fdatasync)
    await db.rows(sql`CREATE TABLE late (n INTEGER)`)
    const closing = db.close()
    const write = () => db.rows(sql`INSERT INTO late (n) VALUES (1)`)
    const unavailable = expect.objectContaining({ kind: 'unavailable' })
    await expect(write()).rejects.toEqual(unavailable)
    await closing
    await expect(write()).rejects.toEqual(unavailable)
    await expect(db.transaction(async (tx) => tx.rows(sql`SELECT 1`))).rejects.toEqual(unavailable)
  })

  test('§store one who writes without a pause does not make the log grow for ever; a stop leaves one file', async () => {
    const db = await opened(fdatasync)
    await db.rows(sql`CREATE TABLE large (body TEXT)`)
    const body = 'x'.repeat(20_000)
    let longest = 0
    for (let n = 0; n < 100; n++) {
      await Promise.all(
        Array.from({ length: 100 }, () =>
          db.transaction((tx) => tx.rows(sql`INSERT INTO large (body) VALUES (${body})`), { lasting: 'committed' }),
        ),
      )
      longest = Math.max(longest, statSync(`${path()}-wal`).size)
    }
    expect(longest).toBeLessThan(185_000_000) // of 200 MB that were written
    await db.close()
    expect(statSync(path()).size).toBeGreaterThan(200_000_000)
    expect(statSync(`${path()}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0)
  })

  test('0272 nothing of what was deleted is left in the files, not even where SQLite had moved it before', async () => {
    const db = openSqlite(path())
    await db.rows({ text: ['CREATE TABLE kept (id TEXT PRIMARY KEY, sealed BLOB)'], values: [] })
    const ids = Array.from({ length: 3_000 }, (_, n) => `id ${n}`)
    const deleted: Buffer[] = []
    await db.transaction(async (tx) => {
      for (const id of ids) await tx.rows(sql`INSERT INTO kept (id) VALUES (${id})`)
      for (let at = 0; at < ids.length; at++) {
        const n = (at * 1_009) % ids.length // rows grow in no order, so that pages are split
        const sealed = randomBytes(300 + ((n * 37) % 900))
        if (n % 2 === 0) deleted.push(sealed)
        await tx.rows(sql`UPDATE kept SET sealed = ${sealed} WHERE id = ${`id ${n}`}`)
      }
    })
    for (const [n, id] of ids.entries()) if (n % 2 === 0) await db.rows(sql`DELETE FROM kept WHERE id = ${id}`)
    expect(leftOf(path(), deleted)).toBeGreaterThan(0)
    const writing = db.scrub?.()
    const meanwhile = db.rows(sql`INSERT INTO kept (id) VALUES ('meanwhile')`) // it waits, and happens
    expect(await writing).toBe('rewritten')
    await meanwhile
    expect(leftOf(path(), deleted)).toBe(0)
    const [{ rows } = { rows: 0 }] = await db.rows<{ rows: number }>(sql`SELECT COUNT(*) AS rows FROM kept`)
    expect(rows).toBe(1_501)
    await db.close()
  })
})
