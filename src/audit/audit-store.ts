// The audit log at rest: entries are added and read, and never changed. One that is made ahead of its deed is withdrawn
// where that fails, and told what came of it where it had nothing to name.
import { nextSequence } from '../core/ids.ts'
import { BATCH_ROWS, inBatches, mapped } from '../storage/batches.ts'
import { type Db, sql } from '../storage/db.ts'
import type { AuditEntry, AuditPlace, NewEntry } from './audit.ts'
import { type Asked, auditSearch, type Row } from './audit-search-store.ts'

type Listed = Asked & { after: AuditPlace | undefined; limit: number | undefined }

export function auditStore(db: Db) {
  return {
    async insert(e: NewEntry): Promise<void> {
      await db.rows(sql`
        INSERT INTO audit_entry (id, project_id, actor, action, target, request_id, created_at, created_ms, sequence)
        VALUES (${e.id}, ${e.project_id}, ${e.actor}, ${e.action}, ${e.target ?? null}, ${e.request_id},
                ${e.created_at}, ${e.created_ms}, ${nextSequence(e.created_ms)})`)
    },

    /** Only for an entry that was made ahead of something that had no id yet. */
    async nameTarget(project_id: string, id: string, target: string): Promise<void> {
      await db.rows(sql`
        UPDATE audit_entry SET target = ${target} WHERE project_id = ${project_id} AND id = ${id} AND target IS NULL`)
    },

    /** Only for an entry that was made ahead of something that then did not happen. */
    async withdraw(project_id: string, id: string): Promise<void> {
      await db.rows(sql`DELETE FROM audit_entry WHERE project_id = ${project_id} AND id = ${id}`)
    },

    async projectsOf(person_id: string): Promise<string[]> {
      const rows = await db.rows<{ project_id: string }>(sql`
        SELECT project_id FROM membership WHERE person_id = ${person_id} ORDER BY sequence`)
      return rows.map((row) => row.project_id)
    },

    /**
     * All that fit, newest first, or all that are older than a place (R70). Of what is cut at a limit no more is looked
     * for at a time than its end takes, and one that is behind it; `hasLeft`: nobody reads the rest.
     */
    listAll(project_id: string, { after: start, limit, ...asked }: Listed, hasLeft = () => false) {
      const { read } = auditSearch(db, project_id, asked, hasLeft)
      const most = Math.min(BATCH_ROWS, (limit ?? BATCH_ROWS) + 1)
      return mapped(
        inBatches(start, (after) => read(after, most), most),
        fromRow,
      )
    },

    /** Where an entry stands in the log. */
    async place(project_id: string, id: string): Promise<AuditPlace | undefined> {
      const [row] = await db.rows<AuditPlace>(sql`
        SELECT created_ms, sequence, id FROM audit_entry WHERE project_id = ${project_id} AND id = ${id}`)
      return row
    },
  }
}

const fromRow = ({ target, created_ms: _created_ms, sequence: _sequence, ...row }: Row & AuditPlace): AuditEntry => ({
  ...row,
  object: 'audit_entry',
  ...(target !== null && { target }),
})
