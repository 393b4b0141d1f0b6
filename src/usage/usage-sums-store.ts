// Usage of any time range out of roll-ups where they have it, and out of events where they do not: the days and parts
// of days that lie whole in the range, events at its two ends, and events that are not rolled up yet. One statement
// reads all of it, so that nothing is counted twice or left out while somebody rolls up. Only what has no roll-up to be
// in, events at the two ends, may be so many that they are read by themselves, in windows.

import { DAY_MS } from '../core/clock.ts'
import { aside, fixed, joined, type Sql, sql } from '../storage/db.ts'
import type { Reads } from '../storage/long-reads.ts'
import { WINDOW_ROWS } from './request-search.ts'
import { byReplays, eventsWhere, listed, within } from './usage-filter-store.ts'
import { usageList } from './usage-list-store.ts'
import type { UsageFilter } from './usage-query.ts'
import { AMOUNTS, type Cube, type Cuts, cubeName, cubeWith, cut, type Grain, type Span } from './usage-rollup.ts'

/** How one line of the whole is read: out of a roll-up, and out of an event `e`. The columns must be alike. */
export interface Reading {
  rollup: Sql
  event: Sql
  /** Of a roll-up as well, where it is taken off another. */
  taken_off?: Sql
  /** What else must hold of each. */
  only?: { rollup: Sql; event: Sql }
  /** Roll-ups of keys that are named: by the index of keys. SQLite must be kept from the project's, see eventsWhere. */
  are_keys_named?: boolean
  /** Which ones: by them, events at the ends are found, too. */
  keys?: readonly string[]
  /** Where roll-ups are added up as they are read: by what. */
  rollups_by?: Sql
}

export interface Asked {
  project_id: string
  filter: UsageFilter
  cube: Cube
  /** Those of the cube that may be used. */
  grains: readonly Grain[]
  /** Where replays are left out: a smaller one, of no keys. What theirs used is taken off it, out of the other. */
  whole?: Cube | undefined
}

/** What becomes of the parts of an answer. */
export interface Telling {
  /** `only`: of this span, and the rest is told of events. Then what several statements say is to be added up. */
  told(parts: Sql, only?: Span): Sql
  /** Of events that fit; without it, as of any part. */
  toldOfEvents?(fitting: Sql): Sql
}

const DIMENSION_COLUMNS = 'day, key_id, model, provider, profile, cluster_id'
/** A line with all that is added up, and what it can be grouped by. */
export const READING = {
  rollup: fixed(`${DIMENSION_COLUMNS}, events, ${AMOUNTS.join(', ')}`),
  taken_off: fixed(`${DIMENSION_COLUMNS}, -events, ${AMOUNTS.map((name) => `-${name}`).join(', ')}`),
  event: fixed(
    "e.day, e.key_id, e.resolved_model AS model, e.provider, e.profile, COALESCE(e.cluster_id, '') AS cluster_id, " +
      `1 AS events, ${AMOUNTS.map((name) => `e.${name}`).join(', ')}`,
  ),
} satisfies Reading

const NO_OTHERS = "'' AS model, '' AS provider, '' AS profile, '' AS cluster_id"

/** Of each key, added up where it is read: on SQLite out of an index that has them in this order. */
export const READING_BY_KEY: Reading = {
  rollup: fixed(
    `'' AS day, key_id, ${NO_OTHERS}, ${['events', ...AMOUNTS].map((name) => `SUM(${name}) AS ${name}`).join(', ')}`,
  ),
  event: READING.event,
  rollups_by: fixed(' GROUP BY key_id'),
}

/** All parts of the answer, as rows; no two of them overlap. */
function fromRollups(reading: Reading, asked: Asked, cuts: Cuts): Sql {
  const { project_id, filter } = asked
  const events = joined(eventsWhere(project_id, filter), reading.only?.event ?? sql``)
  const eventsIn = (table: Sql, { from, to }: Span) =>
    joined(sql`SELECT `, reading.event, sql` FROM `, table, sql` e WHERE `, events, within(from, to))
  const parts = [
    ...cuts.rollups.flatMap((span) => rollupsIn(reading, asked, span)),
    joined(eventsIn(sql`usage_to_roll`, cuts.rolled), sql` AND e.waiting_of = ${project_id}`),
    ...cuts.ends.map((span) => eventsIn(sql`usage_event`, span)),
  ]
  return joined(...parts.flatMap((part, at) => (at === 0 ? [part] : [sql` UNION ALL `, part])))
}

type GrainSpan = Cuts['rollups'][number]

function rollupsIn(reading: Reading, asked: Asked, span: GrainSpan): Sql[] {
  const { filter, cube, whole } = asked
  if (!whole || !reading.taken_off || !isForGood(whole, span) || !isForGood(cube, span))
    return [rollups(reading, asked, span)]
  const replays = { ...reading, rollup: reading.taken_off, are_keys_named: true }
  return [
    rollups(reading, { ...asked, cube: whole, filter: { ...filter, replays: null } }, span),
    rollups(replays, { ...asked, filter: { ...filter, replays: 'only' } }, span),
  ]
}

const isForGood = ({ first_grains }: Cube, { grain }: GrainSpan) => first_grains.includes(grain)

function rollups(reading: Reading, { project_id, filter, cube }: Asked, { grain, from, to }: GrainSpan): Sql {
  const { rollup, only, are_keys_named, rollups_by = sql`` } = reading
  return joined(
    sql`SELECT `,
    rollup,
    sql` FROM usage_rollup WHERE `,
    are_keys_named ? sql`CASE WHEN TRUE THEN project_id END` : sql`project_id`,
    sql` = ${project_id} AND `,
    fixed(`cube = '${cubeName(grain, cube)}'`), // said, not bound: an index may be of one cube
    sql` AND start_ms >= ${from} AND start_ms < ${to}`,
    rollupsWhere(project_id, filter),
    only?.rollup ?? sql``,
    rollups_by,
  )
}

/**
 * What is told of all parts of the answer, by each statement. A day that a version without the finest cubes rolled up,
 * if only a part of it, lacks them for good; where they would be read of one, the answer is asked for once more without
 * them. To look afterwards is enough: a day that lacks nothing then has never lacked anything.
 */
export async function answered<Row>(db: Reads, reading: Reading, asked: Asked, telling: Telling): Promise<Row[][]> {
  const { filter, grains } = asked
  const cuts = cut(filter.from_ms, filter.to_ms, grains)
  const ends = await crowdedEnds(db, reading, asked, cuts)
  const parts = fromRollups(reading, asked, ends.length > 0 ? { ...cuts, ends: [] } : cuts)
  const told = [await db.rows<Row>(telling.told(parts, ends.length > 0 ? cuts.rolled : undefined))]
  const instead = await withWhatIsThere(db, asked, cuts)
  if (instead) return answered(db, reading, instead, telling)
  const all = { from: filter.from_ms, to: filter.to_ms }
  const toldOfEvents = telling.toldOfEvents ?? ((fitting) => telling.told(eventsFitting(reading, fitting), all))
  for (const end of ends) for await (const fitting of end.windows()) told.push(await db.rows(toldOfEvents(fitting)))
  return told
}

/** R78: both ends, where more lies in one of them than a statement should read. */
async function crowdedEnds(db: Reads, { keys }: Reading, { project_id, filter }: Asked, { ends }: Cuts) {
  const filters = ends.map(({ from, to }) => ({ ...filter, from_ms: from, to_ms: to }))
  const listOf = (end: UsageFilter) => usageList(db, project_id, end)
  const isCrowded = (end: UsageFilter) => (keys ? areMany(db, project_id, end, keys) : listOf(end).isLong())
  if (!(await Promise.all(filters.map(isCrowded))).includes(true)) return []
  const asked = keys?.filter((key_id) => filter.key_id === null || filter.key_id === key_id)
  return filters.flatMap((end) => asked?.map((key_id) => listOf({ ...end, key_id })) ?? [listOf(end)])
}

/** Of several keys together. */
async function areMany(db: Reads, project_id: string, { from_ms, to_ms }: UsageFilter, keys: readonly string[]) {
  const beyond = await db.rows(
    joined(
      sql`SELECT 1 AS beyond FROM usage_event e
        WHERE CASE WHEN TRUE THEN e.project_id END = ${project_id} AND e.key_id IN `,
      listed(keys),
      within(from_ms, to_ms),
      sql` LIMIT 1 OFFSET ${WINDOW_ROWS}`,
    ),
  )
  return beyond.length > 0
}

export const eventsFitting = ({ event, only }: Reading, fitting: Sql): Sql =>
  joined(sql`SELECT `, event, sql` FROM usage_event e WHERE `, fitting, only?.event ?? sql``)

/** The same question without what some day does not have; undefined where all is there. */
async function withWhatIsThere(db: Reads, asked: Asked, cuts: Cuts): Promise<Asked | undefined> {
  const { project_id, cube, whole, grains } = asked
  const of_whole = cuts.rollups.filter((span) => whole && isForGood(whole, span) && isForGood(cube, span))
  if (whole?.before && (await isMissing(db, project_id, whole, of_whole))) return { ...asked, whole: undefined }
  if (cube.before && (await isMissing(db, project_id, cube, cuts.rollups)))
    return { ...asked, cube: cube.before, grains: cube.before.grains }
  const finest = cuts.rollups.filter((span) => !isForGood(cube, span))
  if (!(await isLacking(db, project_id, finest))) return undefined
  return { ...asked, grains: grains.filter((grain) => cube.first_grains.includes(grain)) }
}

export const TOTAL_BY_DAY = cubeName('day', cubeWith([]))

/** Whether a day of the spans has events that a cube does not, which came later than the day was rolled up. */
async function isMissing(db: Reads, project_id: string, cube: Cube, spans: readonly Span[]): Promise<boolean> {
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
async function isLacking(db: Reads, project_id: string, spans: readonly Span[]): Promise<boolean> {
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

function rollupsWhere(project_id: string, f: UsageFilter): Sql {
  const parts: Sql[] = []
  // Roll-ups that are by no key have an empty text there, and are not in the index by key: hence the second half.
  if (f.key_id !== null) parts.push(sql` AND key_id = ${f.key_id} AND key_id <> ''`)
  if (f.model !== null) parts.push(sql` AND model = ${f.model}`)
  if (f.provider !== null) parts.push(sql` AND provider = ${f.provider}`)
  if (f.profile !== null) parts.push(sql` AND profile = ${f.profile}`)
  // An empty text is how a roll-up says that there was no cluster; to an event it is the name of none.
  if (f.cluster_id !== null) parts.push(sql` AND cluster_id = ${f.cluster_id} AND cluster_id <> ''`)
  if (f.replays === 'only') parts.push(sql` AND key_id <> ''`)
  if (f.replays !== null) parts.push(sql` AND key_id`, byReplays(project_id, f.replays))
  return joined(...parts)
}
