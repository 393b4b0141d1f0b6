// §8.2.3: usage added up by groups, out of roll-ups where these can tell it, and else out of events, in parts that one
// statement may read. All of a project's sums are read in its own lane (R78).
import { DAY_MS, HOUR_MS } from '../core/clock.ts'
import { type Db, fixed, joined, type Sql, sql } from '../storage/db.ts'
import { apartRows, eventsHaving, isApart, movedOut, READING_APART, withApart } from './apart-sums-store.ts'
import { readingDearest } from './dearest-keys-store.ts'
import { type GroupRow, type Groups, groupNames, groupSums } from './group-sums.ts'
import { eventsWhere, needsEvents, within } from './usage-filter-store.ts'
import { inOwnLane, usageList } from './usage-list-store.ts'
import {
  filteredBy,
  type Group,
  LIMIT_MAX,
  type UsageFilter,
  type UsageGroup,
  type UsagePage,
  type UsageQuestion,
} from './usage-query.ts'
import { AMOUNTS, cubeWith, type Dimension, type Span } from './usage-rollup.ts'
import { type Asked, answered, READING, type Reading, TOTAL_BY_DAY } from './usage-sums-store.ts'
import { tagColumn } from './usage-tag-store.ts'

/** What a page is cut from, and how long it is at most. */
export type GroupsPage = Pick<UsageQuestion, 'filter' | 'limit'> & Partial<Groups>

interface Summing {
  project_id: string
  filter: UsageFilter
  groups: Groups
  /** Undefined: all of them. */
  limit: number | undefined
}

/** `lane`: whose reading it is; without it, the project's own. */
export function usageGroups(db: Db, lane?: string) {
  const laneOf = (project_id: string) => inOwnLane(db, lane ?? project_id)

  async function sums(asked: Summing): Promise<UsageGroup[]> {
    const { filter, groups } = asked
    const { group_by, group_tag } = groups
    if (isApart(filter, groups)) return (await sumsApart(asked)).map(groupFrom)
    const is_of_events = needsEvents(filter) || group_by.includes('bundle_id') || group_tag !== undefined
    return (await (is_of_events ? sumsOfEvents(asked) : sumsOfRollups(asked))).map(groupFrom)
  }

  /** Out of events alone, in parts: there may be millions of them, and none is ever changed. */
  async function sumsOfEvents({ project_id, filter, groups, limit }: Summing): Promise<GroupRow[]> {
    const { rows } = laneOf(project_id)
    const named = joined(eventsWhere(project_id, filter), within(filter.from_ms, filter.to_ms))
    const parts = filter.trace_id === null ? usageList({ rows }, project_id, filter).windows() : [named]
    const all = groupSums(groups)
    for await (const fitting of parts) all.add(await rows<GroupRow>(groupedEvents(groups, fitting)))
    return all.newest(limit)
  }

  /** `having`: those of a span that have a bundle or the tag, where they are told in the same statement. */
  async function sumsOfRollups(asked: Summing, having?: (span: Span) => Sql): Promise<GroupRow[]> {
    const { project_id, filter, groups, limit } = asked
    const own = laneOf(project_id)
    const question = rolledUp(asked)
    const is_by_key = groups.group_by.join() === 'key_id' && groups.group_tag === undefined
    const is_apart = isApart(filter, groups)
    const whole: Reading = is_apart ? READING_APART : READING
    const reading = is_by_key ? await readingDearest(own, question, limit) : whole
    const told = await answered<GroupRow>(own, reading, question, {
      told(parts, only) {
        const all = having ? withApart(parts, groups, having(only ?? spanOf(filter))) : parts
        return only ? inGroups(groups, all) : firstGroups(groups, all, limit)
      },
      // Where what has it is moved out elsewhere, events are told as roll-ups tell them: of none.
      ...((having || !is_apart) && {
        toldOfEvents: (fitting: Sql) => groupedEvents(groups, fitting, reading.only?.event),
      }),
    })
    const [rows = [], ...more] = told
    if (more.length === 0) return rows
    const all = groupSums(groups)
    for (const some of told) all.add(some)
    return all.newest(limit)
  }

  /**
   * What has a bundle or the tag is counted for it, and taken off what roll-ups tell. One statement does both where few
   * have one. Of more, what comes meanwhile must not be taken for what has none: of the last hours, each event is told
   * by itself.
   */
  async function sumsApart(asked: Summing): Promise<GroupRow[]> {
    const { project_id, filter, groups, limit } = asked
    const { rows } = laneOf(project_id)
    const having = eventsHaving({ rows }, { project_id, filter, group_tag: groups.group_tag })
    const few = await having.few(spanOf(filter))
    if (few) return sumsOfRollups(asked, few)
    const all = groupSums(groups)
    const { recent, settled_ms } = await recentSums(asked)
    all.add(recent)
    const settled = { ...asked, filter: { ...filter, to_ms: settled_ms }, limit: undefined }
    for await (const source of having.parts(spanOf(settled.filter)))
      all.add(movedOut(await rows<GroupRow>(inGroups(groups, apartRows(groups, source)))))
    all.add(await sumsOfRollups(settled))
    return all.newest(limit)
  }

  /** Of the hours in which something may still come: an event has the time of its own transaction. */
  async function recentSums(asked: Summing): Promise<{ recent: GroupRow[]; settled_ms: number }> {
    const { project_id, filter } = asked
    const latest_ms = await latestEvent(project_id)
    const hour_ms = latest_ms - (latest_ms % HOUR_MS)
    const settled_ms = Math.max(filter.from_ms, Math.min(filter.to_ms, hour_ms - HOUR_MS))
    const last = { ...asked, filter: { ...filter, from_ms: settled_ms }, limit: undefined }
    const [all] = await sumsOfRollups({ ...last, groups: NO_GROUPS })
    const recent = all ? await sumsOfEvents(last) : []
    // Where some are gone, they were long ago: nothing comes any more, and only roll-ups tell all.
    const are_gone = recent.reduce((sum, { events }) => sum + events, 0) < (all?.events ?? 0)
    return are_gone ? { recent: [], settled_ms: filter.to_ms } : { recent, settled_ms }
  }

  async function latestEvent(project_id: string): Promise<number> {
    const [row] = await laneOf(project_id).rows<{ latest_ms: number | null }>(sql`
      SELECT MAX(created_ms) AS latest_ms FROM usage_event WHERE project_id = ${project_id}`)
    return row?.latest_ms ?? Number.MAX_SAFE_INTEGER
  }

  /** When the project's first and last generations were, as far as anything is still known of them. */
  async function usedBetween(project_id: string): Promise<{ from_ms: number; to_ms: number }> {
    const [row] = await laneOf(project_id).rows<{ from_ms: number | null; to_ms: number | null }>(sql`
      SELECT MIN(at_ms) AS from_ms, MAX(at_ms) AS to_ms FROM (
        SELECT MIN(start_ms) AS at_ms FROM usage_rollup WHERE project_id = ${project_id} AND cube = ${TOTAL_BY_DAY}
        UNION ALL SELECT MAX(start_ms) + ${DAY_MS} FROM usage_rollup
          WHERE project_id = ${project_id} AND cube = ${TOTAL_BY_DAY}
        UNION ALL SELECT MIN(created_ms) FROM usage_event WHERE project_id = ${project_id}
        UNION ALL SELECT MAX(created_ms) + 1 FROM usage_event WHERE project_id = ${project_id}) AS told`)
    return { from_ms: row?.from_ms ?? 0, to_ms: row?.to_ms ?? 0 }
  }

  return {
    /** Added up, the latest day first, then the dearest. */
    async grouped(project_id: string, asked: GroupsPage): Promise<UsagePage<UsageGroup>> {
      const { filter, group_by = [], group_tag, limit = LIMIT_MAX } = asked
      const groups = await sums({ project_id, filter, groups: { group_by, group_tag }, limit: limit + 1 })
      return { data: groups.slice(0, limit), has_more: groups.length > limit }
    },

    /** All groups. Where days are told apart there may be very many: then a week at a time, the latest first. */
    async *groupedAll(project_id: string, filter: UsageFilter, groups: Groups): AsyncGenerator<UsageGroup[]> {
      if (!groups.group_by.includes('day')) {
        yield await sums({ project_id, filter, groups, limit: undefined })
        return
      }
      const known = await usedBetween(project_id)
      const from_ms = Math.max(filter.from_ms, known.from_ms)
      for (let to_ms = Math.min(filter.to_ms, known.to_ms); to_ms > from_ms; ) {
        const start_ms = Math.max(from_ms, startOfDay(to_ms - 1) - 6 * DAY_MS)
        const week = { ...filter, from_ms: start_ms, to_ms }
        const found = await sums({ project_id, filter: week, groups, limit: undefined })
        if (found.length > 0) yield found
        to_ms = start_ms
      }
    },
  }
}

const NO_GROUPS: Groups = { group_by: [], group_tag: undefined }
const startOfDay = (time_ms: number) => time_ms - (time_ms % DAY_MS)
const spanOf = ({ from_ms, to_ms }: UsageFilter): Span => ({ from: from_ms, to: to_ms })

function rolledUp({ project_id, filter, groups }: Summing): Asked {
  const by = groups.group_by.filter((name): name is Group & Dimension => name !== 'day' && name !== 'bundle_id')
  const cube = cubeWith([...by, ...filteredBy(filter)])
  const has_less = filter.replays === 'exclude' && filter.key_id === null && !by.includes('key_id')
  const whole = has_less ? cubeWith([...by, ...filteredBy({ ...filter, replays: null })]) : undefined
  return { project_id, filter, cube, grains: cube.grains, whole }
}

/** Each with its own bundle, and its own value of the tag. */
const groupedEvents = (groups: Groups, fitting: Sql, only = sql``): Sql =>
  inGroups(
    groups,
    joined(
      sql`SELECT `,
      READING.event,
      sql`, COALESCE(e.bundle_id, '') AS bundle_id`,
      groups.group_tag === undefined ? sql`` : tagColumn(groups.group_tag),
      sql` FROM usage_event e WHERE `,
      fitting,
      only,
    ),
  )

const SUMS = ['events', ...AMOUNTS].map((name) => `CAST(SUM(${name}) AS BIGINT) AS ${name}`).join(', ')

/** All groups of some of the parts, which are put together later. */
function inGroups(groups: Groups, parts: Sql): Sql {
  const names = groupNames(groups)
  // Without a group there is one sum, and none at all where nothing was used.
  if (names.length === 0) return joined(fixed(`SELECT ${SUMS} FROM (`), parts, fixed(') AS part HAVING COUNT(*) > 0'))
  const by = names.join(', ')
  return joined(fixed(`SELECT ${by}, ${SUMS} FROM (`), parts, fixed(`) AS part GROUP BY ${by}`))
}

/** The first groups of all parts, in their order. */
function firstGroups(groups: Groups, parts: Sql, limit: number | undefined): Sql {
  const names = groupNames(groups)
  if (names.length === 0)
    return joined(fixed(`SELECT ${SUMS} FROM (`), parts, fixed(') AS part HAVING SUM(events) > 0'))
  const rest = names.filter((name) => name !== 'day')
  const order = [...(names.includes('day') ? ['day DESC'] : []), 'charged_micros DESC', ...rest]
  return joined(
    inGroups(groups, parts),
    fixed(` HAVING SUM(events) > 0 ORDER BY ${order.join(', ')}`),
    limit === undefined ? sql`` : sql` LIMIT ${limit}`,
  )
}

function groupFrom(row: GroupRow): UsageGroup {
  const group: UsageGroup = { object: 'usage_group', ...row }
  if (group.cluster_id === '') group.cluster_id = null
  if (group.bundle_id === '') group.bundle_id = null
  if (group.tag === '') group.tag = null
  return group
}
