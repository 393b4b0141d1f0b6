// Quotas at rest: one row for each project and kind, raised by one conditional statement, so that no race of requests
// or replicas passes the bound.
import { type Db, type Sql, sql } from '../storage/db.ts'
import { type QuotaKind, RECOUNT_AFTER_MS } from './quota.ts'

export interface Asked {
  kind: QuotaKind
  max: number
  /** Counts what the project has now, as `present`. */
  present: Sql
}

export function quotaStore(db: Db) {
  /** True where there was room for one more, which is then taken. */
  async function take(project_id: string, { kind, max }: Asked): Promise<boolean> {
    const taken = await db.rows(sql`
      INSERT INTO project_quota (project_id, kind, present) VALUES (${project_id}, ${kind}, 1)
      ON CONFLICT (project_id, kind) DO UPDATE SET present = project_quota.present + 1
        WHERE project_quota.present < ${max}
      RETURNING present`)
    return taken.length === 1
  }

  return {
    /** What ended since the last count makes room again. */
    async takeOne(project_id: string, asked: Asked, now: number): Promise<boolean> {
      if (await take(project_id, asked)) return true
      const claimed = await db.rows(sql`
        UPDATE project_quota SET counted_ms = ${now}
        WHERE project_id = ${project_id} AND kind = ${asked.kind} AND counted_ms <= ${now - RECOUNT_AFTER_MS}
        RETURNING present`)
      if (claimed.length === 0) return false
      const [row] = await db.rows<{ present: number }>(asked.present)
      await db.rows(sql`
        UPDATE project_quota SET present = ${row?.present ?? 0}
        WHERE project_id = ${project_id} AND kind = ${asked.kind} AND present >= ${asked.max}`)
      return take(project_id, asked)
    },
  }
}
