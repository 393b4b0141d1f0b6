// The way back past a change of the schema on PostgreSQL: what a newer version added is in no backup from before it.
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ENGINE } from '../../test/support/databases.ts'
import { newSettings } from '../../test/support/settings.ts'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../start/config.ts'
import { openStore } from '../start/open-store.ts'
import { fixed } from '../storage/db.ts'
import { backUp, restore } from './backup.ts'
import { createProject } from './operate.ts'

const { env } = process
// PostgreSQL's binaries from npm come without pg_dump.
const hasTools = ENGINE === 'postgres' && !spawnSync('pg_dump', ['--version']).error

/** As a newer version would: a table that holds on to another, one that refers to nothing, and a function. */
const NEWER = [
  'CREATE TABLE later (project_id TEXT NOT NULL REFERENCES project (id))',
  'CREATE TABLE later_alone (id TEXT PRIMARY KEY)',
  "CREATE FUNCTION later_too() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
  "INSERT INTO schema_migration (name, applied_at) VALUES ('9999-later.sql', '2026-01-01T00:00:00Z')",
]
const MONTH = "CREATE TABLE usage_event_later PARTITION OF usage_event FOR VALUES FROM ('zzy') TO ('zzz')"

const found = (config: Config, name: string) =>
  createProject(config, { name, owner_email: 'a@example.com', verified: true })

async function onStore<T>(config: Config, ...statements: string[]): Promise<T[]> {
  const { db } = await openStore(config, systemClock)
  try {
    let rows: T[] = []
    for (const statement of statements) rows = await db.rows<T>(fixed(statement))
    return rows
  } finally {
    await db.close()
  }
}

const projectsOf = async (config: Config) =>
  (await onStore<{ name: string }>(config, 'SELECT name FROM project ORDER BY name')).map(({ name }) => name)

/** A store with the project `kept`, a backup of it, and in the store a project `lost` since. */
async function backedUp(): Promise<{ config: Config; file: string }> {
  const config = await newSettings()
  await found(config, 'kept')
  const file = join(dirname(config.data_dir), 'b')
  await backUp(config, file, false, env)
  await found(config, 'lost')
  return { config, file }
}

describe.runIf(hasTools)(ENGINE, () => {
  test('§4 what a newer version added is named, and with the schema moved aside the way back is free', async () => {
    const { config, file } = await backedUp()
    await onStore(config, ...NEWER)
    const refusal = await restore(config, file, env).catch((error) => error)
    expect(refusal).toMatchObject({ name: 'OperationError' })
    expect(refusal.message).toMatch(/ has not: table later, table later_alone, function later_too\. .*Nothing was /)
    expect(await projectsOf(config)).toEqual(['kept', 'lost'])

    // The message tells the way, and it is one: then the next upgrade finds none of its tables there.
    const [, way = ''] = /\((ALTER SCHEMA [^;]*; CREATE SCHEMA [^;]*;)\)/.exec(refusal.message) ?? []
    await onStore(config, ...way.split('; '))
    await restore(config, file, env)
    expect(await projectsOf(config)).toEqual(['kept'])
    await onStore(config, ...NEWER)
  })

  // pg_restore alone would leave it where it is, and say nothing.
  test('§4 one table that refers to nothing is named as well', async () => {
    const { config, file } = await backedUp()
    await onStore(config, 'CREATE TABLE later_alone (id TEXT PRIMARY KEY)')
    await expect(restore(config, file, env)).rejects.toThrow(/ has not: table later_alone\. /)
    expect(await projectsOf(config)).toEqual(['kept', 'lost'])
  })

  test("§4 R78 a month of usage that was made since the backup is in nobody's way, and goes", async () => {
    const { config, file } = await backedUp()
    await onStore(config, MONTH)
    await restore(config, file, env)
    expect(await projectsOf(config)).toEqual(['kept'])
    expect(await onStore(config, "SELECT to_regclass('usage_event_later')::text AS month")).toEqual([{ month: null }])
  })
})
