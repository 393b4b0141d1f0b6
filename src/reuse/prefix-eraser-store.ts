// What is remembered of a project's prompts, for purge jobs: hashes, in the memory of each replica. They are of a
// number that every request reads with its key; raising it forgets them everywhere, and of the whole project.
import { aside, sql } from '../storage/db.ts'
import { countOf, type Eraser } from '../storage/erasing.ts'

export const prefixEraser: Eraser = {
  kind: 'prefix_memory',
  is_in_memory: true,

  /** 1 where anything of before the job may be remembered. */
  count: (db, { project_id, as_of_ms }) =>
    countOf(
      db,
      aside(sql`
        SELECT COUNT(*) AS matched FROM project WHERE id = ${project_id} AND memory_epoch < ${as_of_ms}`),
    ),

  async erase(tx, { project_id, as_of_ms }) {
    const raised = await tx.rows<{ id: string }>(sql`
      UPDATE project SET memory_epoch = ${as_of_ms} WHERE id = ${project_id} AND memory_epoch < ${as_of_ms}
      RETURNING id`)
    return { ids: raised.map(({ id }) => id), next: null }
  },
}
