// Counts of refusals at rest, by project, hour and kind. Added to in bulk, off the path of requests.
import { type Db, sql } from '../storage/db.ts'
import { KEPT_MS, type RefusalCount } from './refusal-kind.ts'

const SWEEP_MAX = 1_000 // bounds how long one statement holds the store

export function refusalStore(db: Db) {
  return {
    async add(counts: readonly RefusalCount[]): Promise<void> {
      await db.transaction(async (tx) => {
        for (const { project_id, hour_ms, kind, count } of counts)
          await tx.rows(sql`
            INSERT INTO refusal_count (project_id, hour_ms, kind, count)
            VALUES (${project_id}, ${hour_ms}, ${kind}, ${count})
            ON CONFLICT (project_id, hour_ms, kind) DO UPDATE SET count = refusal_count.count + excluded.count`)
      })
    },

    async list(project_id: string, { from_ms, to_ms }: { from_ms: number; to_ms: number }): Promise<RefusalCount[]> {
      return db.rows<RefusalCount>(sql`
        SELECT project_id, hour_ms, kind, count FROM refusal_count
        WHERE project_id = ${project_id} AND hour_ms >= ${from_ms} AND hour_ms < ${to_ms}`)
    },

    /** True while there may be more. */
    async sweep(now: number): Promise<boolean> {
      const swept = await db.rows(sql`
        DELETE FROM refusal_count WHERE (project_id, hour_ms, kind) IN (
          SELECT project_id, hour_ms, kind FROM refusal_count WHERE hour_ms <= ${now - KEPT_MS} LIMIT ${SWEEP_MAX})
        RETURNING hour_ms`)
      return swept.length >= SWEEP_MAX
    },
  }
}
