// Quotas at rest: one row for each project and kind, raised by one conditional statement, so that no race of requests
// or replicas passes the bound.
import { type Db, type Sql, sql } from '../storage/db.ts'
import type { OwnQuotas } from './operator-quota.ts'
import type { QuotaKind } from './quota.ts'

export function quotaStore(db: Db) {
  return {
    /** True where there was room for one more, which is then taken. What the operator said goes before `max` (R79). */
    async take(project_id: string, kind: QuotaKind, max: number): Promise<boolean> {
      const taken = await db.rows(sql`
        INSERT INTO project_quota (project_id, kind, present) VALUES (${project_id}, ${kind}, 1)
        ON CONFLICT (project_id, kind) DO UPDATE SET present = project_quota.present + 1
          WHERE project_quota.present < COALESCE(project_quota.max_present, ${max})
        RETURNING present`)
      return taken.length === 1
    },

    /**
     * The same for many at once, such as bytes. What is taken by amounts is given back in the transaction of what goes,
     * and so is exact; `max` and what the operator said are in units of `unit`.
     */
    async takeAmount(project_id: string, kind: QuotaKind, { amount, max, unit }: Amount): Promise<boolean> {
      await db.rows(sql`
        INSERT INTO project_quota (project_id, kind, present) VALUES (${project_id}, ${kind}, 0)
        ON CONFLICT (project_id, kind) DO NOTHING`)
      const taken = await db.rows(sql`
        UPDATE project_quota SET present = present + ${amount}
        WHERE project_id = ${project_id} AND kind = ${kind}
          AND present + ${amount} <= COALESCE(max_present, ${max}) * ${unit}
        RETURNING present`)
      return taken.length === 1
    },

    async giveBack(project_id: string, kind: QuotaKind, amount: number): Promise<void> {
      await db.rows(sql`
        UPDATE project_quota SET present = present - ${amount}
        WHERE project_id = ${project_id} AND kind = ${kind}`)
    },

    /** What ended meanwhile makes room again. `present` counts what the project has. */
    async recount(project_id: string, kind: QuotaKind, present: Sql): Promise<void> {
      const [row] = await db.rows<{ present: number }>(present)
      await db.rows(sql`
        UPDATE project_quota SET present = ${row?.present ?? 0} WHERE project_id = ${project_id} AND kind = ${kind}`)
    },

    /** What the operator said for this project alone (R79). */
    async own(project_id: string): Promise<OwnQuotas> {
      const rows = await db.rows<{ kind: QuotaKind; max_present: number }>(sql`
        SELECT kind, max_present FROM project_quota WHERE project_id = ${project_id} AND max_present IS NOT NULL`)
      return Object.fromEntries(rows.map(({ kind, max_present }) => [kind, max_present]))
    },

    /** Null: as for every project. */
    async setMax(project_id: string, kind: QuotaKind, max: number | null): Promise<void> {
      await db.rows(sql`
        INSERT INTO project_quota (project_id, kind, present, max_present) VALUES (${project_id}, ${kind}, 0, ${max})
        ON CONFLICT (project_id, kind) DO UPDATE SET max_present = excluded.max_present`)
    },
  }
}

interface Amount {
  amount: number
  max: number
  unit: number
}
