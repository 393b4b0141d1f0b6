// Real databases for tests: a fresh SQLite file each time, or a fresh database of the PostgreSQL that TEST_DATABASE_URL
// names. Both are opened with the guard that catches a statement outside its transaction.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { type OpenDb, type Sql, sql } from '../../src/storage/db.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { strictGuard } from '../../src/storage/transaction-guard.ts'
import { heldClock } from './clock.ts'
import { databaseOn } from './template-database.ts'

export type Engine = 'sqlite' | 'postgres'

/** The engine this project of the test run is for. */
export const ENGINE: Engine = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite'

/** R50: what a cluster counts in goes with the engine that it stores in. */
export function clusterRedis(): string | undefined {
  if (ENGINE === 'sqlite') return undefined
  const url = process.env.TEST_REDIS_URL
  if (!url) throw new Error('TEST_REDIS_URL is not set: run `npm test`, which starts a Redis by itself')
  return url
}

export interface TestDb {
  db: OpenDb
  /** Where the records lie, for a second connection: a file, or a URL. */
  location: string
  drop(): Promise<void>
}

export const freshDb = (engine: Engine = ENGINE): Promise<TestDb> =>
  engine === 'sqlite' ? freshSqlite() : freshPostgres()

// A test's database need not outlive the machine: in memory, a flush to disk costs nothing.
const SCRATCH = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

async function freshSqlite(): Promise<TestDb> {
  const dir = mkdtempSync(join(SCRATCH, 'switchyard-'))
  const location = join(dir, 'test.db')
  migrated ??= migratedFile(join(dir, 'template.db'))
  writeFileSync(location, await migrated)
  const db = openSqlite(location, strictGuard())
  const drop = async () => {
    await db.close()
    rmSync(dir, { recursive: true, force: true })
  }
  return { db, location, drop }
}

/** The migrations are applied once in a worker: a database is a copy of that file. */
let migrated: Promise<Buffer> | undefined

async function migratedFile(path: string): Promise<Buffer> {
  const db = openSqlite(path)
  await migrate(db, heldClock())
  await db.close()
  return readFileSync(path)
}

async function freshPostgres(): Promise<TestDb> {
  const url = process.env.TEST_DATABASE_URL
  if (!url) throw new Error('TEST_DATABASE_URL is not set: run `npm test`, which starts a PostgreSQL by itself')
  const { url: location, drop: dropDatabase } = await databaseOn(url, process.env.TEST_TEMPLATE)
  const db = openPostgres(location, { guard: strictGuard() })
  if (!process.env.TEST_TEMPLATE) await migrate(db, heldClock())
  const drop = async () => {
    await db.close()
    await dropDatabase()
  }
  return { db, location, drop }
}

/** Every row of every table, as one text: two of them tell whether anything was stored in between. */
export async function contentsOf(db: OpenDb): Promise<string> {
  const tables = await db.rows<{ name: string }>(
    db.engine === 'sqlite'
      ? sql`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`
      : // Most have never had a row: to plan how those are read would take longer than all the reading.
        sql`SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace
              AND relkind = 'r' AND pg_relation_size(oid) > 0 ORDER BY relname`,
  )
  if (db.engine === 'sqlite') return JSON.stringify(await Promise.all(tables.map(({ name }) => db.rows(allOf(name)))))
  // One statement: as many at once would open as many connections.
  const texts = tables.map(({ name }) => `(SELECT json_agg(row)::text FROM (${allOf(name).text[0]}) row) AS ${name}`)
  const [rows = {}] = await db.rows<Record<string, string | null>>({ text: [`SELECT ${texts.join(', ')}`], values: [] })
  return JSON.stringify(Object.entries(rows).filter(([, text]) => text !== null))
}

const readings = new Map<string, Sql>()

/** The same one each time: SQLite's is prepared once, which takes longer than to read the few rows of a test. */
function allOf(table: string): Sql {
  const reading = readings.get(table) ?? { text: [`SELECT * FROM ${table} ORDER BY 1`], values: [] }
  readings.set(table, reading)
  return reading
}

/** Runs a store's suite on one fresh database of this project's engine. */
export function withDb(suite: (db: () => OpenDb) => void): void {
  describe(ENGINE, () => {
    let test: TestDb
    beforeAll(async () => {
      test = await freshDb()
    })
    afterAll(() => test.drop())
    suite(() => test.db)
  })
}
