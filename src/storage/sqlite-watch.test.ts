// What the embedded store tells of changes, so that what was read can be remembered until then.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type OpenDb, sql } from './db.ts'
import { openSqlite } from './sqlite.ts'

describe('§store whoever watches columns is told of each commit that may have changed them', () => {
  let folder: string
  let db: OpenDb
  let told: number
  const open = () => openSqlite(join(folder, 'switchyard.db'))
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'switchyard-watch-'))
    db = open()
    await db.rows(sql`CREATE TABLE note (name TEXT PRIMARY KEY, colour TEXT, size INTEGER)`)
    await db.rows(sql`INSERT INTO note (name, colour, size) VALUES ('first', 'red', 1)`)
    told = 0
    db.watch?.({ note: ['name', 'colour'] }, () => told++)
  })
  afterEach(async () => {
    await db.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('a change and a deletion, by a statement, in a transaction and by an upsert', async () => {
    await db.rows(sql`UPDATE note SET colour = 'blue'`)
    expect(told).toBe(1)
    await db.transaction((tx) => tx.rows(sql`UPDATE note SET colour = 'green'`))
    expect(told).toBe(2)
    await db.rows(sql`
      INSERT INTO note (name, colour) VALUES ('first', 'grey') ON CONFLICT (name) DO UPDATE SET colour = excluded.colour`)
    expect(told).toBe(3)
    await db.rows(sql`DELETE FROM note`)
    expect(told).toBe(4)
  })

  test('not a new row, another column or a read', async () => {
    await db.rows(sql`INSERT INTO note (name, colour, size) VALUES ('second', 'red', 1)`)
    await db.rows(sql`UPDATE note SET size = 2`)
    await db.rows(sql`SELECT colour FROM note`)
    expect(told).toBe(0)
  })

  test('before whoever wrote hears of it, and not before everybody can read it', async () => {
    const order: string[] = []
    db.watch?.({ note: ['colour'] }, () => {
      order.push('told')
      void db.rows<{ colour: string }>(sql`SELECT colour FROM note`).then(([row]) => order.push(`read ${row?.colour}`))
    })
    await db.rows(sql`UPDATE note SET colour = 'blue'`).then(() => order.push('written'))
    expect(order).toEqual(['told', 'read blue', 'written'])
  })

  test('a transaction that failed may be told of; the next one is told of all the same', async () => {
    const failing = db.transaction(async (tx) => {
      await tx.rows(sql`UPDATE note SET colour = 'blue'`)
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    const before = told
    await db.rows(sql`UPDATE note SET colour = 'green'`)
    expect(told).toBe(before + 1)
  })

  test('each of several watchers only of its own columns', async () => {
    let sizes = 0
    db.watch?.({ note: ['size'] }, () => sizes++)
    await db.rows(sql`UPDATE note SET size = 2`)
    expect([told, sizes]).toEqual([0, 1])
  })

  test('rows that are added count in tables that are named for it, and in no others', async () => {
    let added = 0
    db.watch?.({ note: ['name'] }, () => added++, ['note'])
    await db.rows(sql`INSERT INTO note (name) VALUES ('second')`)
    expect([told, added]).toEqual([0, 1])
  })

  test('what another process wrote is told of with the next commit', async () => {
    const other = open()
    await other.rows(sql`UPDATE note SET colour = 'blue'`)
    await other.close()
    await db.rows(sql`INSERT INTO note (name) VALUES ('second')`)
    expect(told).toBe(1)
  })
})
