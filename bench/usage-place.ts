// Where a size of usage lies while it is measured: a store of its own, filled before the service opens it.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { systemClock } from '../src/core/clock.ts'
import { createKey } from '../src/keys/key.ts'
import { keyStore } from '../src/keys/key-store.ts'
import { foundFirstProject } from '../src/start/bootstrap.ts'
import { readConfig } from '../src/start/config.ts'
import { openStore } from '../src/start/open-store.ts'
import { type OpenDb, sql } from '../src/storage/db.ts'
import { ownPostgresServer } from '../test/support/postgres-server.ts'
import { holdUntilEnd } from './held.ts'
import { ADMIN_KEY } from './service-under-test.ts'
import { BENCH_KEYS, type Owner } from './usage-events.ts'
import { type Load, loadUsage } from './usage-load.ts'

export type Engine = 'sqlite' | 'postgres'

export interface Place extends Load {
  engine: Engine
  /** What was asked for; `events` has those that measuring wrote since, too. */
  size: number
  data_dir: string
  /** What the service needs to find it. */
  env: Record<string, string>
  load_seconds: number
  open(): Promise<OpenDb>
  /** Measuring writes too: the next run finds that many more. */
  noteMore(events: number): void
  close(): Promise<void>
}

/** Opens what lies in the folder, and fills it first where nothing does. */
export async function usagePlace(engine: Engine, size: number, folder: string): Promise<Place> {
  const data_dir = join(folder, `${engine}-${size}`)
  mkdirSync(data_dir, { recursive: true })
  for (const path of [folder, data_dir]) chmodSync(path, 0o711) // PostgreSQL runs as another user
  const postgres = engine === 'postgres' ? await ownPostgresServer(() => {}, join(data_dir, 'postgres')) : undefined
  const close = holdUntilEnd(() => postgres?.stop())
  const env: Record<string, string> = postgres
    ? { DATABASE_URL: postgres.url, SWITCHYARD_SECRET: 'a secret for benchmarks, 32 characters' }
    : {}
  const open = async () => (await openStore(readConfig({ ...env, SWITCHYARD_DATA_DIR: data_dir }), systemClock)).db
  const loaded = join(data_dir, 'loaded.json')
  if (!existsSync(loaded)) writeFileSync(loaded, JSON.stringify(await fill(open, env.DATABASE_URL ?? '', size)))
  if (postgres) await tidyUp(postgres.url)
  const filled = JSON.parse(readFileSync(loaded, 'utf8')) as Filled
  const noteMore = (more: number) => writeFileSync(loaded, JSON.stringify({ ...filled, events: filled.events + more }))
  return { engine, size, data_dir, env, open, noteMore, close, ...filled }
}

/** What autovacuum does within minutes, of which a run has few. */
async function tidyUp(url: string): Promise<void> {
  const client = new Client(url)
  await client.connect()
  for (const table of ['usage_unrolled', 'usage_rollup']) await client.query(`VACUUM ANALYZE ${table}`)
  await client.query('CHECKPOINT')
  await client.end()
}

type Filled = Load & { load_seconds: number }

async function fill(open: () => Promise<OpenDb>, location: string, events: number): Promise<Filled> {
  const db = await open()
  const end_ms = systemClock.now()
  const load = { owner: await ownerIn(db, end_ms), events, end_ms }
  const began = performance.now()
  await loadUsage(db, location, load)
  await db.close()
  const load_seconds = (performance.now() - began) / 1_000
  process.stderr.write(`${events} events loaded in ${load_seconds.toFixed(0)} s\n`)
  return { ...load, load_seconds }
}

async function ownerIn(db: OpenDb, now: number): Promise<Owner> {
  const founded = await foundFirstProject(db, now, ADMIN_KEY)
  if (typeof founded === 'string') throw new Error('a load was broken off here: remove the folder')
  const project_id = founded.project.id
  return db.transaction(async (tx) => {
    const keys: string[] = []
    while (keys.length < BENCH_KEYS) {
      const key = createKey(project_id, { name: `agent ${keys.length}` }, now)
      await keyStore(tx).insert(key, now)
      keys.push(key.api_key.id)
    }
    return { project_id, keys }
  })
}

export interface Bytes {
  events: number
  indexes: number
  rollups: number
}

/** What the tables take up. */
export async function bytesOf(db: OpenDb): Promise<Bytes> {
  if (db.engine === 'sqlite') {
    const rows = await db.rows<{ name: string; bytes: number }>(sql`
      SELECT name, SUM(pgsize) AS bytes FROM dbstat WHERE aggregate = TRUE GROUP BY name`)
    const of = (wanted: RegExp) => rows.reduce((sum, { name, bytes }) => sum + (wanted.test(name) ? bytes : 0), 0)
    return { events: of(/^usage_event$/), indexes: of(/usage_event_/), rollups: of(/usage_rollup/) }
  }
  const [row] = await db.rows<Bytes>(sql`
    SELECT SUM(pg_table_size(inhrelid))::bigint AS events, SUM(pg_indexes_size(inhrelid))::bigint AS indexes,
           pg_total_relation_size('usage_rollup') AS rollups
    FROM pg_inherits WHERE inhparent = 'usage_event'::regclass`)
  return row ?? { events: 0, indexes: 0, rollups: 0 }
}
