// §8.2.3: which usage is asked for, as conditions of a statement over events `e`.
import { joined, type Sql, sql } from '../storage/db.ts'
import type { UsageFilter } from './usage-query.ts'
import { hasTag } from './usage-tag-store.ts'

/** Only events know sessions, bundles, tags, endings and trace ids. */
export const needsEvents = ({ session_id, bundle_id, tag, status, trace_id }: UsageFilter) =>
  (session_id ?? bundle_id ?? tag ?? status ?? trace_id) !== null

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

/** As many values as there are, behind IN. */
export function listed([first = '', ...more]: readonly string[]): Sql {
  return joined(sql`(${first}`, ...more.map((value) => sql`, ${value}`), sql`)`)
}
