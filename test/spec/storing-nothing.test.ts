// How refusals show that nothing was stored: whatever is written anywhere is seen, and what was undone is not.
import { expect, test } from 'vitest'
import { sql } from '../../src/storage/db.ts'
import { contentsOf, withDb } from '../support/databases.ts'

withDb((db) => {
  const write = sql`INSERT INTO setting (name, value) VALUES ('planted', '1')`

  test('§tests a row in a table that never had one is seen, and its change, and that it is gone', async () => {
    const seen = [await contentsOf(db())]
    await db().rows(write)
    seen.push(await contentsOf(db()))
    await db().rows(sql`UPDATE setting SET value = '2' WHERE name = 'planted'`)
    seen.push(await contentsOf(db()))
    await db().rows(sql`DELETE FROM setting WHERE name = 'planted'`)
    expect([new Set(seen).size, await contentsOf(db())]).toEqual([3, seen[0]])
  })

  test('§tests what a transaction wrote that was undone is not', async () => {
    const before = await contentsOf(db())
    const undone = db().transaction(async (tx) => {
      await tx.rows(write)
      throw new Error('no')
    })
    await expect(undone).rejects.toThrow('no')
    expect(await contentsOf(db())).toBe(before)
  })
})
