// Budgets of tags at rest.
import { nextSequence } from '../core/ids.ts'
import type { Tag } from '../headers/call-tags.ts'
import { type Db, sql } from '../storage/db.ts'
import type { TagBudget } from './tag-budget.ts'

type Row = Omit<TagBudget, 'object' | 'tag'> & { name: string; value: string }

export function tagBudgetStore(db: Db) {
  return {
    /** False where the tag has one already. */
    async insert({ id, project_id, tag, limit_micros, created_at }: TagBudget, now: number): Promise<boolean> {
      const at = tag.indexOf('=')
      const made = await db.rows(sql`
        INSERT INTO tag_budget (id, project_id, name, value, limit_micros, created_at, sequence)
        VALUES (${id}, ${project_id}, ${tag.slice(0, at)}, ${tag.slice(at + 1)}, ${limit_micros}, ${created_at},
                ${nextSequence(now)})
        ON CONFLICT (project_id, name, value) DO NOTHING RETURNING id`)
      return made.length === 1
    },

    async list(project_id: string): Promise<TagBudget[]> {
      const rows = await db.rows<Row>(sql`
        SELECT id, project_id, name, value, limit_micros, spent_micros, held_micros, created_at FROM tag_budget
        WHERE project_id = ${project_id} ORDER BY sequence DESC`)
      return rows.map(fromRow)
    },

    async setLimit(project_id: string, id: string, limit_micros: number): Promise<TagBudget | undefined> {
      const [row] = await db.rows<Row>(sql`
        UPDATE tag_budget SET limit_micros = ${limit_micros} WHERE project_id = ${project_id} AND id = ${id}
        RETURNING id, project_id, name, value, limit_micros, spent_micros, held_micros, created_at`)
      return row && fromRow(row)
    },

    async find(project_id: string, id: string): Promise<TagBudget | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT id, project_id, name, value, limit_micros, spent_micros, held_micros, created_at FROM tag_budget
        WHERE project_id = ${project_id} AND id = ${id}`)
      return row && fromRow(row)
    },

    async remove(project_id: string, id: string): Promise<boolean> {
      return db.transaction(async (tx) => {
        const removed = await tx.rows(sql`
          DELETE FROM tag_budget WHERE project_id = ${project_id} AND id = ${id} RETURNING id`)
        await tx.rows(sql`DELETE FROM tag_hold WHERE project_id = ${project_id} AND budget_id = ${id}`)
        return removed.length === 1
      })
    },

    /** The budgets that a call with these tags counts against, by their ids. */
    async of(project_id: string, tags: readonly Tag[]): Promise<string[]> {
      if (tags.length === 0) return []
      const values = [project_id, ...tags.flatMap(({ name, value }) => [name, value])]
      const rows = await db.rows<{ id: string }>({ text: ofSoMany(tags.length), values })
      return rows.map(({ id }) => id)
    },
  }
}

const texts = new Map<number, readonly string[]>()

/** The same text for as many tags, lest each call has a statement of its own. */
function ofSoMany(tags: number): readonly string[] {
  const known = texts.get(tags)
  if (known) return known
  const more = Array.from({ length: tags - 1 }, () => [' AND value = ', ') OR (name = ']).flat()
  const text = [
    'SELECT id FROM tag_budget WHERE project_id = ',
    ' AND ((name = ',
    ...more,
    ' AND value = ',
    ')) ORDER BY id',
  ]
  texts.set(tags, text)
  return text
}

const fromRow = ({ name, value, ...row }: Row): TagBudget => ({ object: 'tag_budget', tag: `${name}=${value}`, ...row })

/** R70: how many a project has. */
export const tagBudgetsPresent = (project_id: string) => sql`
  SELECT COUNT(*) AS present FROM tag_budget WHERE project_id = ${project_id}`
