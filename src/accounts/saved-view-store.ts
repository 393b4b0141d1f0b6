// Saved views at rest. Every query names the project and the owner: nobody sees another's.
import { nextSequence } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import { type SavedView, VIEWS_MAX } from './saved-view.ts'

export function savedViewStore(db: Db) {
  return {
    async list(project_id: string, owner: string): Promise<SavedView[]> {
      const rows = await db.rows<Omit<SavedView, 'object'>>(sql`
        SELECT id, page, name, query, created_at FROM saved_view
        WHERE project_id = ${project_id} AND owner = ${owner} ORDER BY name, sequence`)
      return rows.map(viewFrom)
    },

    /** In the place of one of the same name. Undefined where there are as many as may be; nothing is stored then. */
    async save(project_id: string, owner: string, v: SavedView, now: number): Promise<SavedView | undefined> {
      const [row] = await db.rows<Omit<SavedView, 'object'>>(sql`
        INSERT INTO saved_view (id, project_id, owner, page, name, query, created_at, sequence)
        SELECT ${v.id}, ${project_id}, ${owner}, ${v.page}, ${v.name}, ${v.query}, ${v.created_at},
          CAST(${nextSequence(now)} AS BIGINT)
        WHERE (SELECT COUNT(*) FROM saved_view WHERE project_id = ${project_id} AND owner = ${owner}
            AND NOT (page = ${v.page} AND name = ${v.name})) < ${VIEWS_MAX}
        ON CONFLICT (project_id, owner, page, name) DO UPDATE SET query = excluded.query
        RETURNING id, page, name, query, created_at`)
      return row && viewFrom(row)
    },

    async remove(project_id: string, owner: string, id: string): Promise<boolean> {
      const rows = await db.rows(sql`
        DELETE FROM saved_view WHERE project_id = ${project_id} AND owner = ${owner} AND id = ${id} RETURNING id`)
      return rows.length === 1
    },

    /** Of somebody who has left. A key's go with the key (`keys/key-store.ts`, `budgets/carve-store.ts`). */
    async removeAllOf(project_id: string, owner: string): Promise<void> {
      await db.rows(sql`DELETE FROM saved_view WHERE project_id = ${project_id} AND owner = ${owner}`)
    },
  }
}

/** R70: how many a project has, whoever saved them. */
export const savedViewsPresent = (project_id: string) => sql`
  SELECT COUNT(*) AS present FROM saved_view WHERE project_id = ${project_id}`

const viewFrom = (row: Omit<SavedView, 'object'>): SavedView => ({ ...row, object: 'saved_view' })
