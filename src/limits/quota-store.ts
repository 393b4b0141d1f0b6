// Quotas at rest: one row for each project and kind, raised by one conditional statement, so that no race of requests
// or replicas passes the bound.
import { type Db, type Sql, sql } from '../storage/db.ts'
import type { QuotaKind } from './quota.ts'

export function quotaStore(db: Db) {
  return {
    /** True where there was room for one more, which is then taken. */
    async take(project_id: string, kind: QuotaKind, max: number): Promise<boolean> {
      const taken = await db.rows(sql`
        INSERT INTO project_quota (project_id, kind, present) VALUES (${project_id}, ${kind}, 1)
        ON CONFLICT (project_id, kind) DO UPDATE SET present = project_quota.present + 1
          WHERE project_quota.present < ${max}
        RETURNING present`)
      return taken.length === 1
    },

    /** What ended meanwhile makes room again. `present` counts what the project has. */
    async recount(project_id: string, kind: QuotaKind, present: Sql): Promise<void> {
      const [row] = await db.rows<{ present: number }>(present)
      await db.rows(sql`
        UPDATE project_quota SET present = ${row?.present ?? 0} WHERE project_id = ${project_id} AND kind = ${kind}`)
    },
  }
}
