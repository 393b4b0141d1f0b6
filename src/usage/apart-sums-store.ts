// Usage by what roll-ups do not know: bundles and the values of one tag. Only the events that have it are read. They
// are counted for what they have, and taken off what roll-ups tell: in one statement where they are few, or in windows.

import { fixed, joined, type Sql, sql } from '../storage/db.ts'
import type { Reads } from '../storage/long-reads.ts'
import { areFew, bundleParts, ofBundles, usedBundles } from './bundled-events-store.ts'
import type { GroupRow, Groups } from './group-sums.ts'
import { WINDOW_ROWS } from './request-search.ts'
import { byReplays, eventsNarrowed, eventsWhere, needsEvents, within } from './usage-filter-store.ts'
import { usageList } from './usage-list-store.ts'
import type { UsageFilter } from './usage-query.ts'
import { AMOUNTS, type Span } from './usage-rollup.ts'
import { READING, type Reading } from './usage-sums-store.ts'

/** By bundle or by a tag, of what roll-ups can tell the whole of. By both, all events have to be read. */
export const isApart = (filter: UsageFilter, { group_by, group_tag }: Groups) =>
  !needsEvents(filter) && group_by.includes('bundle_id') !== (group_tag !== undefined)

const NEITHER = fixed(", '' AS bundle_id, '' AS tag")

export const READING_APART: Reading = {
  rollup: joined(READING.rollup, NEITHER),
  taken_off: joined(READING.taken_off, NEITHER),
  event: joined(READING.event, NEITHER),
}

/** Where events are found that have it: what stands behind the columns. */
type Source = Sql

/** With what they have. */
export const apartRows = ({ group_tag }: Groups, source: Source): Sql => {
  const named = group_tag === undefined ? ", e.bundle_id, '' AS tag" : ", '' AS bundle_id, t.value AS tag"
  return joined(sql`SELECT `, READING.event, fixed(named), source)
}

const TAKEN_OFF = fixed(
  "e.day, e.key_id, e.resolved_model AS model, e.provider, e.profile, COALESCE(e.cluster_id, '') AS cluster_id, " +
    `-1 AS events, ${AMOUNTS.map((name) => `-e.${name} AS ${name}`).join(', ')}`,
)

/** What is whole, with those that have it moved out of it. */
export const withApart = (whole: Sql, groups: Groups, source: Source): Sql =>
  joined(whole, sql` UNION ALL `, apartRows(groups, source), sql` UNION ALL SELECT `, TAKEN_OFF, NEITHER, source)

/** The same of groups that were added up. */
export const movedOut = (rows: readonly GroupRow[]): GroupRow[] =>
  rows.flatMap((row) => {
    const taken_off = { ...row, events: -row.events }
    for (const name of AMOUNTS) taken_off[name] = -row[name]
    if (row.bundle_id !== undefined) taken_off.bundle_id = ''
    if (row.tag !== undefined) taken_off.tag = ''
    return [row, taken_off]
  })

interface Whose {
  project_id: string
  filter: UsageFilter
  /** Undefined: by bundle. */
  group_tag: string | undefined
}

export interface Having {
  /** R78: those of a span or a part of it; undefined where they are more than one statement should read. */
  few(span: Span): Promise<((part: Span) => Source) | undefined>
  /** All of a span, in parts that one statement may read. */
  parts(span: Span): AsyncGenerator<Source>
}

/** The events of a filter that have a bundle, or the tag. */
export function eventsHaving(db: Reads, { project_id, filter, group_tag }: Whose): Having {
  if (group_tag !== undefined) return taggedEvents(db, { project_id, filter, group_tag })
  return filter.key_id === null ? bundledEvents(db, project_id, filter) : ofOneKey(db, project_id, filter)
}

/**
 * By way of the tags, which have the project and the time of their events: a CROSS JOIN tells SQLite so. PostgreSQL
 * must find nothing else to go by than the trace ids: of a time of which it has no statistics yet it expects one event,
 * and would go through all of it for each tag.
 */
function taggedEvents(db: Reads, { project_id, filter, group_tag }: Whose & { group_tag: string }): Having {
  const taggedIn = ({ from, to }: Span): Sql =>
    sql`t.project_id = ${project_id} AND t.created_ms >= ${from} AND t.created_ms < ${to}`
  const source = (span: Span): Source =>
    joined(
      sql` FROM usage_tag t CROSS JOIN usage_event e WHERE `,
      taggedIn(span),
      sql` AND t.name = ${group_tag} AND e.trace_id = t.trace_id`,
      eventsNarrowed(filter),
      filter.key_id === null ? sql`` : sql` AND e.key_id || '' = ${filter.key_id}`,
      filter.replays === null ? sql`` : joined(sql` AND e.key_id || ''`, byReplays(project_id, filter.replays)),
    )

  /** So much of a span that as many tags lie in it as one statement should read, but for those of its last moment. */
  async function windowOf(span: Span): Promise<Span> {
    const last = sql` ORDER BY t.created_ms DESC LIMIT 1 OFFSET ${WINDOW_ROWS}`
    const [row] = await db.rows<{ created_ms: number }>(
      joined(sql`SELECT t.created_ms FROM usage_tag t WHERE `, taggedIn(span), last),
    )
    return { from: row?.created_ms ?? span.from, to: span.to }
  }

  return {
    few: async (span) => ((await windowOf(span)).from > span.from ? undefined : source),
    async *parts({ from, to }) {
      while (to > from) {
        const window = await windowOf({ from, to })
        yield source(window)
        to = window.from
      }
    },
  }
}

/** Bundle by bundle, by their index. */
function bundledEvents(db: Reads, project_id: string, filter: UsageFilter): Having {
  return {
    async few(span) {
      const used: string[] = []
      let pages = 0
      for await (const names of usedBundles(db, project_id, span)) {
        if (++pages > 1) return undefined
        used.push(...names)
      }
      const wanted = { ...filter, from_ms: span.from, to_ms: span.to }
      return (await areFew(db, project_id, wanted, used))
        ? (part) => ofBundles(project_id, { ...filter, from_ms: part.from, to_ms: part.to }, used)
        : undefined
    },
    async *parts(span) {
      const wanted = { ...filter, from_ms: span.from, to_ms: span.to }
      for await (const names of usedBundles(db, project_id, span)) yield* bundleParts(db, project_id, wanted, names)
    },
  }
}

/** Found by the key, whether they have a bundle or not. */
function ofOneKey(db: Reads, project_id: string, filter: UsageFilter): Having {
  const listOf = ({ from, to }: Span) => usageList(db, project_id, { ...filter, from_ms: from, to_ms: to })
  const bundled = (fitting: Sql): Source => joined(sql` FROM usage_event e WHERE `, fitting, sql` AND e.bundle_id > ''`)
  return {
    few: async (span) =>
      (await listOf(span).isLong())
        ? undefined
        : (part) => bundled(joined(eventsWhere(project_id, filter), within(part.from, part.to))),
    async *parts(span) {
      for await (const fitting of listOf(span).windows()) yield bundled(fitting)
    },
  }
}
