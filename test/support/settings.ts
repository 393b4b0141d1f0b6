// The settings of a service of its own: a fresh data folder, and a fresh database where this run is for PostgreSQL.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Config, readConfig } from '../../src/start/config.ts'
import { ENGINE } from './databases.ts'
import { databaseOn } from './template-database.ts'

export async function newSettings(): Promise<Config> {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-settings-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const url = ENGINE === 'postgres' ? await freshDatabase() : ''
  return readConfig({ SWITCHYARD_DATA_DIR: join(folder, 'data'), DATABASE_URL: url })
}

/** An empty one: who migrates it is part of what is tested. */
async function freshDatabase(): Promise<string> {
  const { url, drop } = await databaseOn(process.env.TEST_DATABASE_URL ?? '')
  onTestFinished(drop)
  return url
}
