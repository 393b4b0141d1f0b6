// Opens the store that the settings name, at this version's schema. Only this file knows that there are two engines.

import { type Clock, HOUR_MS, SECOND_MS } from '../core/clock.ts'
import { sealing } from '../core/sealing.ts'
import { openDataFolder, serverSecret, storeFile } from '../storage/data-folder.ts'
import { type OpenDb, sql } from '../storage/db.ts'
import { migrate } from '../storage/migrate.ts'
import type * as Postgres from '../storage/postgres.ts'
import { openSqlite } from '../storage/sqlite.ts'
import { usageArchive } from '../usage/usage-archive-store.ts'
import { type Config, SettingError } from './config.ts'

const MIGRATION_TRIES = 60
const MIGRATION_STATEMENT_MS = HOUR_MS

export interface Store {
  db: OpenDb
  secret: string
}

export async function openStore(config: Config, clock: Clock, onIdleError?: (error: Error) => void): Promise<Store> {
  const store = await openUnderAnySecret(config, clock, onIdleError)
  try {
    await assertSameSecret(store.db, store.secret)
  } catch (error) {
    await store.db.close()
    throw error
  }
  return store
}

/** For `switchyard secret adopt`, by which a store comes to another secret. Whatever seals or opens uses openStore. */
export async function openUnderAnySecret(
  config: Config,
  clock: Clock,
  onIdleError?: (error: Error) => void,
): Promise<Store> {
  openDataFolder(config.data_dir)
  const secret = config.secret ?? serverSecret(config.data_dir)
  const db = config.database_url
    ? await openPostgres(config.database_url, onIdleError ? { onIdleError } : {})
    : openSqlite(storeFile(config.data_dir))
  try {
    if (config.database_url) await migratePatiently(config.database_url, clock)
    else await migrateInTurn(db, clock)
  } catch (error) {
    await db.close()
    throw error
  }
  return { db, secret }
}

/** Loaded by those alone who have one. */
const openPostgres = async (...asked: Parameters<typeof Postgres.openPostgres>) =>
  (await import('../storage/postgres.ts')).openPostgres(...asked)

/** Some migrations move whole tables, for which the usual seconds may be too few. */
async function migratePatiently(url: string, clock: Clock): Promise<void> {
  const db = await openPostgres(url, { pool_max: 1, statement_timeout_ms: MIGRATION_STATEMENT_MS })
  try {
    await migrateInTurn(db, clock)
    await usageArchive(db).makeMonths(clock.now())
  } finally {
    await db.close()
  }
}

/** Replicas that start together migrate one after the other. */
async function migrateInTurn(db: OpenDb, clock: Clock): Promise<void> {
  for (let tries = 1; ; tries++) {
    if ((await migrate(db, clock)) !== 'busy') return
    if (tries === MIGRATION_TRIES) throw new Error('Another process has been migrating the schema for a minute.')
    await new Promise((resolve) => setTimeout(resolve, SECOND_MS))
  }
}

/** What was sealed with one secret cannot be opened with another: better said at the start than at the first replay. */
async function assertSameSecret(db: OpenDb, secret: string): Promise<void> {
  const fingerprint = sealing(secret).fingerprint()
  await db.rows(sql`
    INSERT INTO setting (name, value) VALUES ('secret_fingerprint', ${fingerprint}) ON CONFLICT (name) DO NOTHING`)
  const [row] = await db.rows<{ value: string }>(sql`SELECT value FROM setting WHERE name = 'secret_fingerprint'`)
  if (row?.value !== fingerprint)
    throw new SettingError(
      'The store was sealed with another secret. Set SWITCHYARD_SECRET to it (or put back data/secret), or run ' +
        '`switchyard secret adopt` to go on with the present one and drop what the old one sealed.',
    )
}
