// How often each bundle of a project was used between two times, and how much of those prompts caches had.
import { aside, type Db, sql } from '../storage/db.ts'
import type { BundleUse } from './reuse-summary.ts'

/**
 * Of those that were used, the busiest first, so many at most. By way of its bundles, so that an index finds their few
 * events among all: a CROSS JOIN tells SQLite to go that way.
 */
export const bundleUse = (db: Db, project_id: string, { from_ms, to_ms }: Span, most: number): Promise<BundleUse[]> =>
  db.rows<BundleUse>(
    aside(sql`
      SELECT e.bundle_id, CAST(COUNT(*) AS BIGINT) AS events, CAST(SUM(e.input_tokens) AS BIGINT) AS input_tokens,
             CAST(SUM(e.repeated_tokens_est) AS BIGINT) AS repeated_tokens_est,
             CAST(SUM(e.cached_tokens) AS BIGINT) AS cached_tokens,
             CAST(SUM(e.missed_reuse_tokens) AS BIGINT) AS missed_reuse_tokens
      FROM bundle b CROSS JOIN usage_event e
      WHERE b.project_id = ${project_id} AND e.project_id = ${project_id} AND e.bundle_id = b.id
        AND e.created_ms >= ${from_ms} AND e.created_ms < ${to_ms}
        AND e.key_id NOT IN (SELECT r.key_id FROM replay_key r WHERE r.project_id = ${project_id})
      GROUP BY e.bundle_id ORDER BY events DESC, e.bundle_id LIMIT ${most}`),
  )

interface Span {
  from_ms: number
  to_ms: number
}
