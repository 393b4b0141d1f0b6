// The events of bundles, of whichever number: which bundles were used, and their events in parts that one statement may
// read, by the index that begins with the bundle.

import { joined, type Sql, sql } from '../storage/db.ts'
import type { Reads } from '../storage/long-reads.ts'
import { WINDOW_ROWS } from './request-search.ts'
import { eventsWhere, listed, within } from './usage-filter-store.ts'
import { usageList } from './usage-list-store.ts'
import { type UsageFilter, usageFilter } from './usage-query.ts'
import type { Span } from './usage-rollup.ts'

const NAMES_AT_ONCE = 200

/** Those with events in a span, some at a time, in their order: by one look-up in the index for each that is known. */
export async function* usedBundles(db: Reads, project_id: string, span: Span): AsyncGenerator<string[]> {
  for (let after = ''; ; ) {
    const known = await db.rows<{ id: string; is_used: number }>(knownAfter(project_id, after, span))
    const used = known.filter(({ is_used }) => is_used === 1)
    if (used.length > 0) yield used.map(({ id }) => id)
    const last = known.at(-1)
    if (!last || known.length < NAMES_AT_ONCE) return
    after = last.id
  }
}

function knownAfter(project_id: string, after: string, { from, to }: Span): Sql {
  const next = (than: Sql) =>
    joined(
      sql`(SELECT e.bundle_id FROM usage_event e WHERE e.project_id = ${project_id} AND e.bundle_id > `,
      than,
      sql` ORDER BY e.bundle_id LIMIT 1)`,
    )
  return joined(
    sql`SELECT * FROM (WITH RECURSIVE known (id, nth) AS (SELECT `,
    next(sql`${after}`),
    sql`, 1 UNION ALL SELECT `,
    next(sql`known.id`),
    sql`, known.nth + 1 FROM known WHERE known.id IS NOT NULL AND known.nth < ${NAMES_AT_ONCE})
      SELECT id, CASE WHEN EXISTS (
        SELECT 1 FROM usage_event e WHERE e.project_id = ${project_id} AND e.bundle_id = known.id
          AND e.created_ms >= ${from} AND e.created_ms < ${to}) THEN 1 ELSE 0 END AS is_used
      FROM known WHERE id IS NOT NULL) AS told ORDER BY id`,
  )
}

/** What stands behind the columns: the events of a filter that were asked with one of these. */
export const ofBundles = (project_id: string, filter: UsageFilter, names: readonly string[]): Sql =>
  joined(
    sql` FROM usage_event e WHERE `,
    eventsWhere(project_id, filter),
    sql` AND e.bundle_id IN `,
    listed(names),
    within(filter.from_ms, filter.to_ms),
  )

/** R78: whether one statement should read all of them. Only what an index finds is looked at. */
export async function areFew(db: Reads, project_id: string, filter: UsageFilter, names: readonly string[]) {
  const any = ofBundles(project_id, usageFilter({}, filter.from_ms, filter.to_ms), names)
  const beyond = await db.rows(joined(sql`SELECT 1 AS beyond`, any, sql` LIMIT 1 OFFSET ${WINDOW_ROWS}`))
  return beyond.length === 0
}

/** Many small ones at once, and each that is large by itself. */
export async function* bundleParts(
  db: Reads,
  project_id: string,
  filter: UsageFilter,
  names: readonly string[],
): AsyncGenerator<Sql> {
  if (await areFew(db, project_id, filter, names)) {
    yield ofBundles(project_id, filter, names)
    return
  }
  for (const bundle_id of names)
    for await (const fitting of usageList(db, project_id, { ...filter, bundle_id }).windows())
      yield joined(sql` FROM usage_event e WHERE `, fitting)
}
