// §8.2.3: usage events as a list, newest first, or oldest first from a place on. By places, never by counting rows: the
// millionth event costs what the first does. What is asked for may be in no index: it is looked for window by window,
// so that no statement reads more than some thousand rows, and whoever else waits for the store is served in between.
import { BATCH_ROWS, inBatches } from '../storage/batches.ts'
import { fixed, joined, type Sql, sql } from '../storage/db.ts'
import { longReads, type Reads } from '../storage/long-reads.ts'
import { WINDOW_ROWS } from './request-search.ts'
import { byReplays, eventsNarrowed, within } from './usage-filter-store.ts'
import type { UsageFilter } from './usage-query.ts'
import type { EventPlace, EventRow } from './usage-rows.ts'

/** Between which two events of the list a page lies. */
export interface From {
  after?: EventPlace | undefined
  before?: EventPlace | undefined
}

interface Span {
  from_ms: number
  to_ms: number
}

/** R78: all reads of usage that may be long. */
export const inOwnLane = longReads('usage')

/** `unfinished`: what was not completed alone, by the index of that. */
export function usageList(db: Reads, project_id: string, filter: UsageFilter, of?: 'unfinished') {
  const by = of ? undefined : INDEXED.find((name) => filter[name] !== null)
  const indexed = joined(
    indexedPart(project_id, by && { name: by, value: filter[by] }),
    of ? sql` AND e.status <> 'completed'` : sql``,
  )
  const rest = restOf(project_id, filter, by)
  const reads_all = rest.text.join('') === ''

  /** So much of a span that as many rows lie in it as one statement should read, but for those of its last moment. */
  async function windowOf({ from_ms, to_ms }: Span, is_back = false): Promise<Span> {
    const [row] = await db.rows<{ created_ms: number }>(
      joined(
        sql`SELECT e.created_ms FROM usage_event e WHERE `,
        indexed,
        within(from_ms, to_ms),
        is_back ? sql` ORDER BY e.created_ms` : sql` ORDER BY e.created_ms DESC`,
        sql` LIMIT 1 OFFSET ${WINDOW_ROWS}`,
      ),
    )
    if (!row) return { from_ms, to_ms }
    return is_back ? { from_ms, to_ms: row.created_ms + 1 } : { from_ms: row.created_ms, to_ms }
  }

  /** The next that fit; fewer than so many only at the end of the list. */
  async function read<Row>(columns: Sql, from: From, limit: number): Promise<Row[]> {
    const is_back = from.before !== undefined
    const found: Row[] = []
    for (let left = spanOf(filter, from); ; ) {
      const window = reads_all ? left : await windowOf(left, is_back)
      const most = sql` LIMIT ${limit - found.length}`
      const fitting = joined(indexed, rest, within(window.from_ms, window.to_ms), inOrder(from))
      const rows = joined(sql`SELECT `, columns, sql` FROM usage_event e WHERE `, fitting, most)
      found.push(...(await db.rows<Row>(rows)))
      left = is_back ? { from_ms: window.to_ms, to_ms: left.to_ms } : { from_ms: left.from_ms, to_ms: window.from_ms }
      if (found.length >= limit || left.from_ms >= left.to_ms) return found
    }
  }

  return {
    /** All that are older than a place, newest first; or all that are newer, oldest first. `most`: at once. */
    batches: ({ after, before }: From, most = BATCH_ROWS): AsyncGenerator<EventRow[]> =>
      inBatches(
        after ?? before,
        (place) => read<EventRow>(sql`e.*`, before ? { before: place } : { after: place }, most),
        most,
      ),

    /** Whether there is more to look through than one statement should. */
    isLong: async () => (await windowOf(filter)).from_ms > filter.from_ms,

    /** What fits, the newest first, in parts that one statement may read. */
    async *windows(): AsyncGenerator<Sql> {
      for (let to_ms = filter.to_ms; ; ) {
        const window = await windowOf({ from_ms: filter.from_ms, to_ms })
        yield joined(indexed, rest, within(window.from_ms, window.to_ms))
        to_ms = window.from_ms
        if (to_ms <= filter.from_ms) return
      }
    },

    /** The newest, and at most so many. */
    traceIds: async (most: number): Promise<string[]> =>
      (await read<{ trace_id: string }>(sql`e.trace_id`, {}, most)).map(({ trace_id }) => trace_id),
  }
}

function spanOf({ from_ms, to_ms }: UsageFilter, { after, before }: From): Span {
  if (before) return { from_ms: Math.max(from_ms, before.created_ms), to_ms }
  return { from_ms, to_ms: after ? Math.min(to_ms, after.created_ms + 1) : to_ms }
}

function inOrder({ after, before }: From): Sql {
  if (before)
    return sql` AND (e.created_ms, e.sequence, e.trace_id) > (${before.created_ms}, ${before.sequence},
      ${before.trace_id}) ORDER BY e.created_ms, e.sequence, e.trace_id`
  const newest = sql` ORDER BY e.created_ms DESC, e.sequence DESC, e.trace_id DESC`
  if (!after) return newest
  return joined(
    sql` AND (e.created_ms, e.sequence, e.trace_id) < (${after.created_ms}, ${after.sequence}, ${after.trace_id})`,
    newest,
  )
}

/** What has an index by time, beside the project. One of them is enough: the others are filters like the rest. */
const INDEXED = ['key_id', 'session_id', 'bundle_id', 'cluster_id'] as const
type Indexed = (typeof INDEXED)[number]

function indexedPart(project_id: string, by: { name: Indexed; value: string | null } | undefined): Sql {
  // As in eventsWhere: SQLite would take the project's index, which is as good by its rules.
  if (by?.name === 'key_id') return sql`e.key_id = ${by.value} AND CASE WHEN TRUE THEN e.project_id END = ${project_id}`
  const project = sql`e.project_id = ${project_id}`
  return by ? joined(project, fixed(` AND e.${by.name} = `), sql`${by.value}`) : project
}

/** Nothing in it can be looked up: a window is one of the index that is used, and of no other. */
function restOf(project_id: string, filter: UsageFilter, by: Indexed | undefined): Sql {
  const parts = INDEXED.filter((name) => name !== by && filter[name] !== null).map((name) =>
    joined(fixed(` AND CASE WHEN TRUE THEN e.${name} END = `), sql`${filter[name]}`),
  )
  const more = eventsNarrowed({ ...filter, session_id: null, bundle_id: null, cluster_id: null })
  const replays = filter.replays === null ? [] : [sql` AND e.key_id`, byReplays(project_id, filter.replays)]
  return joined(...parts, more, ...replays)
}
