// Usage events at rest: inserted once, never changed. A second one under the same trace id is an error, which undoes
// the settling that it came with: nothing is charged twice.
import { nextSequence } from '../core/ids.ts'
import { BATCH_ROWS, mapped } from '../storage/batches.ts'
import { type Db, sql } from '../storage/db.ts'
import type { AlikeEvents } from './alike-events.ts'
import type { Groups } from './group-sums.ts'
import type { TracedEvent, TraceFacts } from './trace.ts'
import type { UsageEvent } from './usage-event.ts'
import { type GroupsPage, usageGroups } from './usage-groups-store.ts'
import { type From, inOwnLane, usageList } from './usage-list-store.ts'
import { LIMIT_MAX, matches, type UsageFilter, type UsagePage, type UsageQuestion } from './usage-query.ts'
import { placeOf } from './usage-rollup.ts'
import { type EventPlace, type EventRow, eventFrom } from './usage-rows.ts'
import { insertTags, storedTags } from './usage-tag-store.ts'

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
    grouped: (project_id: string, asked: GroupsPage) => usageGroups(db).grouped(project_id, asked),

    /** All groups, some at a time. */
    groupedAll: (project_id: string, filter: UsageFilter, groups: Groups) =>
      usageGroups(db).groupedAll(project_id, filter, groups),
  }

  function listOf(project_id: string, filter: UsageFilter) {
    return usageList(inOwnLane(db, project_id), project_id, filter)
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
}

/** Of an event that was inserted by itself. */
const NO_FACTS: TraceFacts = { stream: false, keyed: false, fallback_used: false }
/** One more than a short page has tells whether there are more. */
const batchOf = (limit: number) => Math.min(BATCH_ROWS, limit + 1)

/** What a page is cut from, and how long it is at most. */
type Paged = Pick<UsageQuestion, 'filter' | 'limit'>
