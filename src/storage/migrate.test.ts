// Which files an engine needs, and that a store with usage in it comes to the present schema whole.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { rollEverything } from '../../test/support/usage-answers.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { usageQuestion } from '../usage/usage-query.ts'
import { usageStore } from '../usage/usage-store.ts'
import { type OpenDb, sql } from './db.ts'
import { migrate, migrationsFor } from './migrate.ts'

test('§store an engine gets its own files after those for both, in the order of their numbers', () => {
  const names = ['0010-b.sqlite.sql', '0002-z.sql', '0010-b.sql', '0011-a.sql', '0010-b.postgres.sql', 'README.md']
  expect(migrationsFor('sqlite', names)).toEqual(['0002-z.sql', '0010-b.sql', '0010-b.sqlite.sql', '0011-a.sql'])
  expect(migrationsFor('postgres', names)).toEqual(['0002-z.sql', '0010-b.sql', '0010-b.postgres.sql', '0011-a.sql'])
})

const plain = (db: OpenDb, text: string) => db.rows({ text: [text], values: [] })

/** Takes the store back to before 0010, when usage was one table without roll-ups. */
async function withoutVolume(db: OpenDb): Promise<void> {
  const money = readFileSync(new URL('./migrations/0004-money.sql', import.meta.url), 'utf8')
  const before = money.slice(money.indexOf('CREATE TABLE usage_event')).split(/;\s*$/m)
  for (const view of ['usage_waiting', 'usage_to_roll', 'usage_to_roll_of']) await plain(db, `DROP VIEW ${view}`)
  for (const table of ['usage_event', 'usage_unrolled', 'usage_rollup', 'usage_quarantine'])
    await plain(db, `DROP TABLE ${table}`)
  if (ENGINE === 'postgres') await plain(db, 'DROP FUNCTION usage_event_unrolled()')
  for (const statement of before.filter((text) => text.trim() !== '')) await plain(db, statement)
  // Of later files, which stay applied.
  await plain(db, 'ALTER TABLE usage_event ADD COLUMN trace TEXT')
  for (const column of ['overage_micros', 'waived_micros', 'tokens_estimated'])
    await plain(db, `ALTER TABLE usage_event ADD COLUMN ${column} BIGINT NOT NULL DEFAULT 0`)
  for (const file of ['0010', '0013', '0014', '0015', '0019-usage', '0024'])
    await plain(db, `DELETE FROM schema_migration WHERE name LIKE '${file}-%'`)
}

/** What 0018, which stays applied, made of the tables that are made anew. */
const withLaterFiles = (db: OpenDb) =>
  plain(db, 'ALTER TABLE usage_rollup ADD COLUMN waived_micros BIGINT NOT NULL DEFAULT 0')

withDb((db) => {
  test('§8.2 usage from before is moved, counted and refused a second time', async () => {
    const project_id = await projectIn(db())
    await withoutVolume(db())
    const events = Array.from({ length: 30 }, (_, n) => usageEvent(project_id, { charged_micros: n }))
    for (const event of events) await usageStore(db()).insert(event)
    let applied = await migrate(db(), heldClock())
    while (applied === 'busy') applied = await migrate(db(), heldClock())
    expect(applied).toEqual([
      '0010-usage-at-volume.sql',
      `0010-usage-at-volume.${ENGINE}.sql`,
      `0013-usage-waiting.${ENGINE}.sql`,
      '0014-usage-of-a-key.sql',
      '0015-usage-finer.sql',
      '0019-usage-overage.sql',
      `0019-usage-overage.${ENGINE}.sql`,
      '0024-usage-by-project.sql',
      `0024-usage-by-project.${ENGINE}.sql`,
    ])
    await withLaterFiles(db())

    const store = usageStore(db())
    expect((await store.list(project_id, usageQuestion({}))).data).toHaveLength(30)
    expect((await db().rows(sql`SELECT trace_id FROM usage_unrolled WHERE project_id = ${project_id}`)).length).toBe(30)
    const [unrolled] = (await store.grouped(project_id, usageQuestion({ group_by: 'day' }))).data
    await rollEverything(db())
    const [rolled] = (await store.grouped(project_id, usageQuestion({ group_by: 'day' }))).data
    expect(rolled).toEqual(unrolled)
    expect([rolled?.events, rolled?.charged_micros]).toEqual([30, 435])
    await expect(store.insert(events[0] as (typeof events)[0])).rejects.toThrow()
  })
})
