// Months of usage in minutes: events and their roll-ups as the server would have left them, past the work of a server.
// Each row is what the usage store itself would have written, and the roll-ups come from its own rule, a day at a time.
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { DAY_MS } from '../src/core/clock.ts'
import { type Db, type OpenDb, type Sql, type SqlValue, sql } from '../src/storage/db.ts'
import { usageArchive } from '../src/usage/usage-archive-store.ts'
import type { UsageEvent } from '../src/usage/usage-event.ts'
import { type Rollup, rollUp, type Unrolled } from '../src/usage/usage-rollup.ts'
import { usageStore } from '../src/usage/usage-store.ts'
import { BENCH_DAYS, BENCH_FACTS, benchEvent, endOfEvent, type Owner, randomness } from './usage-events.ts'

const SEED = 20_261_115
const WRITTEN_AT_ONCE = 20_000
const COPIED_AT_ONCE = 500 // rows in a piece of the stream

export interface Load {
  owner: Owner
  events: number
  /** When the last of them ended. */
  end_ms: number
}

/** `location` is where the PostgreSQL is; the embedded store is written through `db`. */
export async function loadUsage(db: OpenDb, location: string, load: Load): Promise<void> {
  for (let days = 0; days <= BENCH_DAYS; days += 28) await usageArchive(db).makeMonths(load.end_ms - days * DAY_MS)
  const bulk = db.engine === 'sqlite' ? await embeddedBulk(db) : await copyingBulk(location)
  for (const day of days(load)) {
    for (let at = 0; at < day.length; at += WRITTEN_AT_ONCE)
      await bulk.write(await Promise.all(day.slice(at, at + WRITTEN_AT_ONCE).map(statementOf)))
    const rollups = rollUp(day.map(unrolled))
    for (let at = 0; at < rollups.length; at += WRITTEN_AT_ONCE)
      await bulk.write(rollups.slice(at, at + WRITTEN_AT_ONCE).map(insertOf))
  }
  await bulk.end()
}

export function* benchEvents({ owner, events, end_ms }: Load): Generator<UsageEvent> {
  const random = randomness(SEED)
  for (let n = 0; n < events; n++) yield benchEvent(n, endOfEvent(n / events, end_ms), random, owner)
}

/** No roll-up has events of two days in it, so a day's can be made at once. */
function* days(load: Load): Generator<UsageEvent[]> {
  let day: UsageEvent[] = []
  for (const event of benchEvents(load)) {
    if (day[0] && day[0].created_at.slice(0, 10) !== event.created_at.slice(0, 10)) {
      yield day
      day = []
    }
    day.push(event)
  }
  if (day.length > 0) yield day
}

/** The statement by which the store would have inserted it. */
async function statementOf(event: UsageEvent): Promise<Sql> {
  let statement: Sql | undefined
  const listening: Db = {
    async rows(given) {
      statement = given
      return []
    },
    transaction: () => Promise.reject(new Error('an insert of usage is one statement')),
  }
  await usageStore(listening).insert(event, BENCH_FACTS)
  if (!statement) throw new Error('the store wrote nothing')
  return statement
}

const unrolled = ({ resolved_model: model, cluster_id, ...event }: UsageEvent): Unrolled => ({
  ...event,
  model,
  cluster_id: cluster_id ?? '',
  created_ms: Date.parse(event.created_at),
})

const insertions = new Map<string, readonly string[]>()

function insertOf({ spread, ...rollup }: Rollup): Sql {
  const names = [...Object.keys(rollup), 'spread'].join(', ')
  let text = insertions.get(names)
  if (!text) {
    const commas = Object.keys(rollup).map(() => ', ')
    text = [`INSERT INTO usage_rollup (${names}) VALUES (`, ...commas, ')']
    insertions.set(names, text)
  }
  return { text, values: [...Object.values(rollup), JSON.stringify(spread)] }
}

/** Writes rows that need no line in `usage_unrolled`. All statements of a call insert into the same table. */
interface Bulk {
  write(statements: readonly Sql[]): Promise<void>
  end(): Promise<void>
}

async function embeddedBulk(db: OpenDb): Promise<Bulk> {
  const [trigger] = await db.rows<{ sql: string }>(sql`
    SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = 'usage_event_unrolled'`)
  await db.rows(sql`DROP TRIGGER usage_event_unrolled`)
  return {
    write: (statements) =>
      db.transaction(async (tx) => {
        for (const statement of statements) await tx.rows(statement)
      }),
    end: async () => void (await db.rows({ text: [trigger?.sql ?? ''], values: [] })),
  }
}

async function copyingBulk(location: string): Promise<Bulk> {
  const client = new Client(location)
  await client.connect()
  await client.query("SET session_replication_role = 'replica'") // without triggers
  await client.query('SET synchronous_commit = off')
  return {
    async write(statements) {
      const [, target] = /INSERT INTO (\w+ \([^)]*\))/.exec(statements[0]?.text[0] ?? '') ?? []
      const pieces = Array.from({ length: Math.ceil(statements.length / COPIED_AT_ONCE) }, (_, n) =>
        statements.slice(n * COPIED_AT_ONCE, (n + 1) * COPIED_AT_ONCE).map(copyLine),
      )
      await pipeline(
        Readable.from(pieces.map((lines) => lines.join(''))),
        client.query(copyFrom(`COPY ${target} FROM STDIN`)),
      )
    },
    async end() {
      for (const table of ['usage_event', 'usage_rollup']) await client.query(`VACUUM ANALYZE ${table}`)
      await client.query('CHECKPOINT')
      await client.end()
    },
  }
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const copyValue = (value: SqlValue) =>
  value === null ? '\\N' : String(value).replace(/[\\\n\r\t]/g, (letter) => ESCAPES[letter] as string)

const copyLine = ({ values }: Sql) => `${values.map(copyValue).join('\t')}\n`
