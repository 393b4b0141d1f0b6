// What clusters told of their load, at rest: one row for five minutes, raised by each heartbeat that tells more.
import { rfc3339 } from '../core/clock.ts'
import { type Db, sql } from '../storage/db.ts'
import { type ClusterLoad, LOAD_KEPT_MS, type LoadSample } from './cluster-load.ts'

const SWEEP_MAX = 1_000 // bounds how long one statement holds the store

export function loadStore(db: Db) {
  return {
    async note(project_id: string, cluster_id: string, s: LoadSample): Promise<void> {
      await db.rows(sql`
        INSERT INTO cluster_load AS l (project_id, cluster_id, start_ms, running, waiting, kv_permille, ttft_p95_ms)
        VALUES (${project_id}, ${cluster_id}, ${s.start_ms}, ${s.running}, ${s.waiting}, ${s.kv_permille},
                ${s.ttft_p95_ms})
        ON CONFLICT (project_id, cluster_id, start_ms) DO UPDATE SET
          running = CASE WHEN l.running >= excluded.running THEN l.running
            ELSE COALESCE(excluded.running, l.running) END,
          waiting = CASE WHEN l.waiting >= excluded.waiting THEN l.waiting
            ELSE COALESCE(excluded.waiting, l.waiting) END,
          kv_permille = CASE WHEN l.kv_permille >= excluded.kv_permille THEN l.kv_permille
            ELSE COALESCE(excluded.kv_permille, l.kv_permille) END,
          ttft_p95_ms = CASE WHEN l.ttft_p95_ms >= excluded.ttft_p95_ms THEN l.ttft_p95_ms
            ELSE COALESCE(excluded.ttft_p95_ms, l.ttft_p95_ms) END`)
    },

    /** The oldest first. What is kept bounds it. */
    async list(
      project_id: string,
      cluster_id: string,
      { from_ms, to_ms }: { from_ms: number; to_ms: number },
    ): Promise<ClusterLoad[]> {
      const rows = await db.rows<LoadSample>(sql`
        SELECT start_ms, running, waiting, kv_permille, ttft_p95_ms FROM cluster_load
        WHERE project_id = ${project_id} AND cluster_id = ${cluster_id} AND start_ms >= ${from_ms}
          AND start_ms < ${to_ms}
        ORDER BY start_ms`)
      return rows.map(({ start_ms, kv_permille, ...row }) => ({
        object: 'byoc_cluster.load',
        start: rfc3339(start_ms),
        ...row,
        kv_utilization: kv_permille === null ? null : kv_permille / 1_000,
      }))
    },

    /** True while there may be more. */
    async sweep(now: number): Promise<boolean> {
      const swept = await db.rows(sql`
        DELETE FROM cluster_load WHERE (project_id, cluster_id, start_ms) IN (
          SELECT project_id, cluster_id, start_ms FROM cluster_load WHERE start_ms <= ${now - LOAD_KEPT_MS}
          ORDER BY start_ms LIMIT ${SWEEP_MAX})
        RETURNING start_ms`)
      return swept.length >= SWEEP_MAX
    },
  }
}
