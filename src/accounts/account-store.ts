// People and projects at rest.
import { nextSequence } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import type { Person, Project } from './account.ts'
import type { Role } from './roles.ts'

/** A person with what only the checking of a password needs. */
export type PersonWithPassword = Person & { password_hash: string | null }

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

    /** False where the address already belongs to somebody: then nothing changes. */
    async insertPerson(p: Person, password_hash: string | null): Promise<boolean> {
      const inserted = await db.rows(sql`
        INSERT INTO person (id, email, verified_at, created_at, password_hash)
        VALUES (${p.id}, ${p.email}, ${p.verified_at}, ${p.created_at}, ${password_hash})
        ON CONFLICT (email) DO NOTHING RETURNING id`)
      return inserted.length === 1
    },

    async findByEmail(email: string): Promise<PersonWithPassword | undefined> {
      const [person] = await db.rows<PersonWithPassword>(sql`
        SELECT id, email, verified_at, created_at, password_hash FROM person WHERE email = ${email}`)
      return person
    },

    async findPerson(id: string): Promise<PersonWithPassword | undefined> {
      const [person] = await db.rows<PersonWithPassword>(sql`
        SELECT id, email, verified_at, created_at, password_hash FROM person WHERE id = ${id}`)
      return person
    },

    /** Confirms the address for the first time, with the password of whoever confirms it. False where it was before. */
    async verify(id: string, password_hash: string | null, at: string): Promise<boolean> {
      const verified = await db.rows(sql`
        UPDATE person SET verified_at = ${at}, password_hash = COALESCE(${password_hash}, password_hash)
        WHERE id = ${id} AND verified_at IS NULL RETURNING id`)
      return verified.length === 1
    },

    /** An account that nobody confirmed loses its address, which somebody else may have from now on. */
    async release(id: string): Promise<void> {
      await db.rows(sql`
        UPDATE person SET email = ${`${id}@unconfirmed.invalid`}, password_hash = NULL
        WHERE id = ${id} AND verified_at IS NULL`)
    },

    /** Whether this is still the password. Who changes it now waits for this transaction, and sees what it wrote. */
    async holdPassword(id: string, password_hash: string): Promise<boolean> {
      const held = await db.rows(sql`
        UPDATE person SET password_hash = ${password_hash}
        WHERE id = ${id} AND password_hash = ${password_hash} RETURNING id`)
      return held.length === 1
    },

    /** By a link that reached the mailbox: so the address is confirmed as well. */
    async setPassword(id: string, password_hash: string, at: string): Promise<void> {
      await db.rows(sql`
        UPDATE person SET password_hash = ${password_hash}, verified_at = COALESCE(verified_at, ${at})
        WHERE id = ${id}`)
    },

    async insertProject(p: Project, now: number): Promise<void> {
      const sequence = nextSequence(now)
      await db.transaction(async (tx) => {
        await tx.rows(sql`
          INSERT INTO project (id, name, owner_id, created_at, sequence)
          VALUES (${p.id}, ${p.name}, ${p.owner_id}, ${p.created_at}, ${sequence})`)
        await tx.rows(sql`
          INSERT INTO membership (project_id, person_id, role, created_at, sequence)
          VALUES (${p.id}, ${p.owner_id}, ${'owner' satisfies Role}, ${p.created_at}, ${sequence})`)
      })
    },

    async hasProjects(): Promise<boolean> {
      const rows = await db.rows(sql`SELECT id FROM project LIMIT 1`)
      return rows.length > 0
    },
  }
}
