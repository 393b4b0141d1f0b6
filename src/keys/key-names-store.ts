// What people call keys, by their ids: for lists that have the ids alone.
import { type Db, joined, sql } from '../storage/db.ts'

export const keyNames =
  (db: Db) =>
  async (project_id: string, ids: readonly string[]): Promise<Map<string, string>> => {
    const [first, ...more] = [...new Set(ids)].map((id) => sql`${id}`)
    if (!first) return new Map()
    const rows = await db.rows<{ id: string; name: string }>(
      joined(
        sql`SELECT id, name FROM api_key WHERE project_id = ${project_id} AND id IN (`,
        first,
        ...more.map((id) => joined(sql`, `, id)),
        sql`)`,
      ),
    )
    return new Map(rows.map(({ id, name }) => [id, name]))
  }
