// Months of usage in minutes: events and their roll-ups as the server would have left them, past the work of a server.
// Each row is what the usage store itself would have written, and the roll-ups come from its own rule, a day at a time.
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { DAY_MS } from '../src/core/clock.ts'
import { type Db, type OpenDb, type Sql, type SqlValue, sql } from '../src/storage/db.ts'
import { alikeEvents } from '../src/usage/alike-events.ts'
import { usageArchive } from '../src/usage/usage-archive-store.ts'
import type { UsageEvent } from '../src/usage/usage-event.ts'
import { placeOf, type Rollup, rollUp } from '../src/usage/usage-rollup.ts'
import { usageStore } from '../src/usage/usage-store.ts'
import { BENCH_DAYS, BENCH_FACTS, benchEvent, endOfEvent, type Owner, randomness } from './usage-events.ts'

const SEED = 20_261_115
const WRITTEN_AT_ONCE = 4_000
const COPIED_AT_ONCE = 500 // rows in a piece of the stream

export interface Load {
  owner: Owner
  events: number
  /** When the last of them ended. */
  end_ms: number
  /** What each becomes, where it is not to stay as it was made. */
  changed?: (event: UsageEvent, random: () => number) => UsageEvent
}

/** `location` is where the PostgreSQL is; the embedded store is written through `db`. */
export async function loadUsage(db: OpenDb, location: string, load: Load, at_once = WRITTEN_AT_ONCE): Promise<void> {
  for (let days = 0; days <= BENCH_DAYS; days += 28) await usageArchive(db).makeMonths(load.end_ms - days * DAY_MS)
  const bulk = db.engine === 'sqlite' ? await embeddedBulk(db) : await copyingBulk(location)
  const day = alikeEvents()
  for (const events of piecesOfDays(load, at_once)) {
    await bulk.write(await statementsOf(events.some))
    for (const event of events.some) day.add(event, placeOf(event), Date.parse(event.created_at))
    if (!events.day_is_over) continue
    const sums = day.take().flatMap((batch) => batch.map(({ sum }) => sum))
    await bulk.write(rollUp(sums).map(insertOf))
  }
  await bulk.end()
}

export function* benchEvents({ owner, events, end_ms, changed = (made) => made }: Load): Generator<UsageEvent> {
  const random = randomness(SEED)
  for (let n = 0; n < events; n++) yield changed(benchEvent(n, endOfEvent(n / events, end_ms), random, owner), random)
}

interface Piece {
  some: UsageEvent[]
  /** No roll-up has events of two days in it, so those of a day can be made at its end. */
  day_is_over: boolean
}

function* piecesOfDays(load: Load, at_once: number): Generator<Piece> {
  let some: UsageEvent[] = []
  for (const event of benchEvents(load)) {
    const day_is_over = some[0] !== undefined && some[0].created_at.slice(0, 10) !== event.created_at.slice(0, 10)
    if (day_is_over || some.length === at_once) {
      yield { some, day_is_over }
      some = []
    }
    some.push(event)
  }
  if (some.length > 0) yield { some, day_is_over: true }
}

/** The statements by which the store would have inserted them. */
async function statementsOf(events: readonly UsageEvent[]): Promise<Sql[]> {
  const statements: Sql[] = []
  const listening: Db = {
    async rows(statement) {
      statements.push(statement)
      return []
    },
    transaction: () => Promise.reject(new Error('an insert of usage is one statement')),
  }
  const store = usageStore(listening)
  for (const event of events) await store.insert(event, BENCH_FACTS)
  return statements
}

const insertions = new Map<string, readonly string[]>()

function insertOf({ spread, ...sums }: Rollup): Sql {
  const rollup = { ...sums, finer_events: sums.events }
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
