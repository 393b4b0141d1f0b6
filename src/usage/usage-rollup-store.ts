// Rolls usage up, off the path of generations: events that no roll-up has in it yet are added to the roll-ups and
// struck off in one transaction. So a crash half way undoes it, and no event is ever in both or neither.
import { type Db, fixed, joined, type Sql, type SqlValue, sql, type Tx } from '../storage/db.ts'
import { type Alike, type AlikeEvents, alikeEvents, BATCH_EVENTS } from './alike-events.ts'
import {
  AMOUNTS,
  assertSummable,
  type Countable,
  type Dimension,
  mergeSpread,
  NotSummable,
  type Place,
  type Rollup,
  rollUp,
  type Spread,
} from './usage-rollup.ts'

export const LINES_AT_ONCE = 250
const COUNTED_MAX = 100_000
const ADDED_AT_ONCE = 40 // a statement is prepared for each number up to this

/** `written`: what this process has inserted since the last time, where it is the only one that inserts. */
export function usageRollups(db: Db, written?: AlikeEvents) {
  /** How many events wait to be rolled up; beyond so many, that many, since counting them is work as well. */
  async function waiting(): Promise<number> {
    const [row] = await db.rows<{ waiting: number }>(sql`
      SELECT COUNT(*) AS waiting FROM (SELECT 1 AS one FROM usage_unrolled LIMIT ${COUNTED_MAX}) AS counted`)
    return row?.waiting ?? 0
  }

  async function rollAll(events: AlikeEvents): Promise<'rolled' | 'busy'> {
    for (const batch of events.take()) if (!(await rollBatch(db, batch))) return 'busy'
    return 'rolled'
  }

  return {
    waiting,

    /** Rolls up what waits, oldest ids first. Returns how many events; 'busy' while another process does so. */
    async roll(most = Number.MAX_SAFE_INTEGER): Promise<number | 'busy'> {
      const rows = await readOldest(db, most)
      const events = alikeEvents()
      for (const row of rows) events.add(row, row, row.created_ms)
      return (await rollAll(events)) === 'busy' ? 'busy' : rows.length
    },

    /**
     * The same for what this process has written, without reading it back. False where more waits than that: what was
     * written before the start or by others, or whose transaction came to nothing. Then all must be read.
     */
    async rollWritten(): Promise<boolean> {
      if (!written) return false
      await rollAll(written)
      // What was written meanwhile is known again, though some of it may not be committed yet: then as many of anybody
      // else's are seen a turn later.
      if ((await waiting()) <= written.count()) return true
      written.clear()
      return false
    },
  }
}

interface Waiting extends Countable, Place {
  trace_id: string
  created_ms: number
}

/** Events never change, so they may be read before anybody is kept from writing. */
async function readOldest(db: Db, most: number): Promise<Waiting[]> {
  const events: Waiting[] = []
  for (let last = ''; events.length < most; ) {
    const some = await db.rows<Waiting>(pageOf(last, Math.min(LINES_AT_ONCE, most - events.length)))
    events.push(...some)
    if (some.length < LINES_AT_ONCE) break
    last = some.at(-1)?.trace_id ?? last
  }
  return events
}

const SUMMED = fixed(`
  SELECT trace_id, project_id, created_ms, key_id, resolved_model AS model, provider, profile,
    COALESCE(cluster_id, '') AS cluster_id, status, duration_ms, ttft_ms, input_tokens, cached_tokens,
    written_tokens, output_tokens, reasoning_tokens, repeated_tokens_est, missed_reuse_tokens, charged_micros,
    direct_cost_micros, savings_micros, written_off_micros, overage_micros, waived_micros
  FROM usage_to_roll `)

/** Planned each time: kept from when nothing waited, PostgreSQL's plan looks up all events to sort them for a page. */
const pageOf = (after: string, limit: number): Sql =>
  joined(SUMMED, sql`WHERE trace_id > ${after} ORDER BY trace_id LIMIT ${limit}`)

export interface WaitingSpan {
  project_id: string
  first: string
  last: string
}

/** What waits of one project, from one event to another. */
export async function readWaiting(db: Db, { project_id, first, last }: WaitingSpan): Promise<Waiting[]> {
  const events = await db.rows<Waiting>(
    joined(SUMMED, sql`WHERE waiting_of = ${project_id} AND trace_id >= ${first} AND trace_id <= ${last}`),
  )
  for (const event of events) assertSummable(event, 1)
  return events
}

/** False where another process is at it, or was since the events were read. */
export async function rollBatch(db: Db, batch: readonly Alike[]): Promise<boolean> {
  try {
    for (const { sum } of batch) assertSummable(sum, sum.events)
    return await db.transaction(async (tx) => {
      if (!(await tx.tryLock('switchyard usage roll-up'))) return false
      await strikeOff(
        tx,
        batch.flatMap(({ trace_ids }) => trace_ids),
      )
      await addAll(tx, rollUp(batch.map(({ sum }) => sum)))
      return true
    })
  } catch (error) {
    if (error instanceof Overtaken) return false
    throw error
  }
}

/** Others have rolled up some of the same events. */
class Overtaken extends Error {}

/** By name, one and all: others may have come in between since they were read, and those are not ours. */
async function strikeOff(tx: Tx, trace_ids: readonly string[]): Promise<void> {
  const names = [...trace_ids]
  while (names.length < BATCH_EVENTS) names.push('') // one text for every number of names
  const struck = await tx.rows({ text: STRIKING, values: names })
  if (struck.length !== trace_ids.length) throw new Overtaken()
}

const listOf = (values: number): Sql => ({
  text: ['(', ...Array.from({ length: values - 1 }, () => ', '), ')'],
  values: [],
})

const STRIKING = joined(
  sql`DELETE FROM usage_unrolled WHERE trace_id IN `,
  listOf(BATCH_EVENTS),
  sql` RETURNING trace_id`,
).text

/** Some at a time: what they hold is read, and they are put back with more in them. */
async function addAll(tx: Tx, rollups: readonly Rollup[]): Promise<void> {
  for (let at = 0; at < rollups.length; at += ADDED_AT_ONCE) {
    const some = rollups.slice(at, at + ADDED_AT_ONCE)
    const spreads = await spreadsOf(tx, some)
    for (const rollup of some) {
      const before = spreads.get(nameOf(rollup))
      if (before) mergeSpread(rollup.spread, spreadOf(before))
    }
    await add(tx, some)
  }
}

function spreadOf(text: string): Spread {
  try {
    return JSON.parse(text)
  } catch {
    throw new NotSummable('the roll-up that it belongs to cannot be read')
  }
}

type Named = Pick<Rollup, 'project_id' | 'cube' | 'start_ms' | Dimension>

/** By the whole key of each: a day may have as many others as the project has keys and models. */
async function spreadsOf(tx: Tx, rollups: readonly Rollup[]): Promise<Map<string, string>> {
  const values = rollups.flatMap(keyOf)
  const rows = await tx.rows<Named & { spread: string }>({ text: READING.textFor(rollups.length), values })
  return new Map(rows.map((row) => [nameOf(row), row.spread]))
}

const keyOf = ({ project_id, cube, start_ms, key_id, model, provider, profile, cluster_id }: Named): SqlValue[] => [
  project_id,
  cube,
  start_ms,
  key_id,
  model,
  provider,
  profile,
  cluster_id,
]

const nameOf = (rollup: Named) => JSON.stringify(keyOf(rollup))

/** Sums grow where they are; only whoever has the lock writes here, so the spread may be put back whole. */
async function add(tx: Tx, rollups: readonly Rollup[]): Promise<void> {
  const added = await tx.rows({ text: ADDING.textFor(rollups.length), values: rollups.flatMap(valuesOf) })
  if (added.length !== rollups.length) throw new NotSummable('the sums that it belongs to would become too large')
}

/** A statement about any number of rows. Its text is put together once for each number. */
function aboutRows(before: Sql, row: Sql, after: Sql) {
  const texts: (readonly string[] | undefined)[] = []
  return {
    textFor(rows: number): readonly string[] {
      let text = texts[rows]
      if (!text) {
        text = joined(before, row, ...Array.from({ length: rows - 1 }, () => joined(sql`, `, row)), after).text
        texts[rows] = text
      }
      return text
    },
  }
}

const KEY: Sql = { text: ['(', ', ', ', CAST(', ' AS BIGINT), ', ', ', ', ', ', ', ', ', ')'], values: [] }

const READING = aboutRows(
  sql`
  SELECT project_id, cube, start_ms, key_id, model, provider, profile, cluster_id, spread FROM usage_rollup
  WHERE (project_id, cube, start_ms, key_id, model, provider, profile, cluster_id) IN (VALUES `,
  KEY,
  sql`)`,
)

const INTO = sql`
  INSERT INTO usage_rollup AS old (project_id, cube, start_ms, day, key_id, model, provider, profile, cluster_id,
    events, finer_events, input_tokens, cached_tokens, written_tokens, output_tokens, reasoning_tokens,
    repeated_tokens_est, missed_reuse_tokens, charged_micros, direct_cost_micros, savings_micros,
    written_off_micros, overage_micros, waived_micros, spread)
  VALUES `

const COLUMNS = 25

const valuesOf = (r: Rollup): SqlValue[] => [
  r.project_id,
  r.cube,
  r.start_ms,
  r.day,
  r.key_id,
  r.model,
  r.provider,
  r.profile,
  r.cluster_id,
  r.events,
  r.events, // which all are in the finest ones too
  r.input_tokens,
  r.cached_tokens,
  r.written_tokens,
  r.output_tokens,
  r.reasoning_tokens,
  r.repeated_tokens_est,
  r.missed_reuse_tokens,
  r.charged_micros,
  r.direct_cost_micros,
  r.savings_micros,
  r.written_off_micros,
  r.overage_micros,
  r.waived_micros,
  JSON.stringify(r.spread),
]

const GROWING = sql`
  ON CONFLICT (project_id, cube, start_ms, key_id, model, provider, profile, cluster_id) DO UPDATE SET
    events = old.events + excluded.events,
    finer_events = old.finer_events + excluded.finer_events,
    input_tokens = old.input_tokens + excluded.input_tokens,
    cached_tokens = old.cached_tokens + excluded.cached_tokens,
    written_tokens = old.written_tokens + excluded.written_tokens,
    output_tokens = old.output_tokens + excluded.output_tokens,
    reasoning_tokens = old.reasoning_tokens + excluded.reasoning_tokens,
    repeated_tokens_est = old.repeated_tokens_est + excluded.repeated_tokens_est,
    missed_reuse_tokens = old.missed_reuse_tokens + excluded.missed_reuse_tokens,
    charged_micros = old.charged_micros + excluded.charged_micros,
    direct_cost_micros = old.direct_cost_micros + excluded.direct_cost_micros,
    savings_micros = old.savings_micros + excluded.savings_micros,
    written_off_micros = old.written_off_micros + excluded.written_off_micros,
    overage_micros = old.overage_micros + excluded.overage_micros,
    waived_micros = old.waived_micros + excluded.waived_micros,
    spread = excluded.spread`

/** R78: a sum that no number can tell exactly is not written, on either engine. */
const WITHIN_BOUNDS = fixed(` WHERE ${AMOUNTS.map(within).join(' AND ')} RETURNING cube`)

function within(name: string): string {
  return `old.${name} + excluded.${name} <= ${Number.MAX_SAFE_INTEGER}`
}

const ADDING = aboutRows(INTO, listOf(COLUMNS), joined(GROWING, WITHIN_BOUNDS))
