// §8.2.3: outcomes of groups at rest: which failed most, by the index of what did not end well; and how the groups that
// are asked for ended and how long they took, out of roll-ups where they have it. All in the project's own lane (R78).
import { nextTurn } from '../core/turns.ts'
import { type Db, fixed, joined, type Sql, sql } from '../storage/db.ts'
import { bucketSql } from './latency-histogram.ts'
import { eventsWhere, listed, needsEvents, within } from './usage-filter-store.ts'
import { inOwnLane, usageList } from './usage-list-store.ts'
import { type OutcomePart, type OutcomeQuestion, outcomeSums, type UsageOutcome } from './usage-outcomes.ts'
import { filteredBy } from './usage-query.ts'
import { cubeWith, type Dimension, noSpread } from './usage-rollup.ts'
import { answered, eventsFitting, type Reading } from './usage-sums-store.ts'

/** What an event calls a dimension. */
const OF_EVENT: Record<Dimension, string> = {
  key_id: 'e.key_id',
  model: 'e.resolved_model',
  provider: 'e.provider',
  profile: 'e.profile',
  cluster_id: "COALESCE(e.cluster_id, '')",
}

export function outcomeStore(db: Db) {
  /** In parts that one statement may read: of millions of calls, millions may have failed. */
  async function failedMost(project_id: string, { filter, by, limit }: OutcomeQuestion): Promise<string[]> {
    const own = inOwnLane(db, project_id)
    const times = new Map<string, number>()
    for await (const fitting of usageList(own, project_id, filter, 'unfinished').windows())
      for (const { name, events } of await own.rows<Failed>(failedIn(by, fitting)))
        times.set(name, (times.get(name) ?? 0) + events)
    const most = ([one, of_one]: [string, number], [other, of_other]: [string, number]) =>
      of_other - of_one || (one < other ? -1 : 1)
    return [...times].sort(most).flatMap(([name], at) => (at < limit ? [name] : []))
  }

  /** Each group in one statement, while others roll up. */
  async function* outOfRollups(project_id: string, { filter, by }: OutcomeQuestion, names: readonly string[]) {
    const cube = cubeWith([by, ...filteredBy(filter)])
    const at_once = by === 'key_id' ? KEYS_AT_ONCE : names.length
    for (let at = 0; at < names.length; at += at_once) {
      const reading = readingBy(by, names.slice(at, at + at_once))
      const asked = { project_id, filter, cube, grains: cube.grains }
      yield* await answered<Row>(inOwnLane(db, project_id), reading, asked, { told: grouped })
    }
  }

  /** In parts that one statement may read: there may be millions of events. Those of a key are found by its index. */
  async function* outOfEvents(project_id: string, { filter, by }: OutcomeQuestion, names: readonly string[]) {
    const own = inOwnLane(db, project_id)
    for (const some of by === 'key_id' ? names.map((name) => [name]) : [names]) {
      const narrowed = by === 'key_id' ? { ...filter, key_id: some[0] ?? '' } : filter
      if (filter.key_id !== null && filter.key_id !== narrowed.key_id) continue
      const named = joined(eventsWhere(project_id, narrowed), within(filter.from_ms, filter.to_ms))
      const parts = filter.trace_id === null ? usageList(own, project_id, narrowed).windows() : [named]
      const reading = readingBy(by, some)
      for await (const fitting of parts) yield await own.rows<Row>(grouped(eventsFitting(reading, fitting)))
    }
  }

  return {
    /** R77: what came of them is added in steps. */
    async outcomes(project_id: string, question: OutcomeQuestion): Promise<UsageOutcome[]> {
      const names = [...new Set([...question.names, ...(await failedMost(project_id, question))])]
      const sums = outcomeSums()
      if (names.length === 0) return sums.outcomes()
      const read = needsEvents(question.filter) ? outOfEvents : outOfRollups
      for await (const rows of read(project_id, question, names))
        for (const [row_at, row] of rows.entries()) {
          if (row_at % ROWS_A_STEP === 0) await nextTurn()
          sums.add(partFrom(row))
        }
      return sums.outcomes()
    },
  }
}

const KEYS_AT_ONCE = 10 // each day of a key has its histogram, which an index finds
const ROWS_A_STEP = 100 // histograms to be parsed and added

interface Failed {
  name: string
  events: number
}

const failedIn = (by: Dimension, fitting: Sql): Sql =>
  joined(
    fixed(`SELECT ${OF_EVENT[by]} AS name, COUNT(*) AS events FROM usage_event e WHERE `),
    fitting,
    fixed(` AND e.status <> 'client_left' GROUP BY ${OF_EVENT[by]}`),
  )

function readingBy(by: Dimension, names: readonly string[]): Reading {
  // An empty text is how a roll-up says that there was no key; the index by key does not have those.
  const by_index = by === 'key_id' ? " AND key_id <> ''" : ''
  return {
    rollup: fixed(`${by} AS name, events, spread, '' AS status, 0 AS duration_ms, 0 AS ttft_ms`),
    event: fixed(`${OF_EVENT[by]} AS name, 1 AS events, NULL AS spread, e.status, e.duration_ms, e.ttft_ms`),
    ...(by === 'key_id' && { are_keys_named: true, keys: names }),
    only: {
      rollup: joined(fixed(`${by_index} AND ${by} IN `), listed(names)),
      event: joined(fixed(` AND ${OF_EVENT[by]} IN `), listed(names)),
    },
  }
}

/** A roll-up with its spread; or how many events of a group ended so; or how many of them are in a bucket. */
interface Row {
  name: string
  events: number
  spread: string | null
  status: string
  histogram: '' | 'duration' | 'ttft'
  bucket: number
}

const bucketsOf = (histogram: 'duration' | 'ttft') =>
  fixed(`
    UNION ALL SELECT name, COUNT(*) AS events, NULL AS spread, '' AS status, '${histogram}' AS histogram,
      ${bucketSql(`${histogram}_ms`)} AS bucket
    FROM part WHERE spread IS NULL AND ${histogram}_ms IS NOT NULL GROUP BY name, bucket`)

const grouped = (parts: Sql): Sql =>
  joined(
    sql`SELECT * FROM (WITH part AS (`,
    parts,
    sql`)
      SELECT name, events, spread, status, '' AS histogram, 0 AS bucket FROM part WHERE spread IS NOT NULL
      UNION ALL SELECT name, COUNT(*) AS events, NULL AS spread, status, '' AS histogram, 0 AS bucket
      FROM part WHERE spread IS NULL GROUP BY name, status`,
    bucketsOf('duration'),
    bucketsOf('ttft'),
    sql`) AS told`,
  )

function partFrom({ name, events, spread, status, histogram, bucket }: Row): OutcomePart {
  if (spread !== null) return { name, spread: JSON.parse(spread) }
  if (histogram === '') return { name, spread: { ...noSpread(), status: { [status]: events } } }
  return { name, spread: { ...noSpread(), [histogram]: { [bucket]: events } } }
}
