// Usage events at rest: inserted once, never changed. A second one under the same trace id is an error, which undoes
// the settling that it came with: nothing is charged twice.
import { nextSequence } from '../core/ids.ts'
import { type Db, fixed, joined, type Sql, sql } from '../storage/db.ts'
import type { AlikeEvents } from './alike-events.ts'
import type { TracedEvent, TraceFacts } from './trace.ts'
import type { UsageEvent } from './usage-event.ts'
import {
  GROUPS,
  type Group,
  matches,
  type UsageFilter,
  type UsageGroup,
  type UsagePage,
  type UsageQuestion,
} from './usage-query.ts'
import { AMOUNTS, cubeWith, type Dimension, placeOf } from './usage-rollup.ts'
import { type Asked, answered, eventsWhere, filteredBy, needsEvents, type Reading, within } from './usage-sums-store.ts'

type Row = Omit<UsageEvent, 'id' | 'object' | 'attempts'> & {
  attempts: string
  trace: string | null
  created_ms: number
  sequence: number
  day: string
}
type GroupRow = Omit<UsageGroup, 'object'>
type Place = Pick<Row, 'created_ms' | 'sequence' | 'trace_id'>

export type UsageStore = ReturnType<typeof usageStore>

/** `written` is told of what is inserted, so that it need not be read back to be rolled up. */
export function usageStore(db: Db, written?: Pick<AlikeEvents, 'add'>) {
  async function find(project_id: string, trace_id: string): Promise<UsageEvent | undefined> {
    const [row] = await db.rows<Row>(sql`
      SELECT * FROM usage_event WHERE trace_id = ${trace_id} AND project_id = ${project_id}`)
    return row && fromRow(row)
  }

  /** Where an event stands in the list. */
  async function place(project_id: string, trace_id: string): Promise<Place | undefined> {
    const [row] = await db.rows<Place>(sql`
      SELECT created_ms, sequence, trace_id FROM usage_event
      WHERE trace_id = ${trace_id} AND project_id = ${project_id}`)
    return row
  }

  return {
    find,
    place,

    /** The event with what else a trace tells; undefined where no such generation is known. */
    async findTraced(project_id: string, trace_id: string): Promise<TracedEvent | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT * FROM usage_event WHERE trace_id = ${trace_id} AND project_id = ${project_id}`)
      return row && { event: fromRow(row), facts: row.trace === null ? undefined : JSON.parse(row.trace) }
    },

    async insert(e: UsageEvent, facts?: TraceFacts): Promise<void> {
      const created_ms = Date.parse(e.created_at)
      await db.rows(sql`
        INSERT INTO usage_event (trace_id, project_id, key_id, created_at, created_ms, day, endpoint, status,
          requested_model, resolved_model, provider, profile, mode, region, alias_release_id, cluster_id, credential_id,
          subscription_id, session_id, input_tokens, cached_tokens, written_tokens, output_tokens, reasoning_tokens,
          repeated_tokens_est, missed_reuse_tokens, charged_micros, direct_cost_micros, savings_micros,
          written_off_micros, admission, queue_ms, ttft_ms, duration_ms, attempts, sequence, trace)
        VALUES (${e.trace_id}, ${e.project_id}, ${e.key_id}, ${e.created_at}, ${created_ms},
          ${e.created_at.slice(0, 10)}, ${e.endpoint}, ${e.status}, ${e.requested_model}, ${e.resolved_model},
          ${e.provider}, ${e.profile}, ${e.mode}, ${e.region}, ${e.alias_release_id}, ${e.cluster_id},
          ${e.credential_id}, ${e.subscription_id}, ${e.session_id}, ${e.input_tokens}, ${e.cached_tokens},
          ${e.written_tokens}, ${e.output_tokens}, ${e.reasoning_tokens}, ${e.repeated_tokens_est},
          ${e.missed_reuse_tokens}, ${e.charged_micros}, ${e.direct_cost_micros}, ${e.savings_micros},
          ${e.written_off_micros}, ${e.admission}, ${e.queue_ms}, ${e.ttft_ms}, ${e.duration_ms},
          ${JSON.stringify(e.attempts)}, ${nextSequence(created_ms)}, ${facts ? JSON.stringify(facts) : null})`)
      written?.add(e, placeOf(e), created_ms)
    },

    /** Newest first: the page after or before a place, or the newest one. */
    async list(project_id: string, question: UsageQuestion, from: From = {}): Promise<UsagePage<UsageEvent>> {
      const { filter, limit } = question
      if (filter.trace_id !== null) {
        const found = await find(project_id, filter.trace_id)
        return { data: found && matches(found, filter) ? [found] : [], has_more: false }
      }
      const rows = await db.rows<Row>(pageOf(project_id, filter, from, limit + 1))
      const data = rows.slice(0, limit).map(fromRow)
      return { data: from.before ? data.reverse() : data, has_more: rows.length > limit }
    },

    /** Added up, the latest day first, then the dearest. */
    async grouped(project_id: string, { filter, group_by, limit }: UsageQuestion): Promise<UsagePage<UsageGroup>> {
      const told = (parts: Sql) => grouping(group_by, parts, limit + 1)
      const rows = needsEvents(filter)
        ? await db.rows<GroupRow>(told(allEvents(project_id, filter)))
        : await answered<GroupRow>(db, READING, rolledUp(project_id, filter, group_by), told)
      return { data: rows.slice(0, limit).map(groupFrom), has_more: rows.length > limit }
    },
  }
}

/** Between which two events of the list a page lies. */
export interface From {
  after?: Place | undefined
  before?: Place | undefined
}

/** By places, never by counting rows: the millionth event costs what the first does. */
function pageOf(project_id: string, filter: UsageFilter, { after, before }: From, limit: number): Sql {
  const { from_ms, to_ms } = filter
  const events = joined(sql`SELECT e.* FROM usage_event e WHERE `, eventsWhere(project_id, filter))
  if (before)
    return joined(
      events,
      within(Math.max(from_ms, before.created_ms), to_ms),
      sql` AND (e.created_ms, e.sequence, e.trace_id) > (${before.created_ms}, ${before.sequence}, ${before.trace_id})
        ORDER BY e.created_ms, e.sequence, e.trace_id LIMIT ${limit}`,
    )
  const newest = sql` ORDER BY e.created_ms DESC, e.sequence DESC, e.trace_id DESC LIMIT ${limit}`
  if (!after) return joined(events, within(from_ms, to_ms), newest)
  return joined(
    events,
    within(from_ms, Math.min(to_ms, after.created_ms + 1)),
    sql` AND (e.created_ms, e.sequence, e.trace_id) < (${after.created_ms}, ${after.sequence}, ${after.trace_id})`,
    newest,
  )
}

const DIMENSION_COLUMNS = 'day, key_id, model, provider, profile, cluster_id'
const READING: Reading = {
  rollup: fixed(`${DIMENSION_COLUMNS}, events, ${AMOUNTS.join(', ')}`),
  event: fixed(
    "e.day, e.key_id, e.resolved_model AS model, e.provider, e.profile, COALESCE(e.cluster_id, '') AS cluster_id, " +
      `1 AS events, ${AMOUNTS.map((name) => `e.${name}`).join(', ')}`,
  ),
}

const allEvents = (project_id: string, filter: UsageFilter): Sql =>
  joined(
    sql`SELECT `,
    READING.event,
    sql` FROM usage_event e WHERE `,
    eventsWhere(project_id, filter),
    within(filter.from_ms, filter.to_ms),
  )

function rolledUp(project_id: string, filter: UsageFilter, group_by: readonly Group[]): Asked {
  const groups = group_by.filter((name): name is Group & Dimension => name !== 'day')
  const cube = cubeWith([...groups, ...filteredBy(filter)])
  return { project_id, filter, cube, grains: cube.grains }
}

const SUMS = ['events', ...AMOUNTS].map((name) => `CAST(SUM(${name}) AS BIGINT) AS ${name}`).join(', ')

function grouping(group_by: readonly Group[], parts: Sql, limit: number): Sql {
  const names = GROUPS.filter((name) => group_by.includes(name))
  const rest = names.filter((name) => name !== 'day')
  const order = [...(names.includes('day') ? ['day DESC'] : []), 'charged_micros DESC', ...rest]
  return joined(
    fixed(`SELECT ${names.join(', ')}, ${SUMS} FROM (`),
    parts,
    fixed(`) AS part GROUP BY ${names.join(', ')} ORDER BY ${order.join(', ')}`),
    sql` LIMIT ${limit}`,
  )
}

function fromRow(read: Row): UsageEvent {
  const { created_ms: _created_ms, day: _day, sequence: _sequence, trace: _trace, attempts, ...row } = read
  return { id: row.trace_id, object: 'usage_event', attempts: JSON.parse(attempts), ...row }
}

function groupFrom(row: GroupRow): UsageGroup {
  const group: UsageGroup = { object: 'usage_group', ...row }
  if (group.cluster_id === '') group.cluster_id = null
  return group
}
