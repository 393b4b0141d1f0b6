// R79: which project is the operator's. It is written down once, with the first project, and never changes.
import type { MaybePromise } from '../core/maybe-promise.ts'
import { type Db, sql } from '../storage/db.ts'

export function operatorStore(db: Db) {
  return {
    /** The oldest becomes it, where none is written down: the one being founded. */
    async appoint(): Promise<void> {
      await db.rows(sql`
        INSERT INTO setting (name, value)
        SELECT 'operator_project', o.id FROM (SELECT id FROM project ORDER BY sequence, id LIMIT 1) o WHERE TRUE
        ON CONFLICT (name) DO NOTHING`)
    },

    async projectId(): Promise<string | undefined> {
      const [row] = await db.rows<{ value: string }>(sql`SELECT value FROM setting WHERE name = 'operator_project'`)
      return row?.value
    },
  }
}

/** Asks the store until it knows, and then never again. */
export function operatorProject(db: Db) {
  let known: string | undefined
  return (project_id: string): MaybePromise<boolean> =>
    known === undefined
      ? operatorStore(db)
          .projectId()
          .then((id) => {
            known = id
            return id === project_id
          })
      : known === project_id
}
