// Usage at volume: what an insert costs and how long questions take at a thousand events and at ten million.
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { DAY_MS } from '../src/core/clock.ts'
import { nextSequence } from '../src/core/ids.ts'
import { type OpenDb, sql } from '../src/storage/db.ts'
import { migrate } from '../src/storage/migrate.ts'
import { openPostgres } from '../src/storage/postgres.ts'
import { openSqlite } from '../src/storage/sqlite.ts'
import { usageArchive } from '../src/usage/usage-archive-store.ts'
import { usageQuestion } from '../src/usage/usage-query.ts'
import { usageRollups } from '../src/usage/usage-rollup-store.ts'
import { usageStore } from '../src/usage/usage-store.ts'
import { timelineQuestion } from '../src/usage/usage-timeline.ts'
import { usageTimeline } from '../src/usage/usage-timeline-store.ts'
import { postgresServer } from '../test/support/postgres-server.ts'
import { temporaryFolder } from './processes.ts'
import { BENCH_PROJECT, benchEvent, randomness } from './usage-events.ts'

export interface UsageConditions {
  events: number
  engine: 'sqlite' | 'postgres'
}

const END = Date.UTC(2026, 10, 15)
const PER_DAY = 10_000_000 / 365 // fewer events are as dense, over fewer days
const BENCH_DAYS = (events: number) => Math.max(1, Math.round(events / PER_DAY))
const LOADED_AT_ONCE = 5_000
const ROLLED_AT_ONCE = 5_000 // a transaction that thinks for seconds is ended by PostgreSQL
const INSERTS = 4_000
const INSERTS_AT_ONCE = 50
const ASKED = 30

export async function usage({ events, engine }: UsageConditions): Promise<string> {
  const { db, bytes, close } = engine === 'sqlite' ? await embedded() : await server()
  const lines = [`\nUsage at volume, ${engine}, ${events} events over ${BENCH_DAYS(events)} days, 50 keys × 20 models`]
  const say = (text: string) => {
    lines.push(text)
    process.stderr.write(`${text}\n`)
  }
  try {
    while ((await migrate(db, { now: () => END })) === 'busy');
    const start = END - BENCH_DAYS(events) * DAY_MS
    for (let month = start; month < END; month += 28 * DAY_MS) await usageArchive(db).makeMonths(month)
    await usageArchive(db).makeMonths(END)
    const load = loader(db, events, start)
    for (const size of [1_000, 100_000, 10_000_000].filter((size) => size < events).concat(events)) {
      say(await load(size))
      say(await rollEverything(db))
      await settleDown(db)
      say(`${size} events: ${await insertCost(db)}`)
      for (const line of await questions(db, start)) say(`${size} events: ${line}`)
      say(`${size} events: ${await bytes(size)}`)
    }
  } finally {
    await close()
  }
  return lines.join('\n')
}

interface Place {
  db: OpenDb
  bytes(events: number): Promise<string>
  close(): Promise<void>
}

async function embedded(): Promise<Place> {
  const folder = temporaryFolder()
  const file = join(folder.path, 'usage.db')
  const db = openSqlite(file)
  const close = async () => {
    await db.close()
    folder.remove()
  }
  const bytes = async (events: number) => {
    const size = statSync(file).size
    return `the file has ${mib(size)}, ${(size / events).toFixed(0)} bytes an event, roll-ups included`
  }
  return { db, bytes, close }
}

async function server(): Promise<Place> {
  const postgres = await postgresServer()
  const schema = `bench_${randomBytes(6).toString('hex')}`
  await onServer(postgres.url, `CREATE SCHEMA ${schema}`)
  const url = `${postgres.url}?options=${encodeURIComponent(`-c search_path=${schema}`)}`
  const db = openPostgres(url, { statement_timeout_ms: 600_000 })
  const close = async () => {
    await db.close()
    await onServer(postgres.url, `DROP SCHEMA ${schema} CASCADE`)
    await postgres.stop()
  }
  const bytes = async (events: number) => {
    const [row] = await db.rows<{ heap: number; indexes: number; rollups: number }>(sql`
      SELECT (SELECT SUM(pg_table_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'usage_event'::regclass)::bigint
               AS heap,
             (SELECT SUM(pg_indexes_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'usage_event'::regclass)::bigint
               AS indexes,
             pg_total_relation_size('usage_rollup') AS rollups`)
    const { heap = 0, indexes = 0, rollups = 0 } = row ?? {}
    const each = ((heap + indexes) / events).toFixed(0)
    return `table ${mib(heap)}, indexes ${mib(indexes)}, ${each} bytes an event; roll-ups ${mib(rollups)}`
  }
  return { db, bytes, close }
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new Client(url)
  await client.connect()
  await client.query(statement)
  await client.end()
}

const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** Brings the table to a size, oldest events first. */
function loader(db: OpenDb, events: number, start: number): (size: number) => Promise<string> {
  const random = randomness(20_261_115)
  const made = (n: number) => benchEvent(n, Math.floor(start + ((END - start) * n) / events), random)
  let loaded = 0
  return async (size) => {
    const [before, began] = [loaded, performance.now()]
    while (loaded < size) {
      const batch = Array.from({ length: Math.min(LOADED_AT_ONCE, size - loaded) }, () => made(loaded++))
      if (db.engine === 'sqlite')
        await db.transaction(async (tx) => {
          const store = usageStore(tx)
          for (const event of batch) await store.insert(event)
        })
      else await loadAtOnce(db, batch)
    }
    const rate = (loaded - before) / ((performance.now() - began) / 1_000)
    return `loaded to ${size} events, ${rate.toFixed(0)} a second`
  }
}

async function loadAtOnce(db: OpenDb, batch: readonly ReturnType<typeof benchEvent>[]): Promise<void> {
  const rows = batch.map((event) => {
    const created_ms = Date.parse(event.created_at)
    const more = { created_ms, day: event.created_at.slice(0, 10), sequence: nextSequence(created_ms) }
    return { ...event, ...more, attempts: JSON.stringify(event.attempts) }
  })
  await db.rows(sql`
    INSERT INTO usage_event SELECT * FROM json_populate_recordset(NULL::usage_event, ${JSON.stringify(rows)})`)
}

async function rollEverything(db: OpenDb): Promise<string> {
  const began = performance.now()
  let rolled = 0
  for (;;) {
    const batch = await usageRollups(db).rollBatch(ROLLED_AT_ONCE)
    if (batch === 0) break
    if (batch !== 'busy') rolled += batch
  }
  const rate = rolled / ((performance.now() - began) / 1_000)
  return `rolled ${rolled} up, ${rate.toFixed(0)} a second`
}

async function settleDown(db: OpenDb): Promise<void> {
  if (db.engine === 'postgres') for (const work of ['VACUUM ANALYZE usage_unrolled', 'ANALYZE']) await plain(db, work)
}

const plain = (db: OpenDb, text: string) => db.rows({ text: [text], values: [] })

/** As generations write them: many at once, each waiting for its own durability. */
async function insertCost(db: OpenDb): Promise<string> {
  const random = randomness(7)
  const store = usageStore(db)
  const cpu: number[] = []
  const began = performance.now()
  for (let at = 0; at < INSERTS; at += INSERTS_AT_ONCE) {
    const events = Array.from({ length: INSERTS_AT_ONCE }, (_, n) => benchEvent(at + n, Date.now(), random))
    const before = process.cpuUsage()
    await Promise.all(events.map((event) => store.insert(event)))
    const { user, system } = process.cpuUsage(before)
    cpu.push((user + system) / INSERTS_AT_ONCE)
  }
  const rate = INSERTS / ((performance.now() - began) / 1_000)
  while ((await usageRollups(db).rollBatch()) !== 0);
  await db.rows(sql`DELETE FROM usage_event WHERE created_ms >= ${END + DAY_MS}`)
  return `an insert through the store costs ${quantile(cpu, 0.5).toFixed(1)} µs CPU here (p50), ${rate.toFixed(0)} a second`
}

async function questions(db: OpenDb, start: number): Promise<string[]> {
  const store = usageStore(db)
  const ask = (query: Parameters<typeof usageQuestion>[0]) => usageQuestion(query)
  const whole = { from: new Date(start).toISOString(), to: new Date(END).toISOString() }
  const month = { from: new Date(END - 30 * DAY_MS - 1_234_567).toISOString(), to: whole.to }
  const [old] = (
    await store.list(BENCH_PROJECT, ask({ to: new Date(start + (END - start) / 10).toISOString(), limit: '1' }))
  ).data
  const after = old && (await store.place(BENCH_PROJECT, old.trace_id))
  const grouped = (query: Parameters<typeof usageQuestion>[0]) => () => store.grouped(BENCH_PROJECT, ask(query))
  const key_id = old?.key_id ?? ''
  const timed: [string, () => Promise<unknown>][] = [
    ['group_by=day over all of it', grouped({ group_by: 'day' })],
    ['group_by=day,model over all of it', grouped({ group_by: 'day,model' })],
    ['group_by=day of one key over all of it', grouped({ group_by: 'day', key_id })],
    ['group_by=key_id,model over all of it', grouped({ group_by: 'key_id,model' })],
    ['group_by=day over 30 days and some minutes', grouped({ group_by: 'day', ...month })],
    ['timeline by day over all of it', () => timeline({ ...whole, step: 'day' })],
    ['timeline by hour over 30 days', () => timeline({ ...month, step: 'hour' })],
    ['the newest page of 100', () => store.list(BENCH_PROJECT, ask({ limit: '100' }))],
    ['a page of 100, far back', () => store.list(BENCH_PROJECT, ask({ limit: '100' }), { after })],
    ['a page of 100 of one key, far back', () => store.list(BENCH_PROJECT, ask({ limit: '100', key_id }), { after })],
    ['one event by its trace id', () => store.find(BENCH_PROJECT, old?.trace_id ?? '')],
  ]
  const timeline = (query: Parameters<typeof timelineQuestion>[0]) =>
    usageTimeline(db).steps(BENCH_PROJECT, timelineQuestion(query))
  const lines: string[] = []
  for (const [name, work] of timed) lines.push(`${name}: ${await took(work)}`)
  return lines
}

async function took(work: () => Promise<unknown>): Promise<string> {
  const times: number[] = []
  for (let n = 0; n < ASKED; n++) {
    const began = performance.now()
    await work()
    times.push(performance.now() - began)
  }
  return `p50 ${quantile(times, 0.5).toFixed(1)} ms, p95 ${quantile(times, 0.95).toFixed(1)} ms`
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.ceil(part * sorted.length) - 1] ?? 0
}
