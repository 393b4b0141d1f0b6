// Usage events at rest: inserted once, never changed. A second one under the same trace id is an error, which undoes
// the settling that it came with: nothing is charged twice.
import { DAY_MS } from '../core/clock.ts'
import { nextSequence } from '../core/ids.ts'
import { BATCH_ROWS, mapped } from '../storage/batches.ts'
import { type Db, fixed, joined, type Sql, sql } from '../storage/db.ts'
import type { AlikeEvents } from './alike-events.ts'
import { isApart, readingApart, replaysTakenOff, wholeOf, withApart } from './apart-sums-store.ts'
import { readingDearest } from './dearest-keys-store.ts'
import { type GroupRow, type Groups, groupNames, groupSums } from './group-sums.ts'
import type { TracedEvent, TraceFacts } from './trace.ts'
import type { UsageEvent } from './usage-event.ts'
import { type From, inOwnLane, usageList } from './usage-list-store.ts'
import {
  filteredBy,
  type Group,
  LIMIT_MAX,
  matches,
  type UsageFilter,
  type UsageGroup,
  type UsagePage,
  type UsageQuestion,
} from './usage-query.ts'
import { AMOUNTS, cubeWith, type Dimension, placeOf } from './usage-rollup.ts'
import { type EventPlace, type EventRow, eventFrom } from './usage-rows.ts'
import {
  type Asked,
  answered,
  eventsWhere,
  needsEvents,
  READING,
  READING_BY_KEY,
  TOTAL_BY_DAY,
  within,
} from './usage-sums-store.ts'
import { insertTags, storedTags, tagColumn } from './usage-tag-store.ts'

export type UsageStore = ReturnType<typeof usageStore>

/** `written` is told of what is inserted, so that it need not be read back to be rolled up. */
export function usageStore(db: Db, written?: Pick<AlikeEvents, 'add'>) {
  async function find(project_id: string, trace_id: string): Promise<UsageEvent | undefined> {
    const [row] = await db.rows<EventRow>(sql`
      SELECT * FROM usage_event WHERE trace_id = ${trace_id} AND project_id = ${project_id}`)
    return row && eventFrom(row)
  }

  /** Where an event stands in the list. */
  async function place(project_id: string, trace_id: string): Promise<EventPlace | undefined> {
    const [row] = await db.rows<EventPlace>(sql`
      SELECT created_ms, sequence, trace_id FROM usage_event
      WHERE trace_id = ${trace_id} AND project_id = ${project_id}`)
    return row
  }

  return {
    find,
    place,

    /** The event with what else a trace tells; undefined where no such generation is known. */
    async findTraced(project_id: string, trace_id: string): Promise<TracedEvent | undefined> {
      const [row] = await db.rows<EventRow>(sql`
        SELECT * FROM usage_event WHERE trace_id = ${trace_id} AND project_id = ${project_id}`)
      return row && { event: eventFrom(row), facts: row.trace === null ? NO_FACTS : JSON.parse(row.trace) }
    },

    async insert(e: UsageEvent, facts?: TraceFacts): Promise<void> {
      const created_ms = Date.parse(e.created_at)
      const tags = e.tags && (await storedTags(db, e, created_ms))
      await db.rows(sql`
        INSERT INTO usage_event (trace_id, project_id, key_id, created_at, created_ms, day, endpoint, status,
          requested_model, resolved_model, provider, profile, mode, region, alias_release_id, cluster_id, credential_id,
          subscription_id, session_id, bundle_id, input_tokens, cached_tokens, written_tokens, output_tokens,
          reasoning_tokens,
          repeated_tokens_est, missed_reuse_tokens, charged_micros, direct_cost_micros, savings_micros,
          written_off_micros, overage_micros, waived_micros, tokens_estimated, admission, queue_ms, ttft_ms,
          duration_ms, attempts, sequence, trace, units, tags)
        VALUES (${e.trace_id}, ${e.project_id}, ${e.key_id}, ${e.created_at}, ${created_ms},
          ${e.created_at.slice(0, 10)}, ${e.endpoint}, ${e.status}, ${e.requested_model}, ${e.resolved_model},
          ${e.provider}, ${e.profile}, ${e.mode}, ${e.region}, ${e.alias_release_id}, ${e.cluster_id},
          ${e.credential_id}, ${e.subscription_id}, ${e.session_id}, ${e.bundle_id}, ${e.input_tokens},
          ${e.cached_tokens},
          ${e.written_tokens}, ${e.output_tokens}, ${e.reasoning_tokens}, ${e.repeated_tokens_est},
          ${e.missed_reuse_tokens}, ${e.charged_micros}, ${e.direct_cost_micros}, ${e.savings_micros},
          ${e.written_off_micros}, ${e.overage_micros}, ${e.waived_micros}, ${e.tokens_estimated ? 1 : 0},
          ${e.admission}, ${e.queue_ms}, ${e.ttft_ms}, ${e.duration_ms}, ${JSON.stringify(e.attempts)},
          ${nextSequence(created_ms)}, ${facts ? JSON.stringify(facts) : null},
          ${e.units ? JSON.stringify(e.units) : null}, ${tags ? JSON.stringify(tags) : null})`)
      if (tags) await insertTags(db, e, tags, created_ms)
      written?.add(e, placeOf(e), created_ms)
    },

    /** All of them, newest first, or all that are older than a place (R70). For a page, no more is looked for. */
    async *listAll(project_id: string, filter: UsageFilter, after?: EventPlace, limit = LIMIT_MAX) {
      if (filter.trace_id !== null) yield await named(project_id, filter, filter.trace_id)
      else yield* mapped(listOf(project_id, filter).batches({ after }, batchOf(limit)), eventFrom)
    },

    /** The newest that fit, and at most so many. */
    async traceIds(project_id: string, filter: UsageFilter, most: number): Promise<string[]> {
      if (filter.trace_id === null) return usageList(db, project_id, filter).traceIds(most)
      return (await named(project_id, filter, filter.trace_id)).map(({ trace_id }) => trace_id)
    },

    /** Newest first: the page after or before a place, or the newest one. */
    async list(project_id: string, asked: Paged, from: From = {}): Promise<UsagePage<UsageEvent>> {
      const { filter, limit = LIMIT_MAX } = asked
      if (filter.trace_id !== null) return { data: await named(project_id, filter, filter.trace_id), has_more: false }
      const found: UsageEvent[] = []
      for await (const batch of mapped(listOf(project_id, filter).batches(from, batchOf(limit)), eventFrom)) {
        found.push(...batch)
        if (found.length > limit) break
      }
      const data = found.slice(0, limit)
      return { data: from.before ? data.reverse() : data, has_more: found.length > limit }
    },

    /** Added up, the latest day first, then the dearest. */
    async grouped(project_id: string, asked: Paged): Promise<UsagePage<UsageGroup>> {
      const { filter, group_by = [], group_tag, limit = LIMIT_MAX } = asked
      const groups = await sums(project_id, filter, { group_by, group_tag }, limit + 1)
      return { data: groups.slice(0, limit), has_more: groups.length > limit }
    },

    /** All groups. Where days are told apart there may be very many: then a week at a time, the latest first. */
    async *groupedAll(project_id: string, filter: UsageFilter, groups: Groups): AsyncGenerator<UsageGroup[]> {
      if (!groups.group_by.includes('day')) {
        yield await sums(project_id, filter, groups, MOST)
        return
      }
      const known = await usedBetween(project_id)
      const from_ms = Math.max(filter.from_ms, known.from_ms)
      for (let to_ms = Math.min(filter.to_ms, known.to_ms); to_ms > from_ms; ) {
        const start_ms = Math.max(from_ms, startOfDay(to_ms - 1) - 6 * DAY_MS)
        const week = { ...filter, from_ms: start_ms, to_ms }
        const found = await sums(project_id, week, groups, MOST)
        if (found.length > 0) yield found
        to_ms = start_ms
      }
    },
  }

  function listOf(project_id: string, filter: UsageFilter) {
    return usageList(inOwnLane(db, project_id), project_id, filter)
  }

  async function sums(project_id: string, filter: UsageFilter, groups: Groups, limit: number) {
    const { group_by, group_tag } = groups
    const told = (parts: Sql) => grouping(groups, parts, limit)
    const is_apart = isApart(filter, groups)
    if (!is_apart && (needsEvents(filter) || group_by.includes('bundle_id') || group_tag !== undefined))
      return sumsOfEvents(project_id, filter, groups, limit)
    const whole = wholeOf(filter)
    const less = whole === filter ? sql`` : replaysTakenOff(project_id, whole, is_apart)
    const toldAll = (parts: Sql) => {
      const all = is_apart ? withApart(parts, READING.event, { project_id, filter, group_tag }) : parts
      return told(joined(all, less))
    }
    const asked = rolledUp(project_id, whole, group_by)
    const reading = is_apart ? readingApart(READING) : await readingWhole(asked, group_by, whole === filter, limit)
    const rows = await answered<GroupRow>(db, reading, asked, toldAll)
    return rows.map(groupFrom)
  }

  /** `is_all`: nothing is taken off afterwards, which would change who is the dearest. */
  async function readingWhole(asked: Asked, group_by: readonly Group[], is_all: boolean, limit: number) {
    if (group_by.join() !== 'key_id') return READING
    return is_all ? readingDearest(db, asked, limit) : READING_BY_KEY
  }

  /** Out of events alone, in parts: there may be millions of them, and none is ever changed. */
  async function sumsOfEvents(project_id: string, filter: UsageFilter, groups: Groups, limit: number) {
    const named = joined(eventsWhere(project_id, filter), within(filter.from_ms, filter.to_ms))
    const parts = filter.trace_id === null ? listOf(project_id, filter).windows() : [named]
    const all = groupSums(groups)
    const { rows } = inOwnLane(db, project_id)
    for await (const fitting of parts)
      all.add(await rows<GroupRow>(grouping(groups, eventsFitting(fitting, groups.group_tag), MOST)))
    return all.newest(limit).map(groupFrom)
  }

  /** The event of a trace id, where it fits the filter. */
  async function named(project_id: string, filter: UsageFilter, trace_id: string): Promise<UsageEvent[]> {
    const event = await find(project_id, trace_id)
    if (!event || !matches(event, filter)) return []
    return filter.replays === null || (await isOfReplay(event)) === (filter.replays === 'only') ? [event] : []
  }

  async function isOfReplay({ project_id, key_id }: UsageEvent): Promise<boolean> {
    const found = await db.rows(sql`
      SELECT key_id FROM replay_key WHERE project_id = ${project_id} AND key_id = ${key_id}`)
    return found.length > 0
  }

  /** When the project's first and last generations were, as far as anything is still known of them. */
  async function usedBetween(project_id: string): Promise<{ from_ms: number; to_ms: number }> {
    const [row] = await db.rows<{ from_ms: number | null; to_ms: number | null }>(sql`
      SELECT MIN(at_ms) AS from_ms, MAX(at_ms) AS to_ms FROM (
        SELECT MIN(start_ms) AS at_ms FROM usage_rollup WHERE project_id = ${project_id} AND cube = ${TOTAL_BY_DAY}
        UNION ALL SELECT MAX(start_ms) + ${DAY_MS} FROM usage_rollup
          WHERE project_id = ${project_id} AND cube = ${TOTAL_BY_DAY}
        UNION ALL SELECT MIN(created_ms) FROM usage_event WHERE project_id = ${project_id}
        UNION ALL SELECT MAX(created_ms) + 1 FROM usage_event WHERE project_id = ${project_id}) AS told`)
    return { from_ms: row?.from_ms ?? 0, to_ms: row?.to_ms ?? 0 }
  }
}

/** Of an event that was inserted by itself. */
const NO_FACTS: TraceFacts = { stream: false, keyed: false, fallback_used: false }
const MOST = Number.MAX_SAFE_INTEGER
/** One more than a short page has tells whether there are more. */
const batchOf = (limit: number) => Math.min(BATCH_ROWS, limit + 1)
const startOfDay = (time_ms: number) => time_ms - (time_ms % DAY_MS)

/** What a page is cut from, and how long it is at most. */
type Paged = Pick<UsageQuestion, 'filter' | 'limit'> & Partial<Groups>

const eventsFitting = (fitting: Sql, group_tag: string | undefined): Sql =>
  joined(
    sql`SELECT `,
    READING.event,
    sql`, COALESCE(e.bundle_id, '') AS bundle_id`,
    group_tag === undefined ? sql`` : tagColumn(group_tag),
    sql` FROM usage_event e WHERE `,
    fitting,
  )

function rolledUp(project_id: string, filter: UsageFilter, group_by: readonly Group[]): Asked {
  const groups = group_by.filter((name): name is Group & Dimension => name !== 'day' && name !== 'bundle_id')
  const cube = cubeWith([...groups, ...filteredBy(filter)])
  return { project_id, filter, cube, grains: cube.grains }
}

const SUMS = ['events', ...AMOUNTS].map((name) => `CAST(SUM(${name}) AS BIGINT) AS ${name}`).join(', ')

function grouping(groups: Groups, parts: Sql, limit: number): Sql {
  const names = groupNames(groups)
  const rest = names.filter((name) => name !== 'day')
  const order = [...(names.includes('day') ? ['day DESC'] : []), 'charged_micros DESC', ...rest]
  // Without a group there is one sum, and none at all where nothing was used.
  if (names.length === 0)
    return joined(fixed(`SELECT ${SUMS} FROM (`), parts, fixed(') AS part HAVING SUM(events) > 0'))
  return joined(
    fixed(`SELECT ${names.join(', ')}, ${SUMS} FROM (`),
    parts,
    fixed(`) AS part GROUP BY ${names.join(', ')} HAVING SUM(events) > 0 ORDER BY ${order.join(', ')}`),
    sql` LIMIT ${limit}`,
  )
}

function groupFrom(row: GroupRow): UsageGroup {
  const group: UsageGroup = { object: 'usage_group', ...row }
  if (group.cluster_id === '') group.cluster_id = null
  if (group.bundle_id === '') group.bundle_id = null
  if (group.tag === '') group.tag = null
  return group
}
