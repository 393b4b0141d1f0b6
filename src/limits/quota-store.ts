// Quotas at rest: one row for each project and kind, raised by one conditional statement, so that no race of requests
// or replicas passes the bound.
import { randomBase62 } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import type { OwnQuotas } from './operator-quota.ts'
import { QUOTA_MAX, type QuotaKind } from './quota.ts'

/** Of these a project may have more, or fewer, than were taken: where it stands at the bound, they are counted. */
const COUNTED: ReadonlySet<QuotaKind> = new Set([
  'keys',
  'clusters',
  'aliases',
  'releases',
  'credentials',
  'hints',
  'sessions',
  'invitations',
  'purge_jobs',
  'notification_channels',
  'tag_budgets',
  'saved_views',
])

export const isCounted = (kind: QuotaKind): boolean => COUNTED.has(kind)

/** For `present`, where nobody knows it: beyond every bound, so that whoever takes counts first. No two are alike. */
const uncounted = () => QUOTA_MAX + 1 + Number.parseInt(randomBase62(8), 36)

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

    /** What ended meanwhile makes room again. */
    async setPresent(project_id: string, kind: QuotaKind, present: number): Promise<void> {
      await db.rows(sql`
        UPDATE project_quota SET present = ${present} WHERE project_id = ${project_id} AND kind = ${kind}`)
    },

    /** Something went: where there was no room, whoever comes next counts. One statement that seldom finds a row. */
    async allowRecount(project_id: string, kind: QuotaKind, max: number): Promise<void> {
      await db.rows(sql`
        UPDATE project_quota SET present = ${uncounted()}
        WHERE project_id = ${project_id} AND kind = ${kind} AND present >= COALESCE(max_present, ${max})`)
    },

    /** By which whoever counted knows whether anybody has asked for that since; undefined where it is known. */
    async uncountedBy(project_id: string, kind: QuotaKind): Promise<number | undefined> {
      const [row] = await db.rows<{ present: number }>(sql`
        SELECT present FROM project_quota
        WHERE project_id = ${project_id} AND kind = ${kind} AND present > ${QUOTA_MAX}`)
      return row?.present
    },

    /** What the operator said for this project alone (R79). */
    async own(project_id: string): Promise<OwnQuotas> {
      const rows = await db.rows<{ kind: QuotaKind; max_present: number }>(sql`
        SELECT kind, max_present FROM project_quota WHERE project_id = ${project_id} AND max_present IS NOT NULL`)
      return Object.fromEntries(rows.map(({ kind, max_present }) => [kind, max_present]))
    },

    /** Null: as for every project. What there is already counts, whoever put it there. */
    async setMax(project_id: string, kind: QuotaKind, max: number | null): Promise<void> {
      const unknown = isCounted(kind) ? uncounted() : null
      await db.rows(sql`
        INSERT INTO project_quota (project_id, kind, present, max_present)
        VALUES (${project_id}, ${kind}, ${unknown ?? 0}, ${max})
        ON CONFLICT (project_id, kind) DO UPDATE
          SET max_present = excluded.max_present,
              present = CASE WHEN excluded.present = 0 THEN project_quota.present ELSE excluded.present END`)
    },
  }
}

interface Amount {
  amount: number
  max: number
  unit: number
}
