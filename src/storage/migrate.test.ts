// Which files an engine needs, and that each is applied once.
import { expect, test } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { sql } from './db.ts'
import { migrate, migrationsFor } from './migrate.ts'

test('§store an engine gets its own files after those for both, in the order of their numbers', () => {
  const names = ['0010-b.sqlite.sql', '0002-z.sql', '0010-b.sql', '0011-a.sql', '0010-b.postgres.sql', 'README.md']
  expect(migrationsFor('sqlite', names)).toEqual(['0002-z.sql', '0010-b.sql', '0010-b.sqlite.sql', '0011-a.sql'])
  expect(migrationsFor('postgres', names)).toEqual(['0002-z.sql', '0010-b.sql', '0010-b.postgres.sql', '0011-a.sql'])
})

withDb((db) => {
  test('§store each file is applied once, and a database remembers which', async () => {
    let applied = await migrate(db(), heldClock())
    while (applied === 'busy') applied = await migrate(db(), heldClock())
    expect(applied).toEqual([])
    const rows = await db().rows<{ name: string }>(sql`SELECT name FROM schema_migration`)
    const first = ['0001-first-schema.sql', `0001-first-schema.${ENGINE}.sql`]
    expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(first))
  })
})
