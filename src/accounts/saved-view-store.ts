// Saved views at rest. Every query names the project and the owner: nobody sees another's.
import { nextSequence } from '../core/ids.ts'
import { type Db, joined, sql } from '../storage/db.ts'
import { type SavedView, VIEWS_MAX } from './saved-view.ts'

export const VIEWS_AT_ONCE = 200 // that one statement of a sweep looks at

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

    /**
     * R70: what a request saved behind the end of its owner, which nobody could delete. Looks at so many views after a
     * place; gives the next place, undefined at the end.
     */
    async removeOfNobody(after: string): Promise<string | undefined> {
      const [end] = await db.rows<{ id: string }>(sql`
        SELECT id FROM saved_view WHERE id > ${after} ORDER BY id LIMIT 1 OFFSET ${VIEWS_AT_ONCE - 1}`)
      await db.rows(
        joined(
          sql`DELETE FROM saved_view WHERE id > ${after}`,
          end ? sql` AND id <= ${end.id}` : sql``,
          sql`
            AND NOT EXISTS (
              SELECT 1 FROM api_key k
              WHERE k.id = saved_view.owner AND k.project_id = saved_view.project_id
                AND k.status <> 'revoked' AND k.returned_at IS NULL)
            AND NOT EXISTS (
              SELECT 1 FROM membership m
              WHERE m.project_id = saved_view.project_id AND m.person_id = saved_view.owner)`,
        ),
      )
      return end?.id
    },
  }
}

/** R70: how many a project has, whoever saved them. */
export const savedViewsPresent = (project_id: string) => sql`
  SELECT COUNT(*) AS present FROM saved_view WHERE project_id = ${project_id}`

/** One of theirs by its name. */
export const savedViewOf = (project_id: string, owner: string, { page, name }: Pick<SavedView, 'page' | 'name'>) => sql`
  SELECT id FROM saved_view
  WHERE project_id = ${project_id} AND owner = ${owner} AND page = ${page} AND name = ${name}`

const viewFrom = (row: Omit<SavedView, 'object'>): SavedView => ({ ...row, object: 'saved_view' })
