// R79: projects as whoever runs the service sees and bounds them. Nobody else may be answered out of this store.
import { BATCH_ROWS, mapped, newestFirst, type Place } from '../storage/batches.ts'
import { type Db, sql } from '../storage/db.ts'
import type { OperatorProject } from './operator-project.ts'

interface Row {
  id: string
  name: string
  created_at: string
  sequence: number
  email: string
  verified_at: string | null
  operator_id: string | null
  suspended_at: string | null
  operator_cap_micros: number | null
  cap_micros: number | null
  overage_enabled: number
  share: number
  spent_micros: number
  held_micros: number
}

export function operatorProjectStore(db: Db) {
  const below = ({ sequence, id }: Place) =>
    db.rows<Row>(sql`
      SELECT p.id, p.name, p.created_at, p.sequence, o.email, o.verified_at, s.value AS operator_id, p.suspended_at,
             p.operator_cap_micros, p.cap_micros, p.overage_enabled, p.share, p.spent_micros, p.held_micros
      FROM project p JOIN person o ON o.id = p.owner_id LEFT JOIN setting s ON s.name = 'operator_project'
      WHERE (p.sequence, p.id) < (${sequence}, ${id}) ORDER BY p.sequence DESC, p.id DESC LIMIT ${BATCH_ROWS}`)

  return {
    /** Newest first (R11), a batch at a time (R70). */
    listAll: () => mapped(newestFirst(below), fromRow),

    async find(project_id: string): Promise<OperatorProject | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT p.id, p.name, p.created_at, p.sequence, o.email, o.verified_at, s.value AS operator_id, p.suspended_at,
               p.operator_cap_micros, p.cap_micros, p.overage_enabled, p.share, p.spent_micros, p.held_micros
        FROM project p JOIN person o ON o.id = p.owner_id LEFT JOIN setting s ON s.name = 'operator_project'
        WHERE p.id = ${project_id}`)
      return row && fromRow(row)
    },

    async exists(project_id: string): Promise<boolean> {
      return (await db.rows(sql`SELECT id FROM project WHERE id = ${project_id}`)).length === 1
    },

    /** 0162: whether the owner of this address has a project of this name. */
    async hasNamed(owner_email: string, name: string): Promise<boolean> {
      const named = await db.rows(sql`
        SELECT p.id FROM project p JOIN person o ON o.id = p.owner_id
        WHERE o.email = ${owner_email} AND p.name = ${name} LIMIT 1`)
      return named.length > 0
    },

    /** Null: none of the operator's. */
    async setCap(project_id: string, operator_cap_micros: number | null): Promise<void> {
      await db.rows(sql`UPDATE project SET operator_cap_micros = ${operator_cap_micros} WHERE id = ${project_id}`)
    },

    async setShare(project_id: string, share: number): Promise<void> {
      await db.rows(sql`UPDATE project SET share = ${share} WHERE id = ${project_id}`)
    },

    /** A second time changes nothing. False where the project is the operator's own. */
    async suspend(project_id: string, at: string): Promise<boolean> {
      const suspended = await db.rows(sql`
        UPDATE project SET suspended_at = COALESCE(suspended_at, ${at})
        WHERE id = ${project_id} AND NOT EXISTS (
          SELECT s.value FROM setting s WHERE s.name = 'operator_project' AND s.value = ${project_id})
        RETURNING id`)
      return suspended.length === 1
    },

    async resume(project_id: string): Promise<void> {
      await db.rows(sql`UPDATE project SET suspended_at = NULL WHERE id = ${project_id}`)
    },
  }
}

function fromRow(row: Row): OperatorProject {
  const { id, name, suspended_at, operator_cap_micros, cap_micros, share, spent_micros, held_micros } = row
  return {
    id,
    object: 'project',
    name,
    status: suspended_at === null ? 'active' : 'suspended',
    ...(suspended_at !== null && { suspended_at }),
    ...(row.operator_id === id && { is_operator: true as const }),
    owner_email: row.email,
    owner_verified: row.verified_at !== null,
    created_at: row.created_at,
    ...(operator_cap_micros !== null && { operator_cap_micros }),
    ...(cap_micros !== null && { cap_micros }),
    overage_enabled: row.overage_enabled === 1,
    share,
    spent_micros,
    held_micros,
  }
}
