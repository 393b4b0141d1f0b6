// People and projects at rest.
import { nextSequence } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import type { Person, Project } from './account.ts'

export type AccountStore = ReturnType<typeof accountStore>

export function accountStore(db: Db) {
  return {
    /** One person per address: an existing one is returned, and becomes verified if this one is. */
    async upsertPerson(p: Person): Promise<Person> {
      const [person] = await db.rows<Person>(sql`
        INSERT INTO person (id, email, verified_at, created_at)
        VALUES (${p.id}, ${p.email}, ${p.verified_at}, ${p.created_at})
        ON CONFLICT (email) DO UPDATE SET verified_at = COALESCE(person.verified_at, excluded.verified_at)
        RETURNING id, email, verified_at, created_at`)
      return person as Person
    },

    async insertProject(p: Project, now: number): Promise<void> {
      await db.rows(sql`
        INSERT INTO project (id, name, owner_id, created_at, sequence)
        VALUES (${p.id}, ${p.name}, ${p.owner_id}, ${p.created_at}, ${nextSequence(now)})`)
    },

    async hasProjects(): Promise<boolean> {
      const rows = await db.rows(sql`SELECT id FROM project LIMIT 1`)
      return rows.length > 0
    },
  }
}
