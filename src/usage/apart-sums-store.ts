// Usage by what roll-ups do not know: bundles, the values of one tag, and whether it was a replay. Only the events that
// have it are read. They are counted for what they have, and taken off what roll-ups tell; all in one statement.
import { fixed, joined, type Sql, sql } from '../storage/db.ts'
import type { UsageFilter, UsageQuestion } from './usage-query.ts'
import { AMOUNTS } from './usage-rollup.ts'
import { eventsNarrowed, eventsWhere, needsEvents, type Reading, within } from './usage-sums-store.ts'

type Groups = Pick<UsageQuestion, 'group_by' | 'group_tag'>

/** By bundle or by a tag, of what roll-ups can tell the whole of. By both, all events have to be read. */
export const isApart = (filter: UsageFilter, { group_by, group_tag }: Groups) =>
  !needsEvents(filter) && group_by.includes('bundle_id') !== (group_tag !== undefined)

const NEITHER = fixed(", '' AS bundle_id, '' AS tag")

export const readingApart = ({ rollup, event }: Reading): Reading => ({
  rollup: joined(rollup, NEITHER),
  event: joined(event, NEITHER),
})

const TAKEN_OFF = fixed(
  "e.day, e.key_id, e.resolved_model AS model, e.provider, e.profile, COALESCE(e.cluster_id, '') AS cluster_id, " +
    `-1 AS events, ${AMOUNTS.map((name) => `-e.${name} AS ${name}`).join(', ')}`,
)

/** Where replays are left out and nothing else tells keys apart, roll-ups that know no keys tell the whole. */
export const wholeOf = (filter: UsageFilter): UsageFilter =>
  filter.replays === 'exclude' && filter.key_id === null && !needsEvents(filter) ? { ...filter, replays: null } : filter

/** What replays took off the whole, by way of their keys. */
export const replaysTakenOff = (project_id: string, whole: UsageFilter, is_apart: boolean): Sql =>
  joined(
    sql` UNION ALL SELECT `,
    TAKEN_OFF,
    is_apart ? NEITHER : sql``,
    sql` FROM replay_key r CROSS JOIN usage_event e
      WHERE r.project_id = ${project_id} AND e.key_id = r.key_id
        AND CASE WHEN TRUE THEN e.project_id END = ${project_id}`,
    eventsNarrowed(whole),
    within(whole.from_ms, whole.to_ms),
  )

interface Whose {
  project_id: string
  filter: UsageFilter
  group_tag: string | undefined
}

/** All parts of the answer: what is whole, with those that have it moved out of it. */
export function withApart(whole: Sql, event: Sql, whose: Whose): Sql {
  const { group_tag } = whose
  const having = group_tag === undefined ? bundled(whose) : tagged(whose, group_tag)
  const named = group_tag === undefined ? fixed(", e.bundle_id, '' AS tag") : fixed(", '' AS bundle_id, t.value AS tag")
  const from = (columns: Sql, more: Sql) => joined(sql` UNION ALL SELECT `, columns, more, having)
  return joined(whole, from(event, named), from(TAKEN_OFF, NEITHER))
}

/** An index finds them. SQLite would take the one by time, as good by its rules: hence the form of the bounds. */
const bundled = ({ project_id, filter }: Whose): Sql =>
  joined(
    sql` FROM usage_event e WHERE `,
    eventsWhere(project_id, filter),
    sql` AND e.bundle_id > '' AND CASE WHEN TRUE THEN e.created_ms END >= ${filter.from_ms}
      AND CASE WHEN TRUE THEN e.created_ms END < ${filter.to_ms}`,
  )

/** By way of the tags: a CROSS JOIN tells SQLite so. */
const tagged = ({ project_id, filter }: Whose, name: string): Sql =>
  joined(
    sql` FROM usage_tag t CROSS JOIN usage_event e
      WHERE t.project_id = ${project_id} AND t.created_ms >= ${filter.from_ms} AND t.created_ms < ${filter.to_ms}
        AND t.name = ${name} AND e.trace_id = t.trace_id AND `,
    eventsWhere(project_id, filter),
    within(filter.from_ms, filter.to_ms),
  )
