// Usage of any time range out of roll-ups where they have it, and out of events where they do not: the days and parts
// of days that lie whole in the range, events at its two ends, and events that are not rolled up yet. One statement
// reads all of it, so that nothing is counted twice or left out while somebody rolls up.
import { DAY_MS } from '../core/clock.ts'
import { aside, type Db, fixed, joined, type Sql, sql } from '../storage/db.ts'
import type { UsageFilter } from './usage-query.ts'
import { AMOUNTS, type Cube, type Cuts, cubeName, cubeWith, cut, type Grain, type Span } from './usage-rollup.ts'
import { hasTag } from './usage-tag-store.ts'

/** How one line of the whole is read: out of a roll-up, and out of an event `e`. The columns must be alike. */
export interface Reading {
  rollup: Sql
  event: Sql
  /** What else must hold of each. */
  only?: { rollup: Sql; event: Sql }
  /** Roll-ups of keys that are named: by the index of keys. SQLite must be kept from the project's, see eventsWhere. */
  are_keys_named?: boolean
  /** Where roll-ups are added up as they are read: by what. */
  rollups_by?: Sql
}

export interface Asked {
  project_id: string
  filter: UsageFilter
  cube: Cube
  /** Those of the cube that may be used. */
  grains: readonly Grain[]
}

const DIMENSION_COLUMNS = 'day, key_id, model, provider, profile, cluster_id'
/** A line with all that is added up, and what it can be grouped by. */
export const READING: Reading = {
  rollup: fixed(`${DIMENSION_COLUMNS}, events, ${AMOUNTS.join(', ')}`),
  event: fixed(
    "e.day, e.key_id, e.resolved_model AS model, e.provider, e.profile, COALESCE(e.cluster_id, '') AS cluster_id, " +
      `1 AS events, ${AMOUNTS.map((name) => `e.${name}`).join(', ')}`,
  ),
}

const NO_OTHERS = "'' AS model, '' AS provider, '' AS profile, '' AS cluster_id"

/** Of each key, added up where it is read: on SQLite out of an index that has them in this order. */
export const READING_BY_KEY: Reading = {
  rollup: fixed(
    `'' AS day, key_id, ${NO_OTHERS}, ${['events', ...AMOUNTS].map((name) => `SUM(${name}) AS ${name}`).join(', ')}`,
  ),
  event: READING.event,
  rollups_by: fixed(' GROUP BY key_id'),
}

/** Only events know sessions, bundles, tags, endings and trace ids. */
export const needsEvents = ({ session_id, bundle_id, tag, status, trace_id }: UsageFilter) =>
  (session_id ?? bundle_id ?? tag ?? status ?? trace_id) !== null

/** All parts of the answer, as rows; no two of them overlap. */
function fromRollups(reading: Reading, { project_id, filter, cube }: Asked, cuts: Cuts): Sql {
  const { rollup, event, only: more, are_keys_named, rollups_by = sql`` } = reading
  const whose = are_keys_named ? sql`CASE WHEN TRUE THEN project_id END` : sql`project_id`
  const only = joined(rollupsWhere(project_id, filter), more?.rollup ?? sql``)
  const events = joined(eventsWhere(project_id, filter), more?.event ?? sql``)
  const eventsIn = (table: Sql, { from, to }: Span) =>
    joined(sql`SELECT `, event, sql` FROM `, table, sql` e WHERE `, events, within(from, to))
  const parts = [
    ...cuts.rollups.map(({ grain, from, to }) =>
      joined(
        sql`SELECT `,
        rollup,
        sql` FROM usage_rollup WHERE `,
        whose,
        sql` = ${project_id} AND `,
        fixed(`cube = '${cubeName(grain, cube)}'`), // said, not bound: an index may be of one cube
        sql` AND start_ms >= ${from} AND start_ms < ${to}`,
        only,
        rollups_by,
      ),
    ),
    joined(eventsIn(sql`usage_to_roll`, cuts.rolled), sql` AND e.waiting_of = ${project_id}`),
    ...cuts.ends.map((span) => eventsIn(sql`usage_event`, span)),
  ]
  return joined(...parts.flatMap((part, at) => (at === 0 ? [part] : [sql` UNION ALL `, part])))
}

/**
 * What `told` makes of all parts of the answer. A day that a version without the finest cubes rolled up, if only a part
 * of it, lacks them for good; where they would be read of one, the answer is asked for once more without them. To look
 * afterwards is enough: a day that lacks nothing then has never lacked anything.
 */
export async function answered<Row>(db: Db, reading: Reading, asked: Asked, told: (parts: Sql) => Sql): Promise<Row[]> {
  const { project_id, filter, cube, grains } = asked
  const cuts = cut(filter.from_ms, filter.to_ms, grains)
  const rows = await db.rows<Row>(told(fromRollups(reading, asked, cuts)))
  const { before } = cube
  if (before && (await isMissing(db, project_id, cube, cuts.rollups)))
    return answered(db, reading, { ...asked, cube: before, grains: before.grains }, told)
  const finest = cuts.rollups.filter(({ grain }) => !cube.first_grains.includes(grain))
  if (!(await isLacking(db, project_id, finest))) return rows
  const coarser = grains.filter((grain) => cube.first_grains.includes(grain))
  return db.rows<Row>(told(fromRollups(reading, asked, cut(filter.from_ms, filter.to_ms, coarser))))
}

export const TOTAL_BY_DAY = cubeName('day', cubeWith([]))

/** Whether a day of the spans has events that a cube does not, which came later than the day was rolled up. */
async function isMissing(db: Db, project_id: string, cube: Cube, spans: Cuts['rollups']): Promise<boolean> {
  const name = cubeName('day', cube)
  for (const { from, to } of spans) {
    const [row] = await db.rows<{ missing: number }>(
      aside(sql`
        SELECT COALESCE(CAST(SUM(CASE WHEN cube = ${name} THEN -events ELSE events END) AS BIGINT), 0) AS missing
        FROM usage_rollup WHERE project_id = ${project_id} AND cube IN (${name}, ${TOTAL_BY_DAY})
          AND start_ms >= ${from} AND start_ms < ${to}`),
    )
    if (row?.missing !== 0) return true
  }
  return false
}

/** Whether a day that one of the spans touches has events that the finest cubes do not. */
async function isLacking(db: Db, project_id: string, spans: readonly Span[]): Promise<boolean> {
  if (spans.length === 0) return false
  const touched = spans.map(({ from, to }) => sql` OR (start_ms > ${from - DAY_MS} AND start_ms < ${to})`)
  const lacking = await db.rows(
    joined(
      sql`SELECT 1 AS lacking FROM usage_rollup WHERE project_id = ${project_id} AND cube = ${TOTAL_BY_DAY}
        AND finer_events < events AND (FALSE`,
      ...touched,
      sql`) LIMIT 1`,
    ),
  )
  return lacking.length > 0
}

/** Only what is asked for stands in the statement, so that each engine can tell which index serves it. */
export function eventsWhere(project_id: string, f: UsageFilter): Sql {
  // A key's events have an index of their own. SQLite, which knows no statistics, would take the project's, which is
  // as good by its rules: what is computed from the column it cannot look up. PostgreSQL sees through this very form,
  // and must: of any other it would guess that one row in 200 fits, and sort all of a key's events to find a page.
  const whose =
    f.key_id === null
      ? sql`e.project_id = ${project_id}`
      : sql`e.key_id = ${f.key_id} AND CASE WHEN TRUE THEN e.project_id END = ${project_id}`
  const parts = [whose, eventsNarrowed(f)]
  if (f.replays !== null) parts.push(sql` AND e.key_id`, byReplays(project_id, f.replays))
  return joined(...parts)
}

/** By all that is asked for but whose they are. */
export function eventsNarrowed(f: UsageFilter): Sql {
  const parts: Sql[] = []
  if (f.model !== null) parts.push(sql` AND e.resolved_model = ${f.model}`)
  if (f.provider !== null) parts.push(sql` AND e.provider = ${f.provider}`)
  if (f.profile !== null) parts.push(sql` AND e.profile = ${f.profile}`)
  if (f.cluster_id !== null) parts.push(sql` AND e.cluster_id = ${f.cluster_id}`)
  if (f.session_id !== null) parts.push(sql` AND e.session_id = ${f.session_id}`)
  if (f.bundle_id !== null) parts.push(sql` AND e.bundle_id = ${f.bundle_id}`)
  if (f.tag !== null) parts.push(hasTag(f.tag))
  if (f.status !== null) parts.push(sql` AND e.status = ${f.status}`)
  if (f.trace_id !== null) parts.push(sql` AND e.trace_id = ${f.trace_id}`)
  return joined(...parts)
}

export const within = (from_ms: number, to_ms: number) =>
  sql` AND e.created_ms >= ${from_ms} AND e.created_ms < ${to_ms}`

/** Replay runs have keys of their own. */
export const byReplays = (project_id: string, which: NonNullable<UsageFilter['replays']>): Sql =>
  joined(
    which === 'only' ? sql` IN ` : sql` NOT IN `,
    sql`(SELECT r.key_id FROM replay_key r WHERE r.project_id = ${project_id})`,
  )

function rollupsWhere(project_id: string, f: UsageFilter): Sql {
  const parts: Sql[] = []
  // Roll-ups that are by no key have an empty text there, and are not in the index by key: hence the second half.
  if (f.key_id !== null) parts.push(sql` AND key_id = ${f.key_id} AND key_id <> ''`)
  if (f.model !== null) parts.push(sql` AND model = ${f.model}`)
  if (f.provider !== null) parts.push(sql` AND provider = ${f.provider}`)
  if (f.profile !== null) parts.push(sql` AND profile = ${f.profile}`)
  // An empty text is how a roll-up says that there was no cluster; to an event it is the name of none.
  if (f.cluster_id !== null) parts.push(sql` AND cluster_id = ${f.cluster_id} AND cluster_id <> ''`)
  if (f.replays !== null) parts.push(sql` AND key_id`, byReplays(project_id, f.replays))
  return joined(...parts)
}
