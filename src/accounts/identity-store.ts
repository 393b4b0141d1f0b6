// Who people are at their identity providers, at rest; states that were used; roles that claims gave (0340).
import { rfc3339 } from '../core/clock.ts'
import { newId, nextSequence } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { type Db, sql } from '../storage/db.ts'
import type { PersonWithPassword } from './account-store.ts'
import type { Role } from './roles.ts'
import { savedViewStore } from './saved-view-store.ts'
import { hashSecret } from './secret-token.ts'

/** By the issuer's address and its own name for somebody. */
export interface IdentityKey {
  issuer: string
  subject: string
}

/** A role that claims gave or took: undefined where it is gone. */
export interface RoleChange {
  project_id: string
  role: Role | undefined
}

export function identityStore(db: Db) {
  return {
    async personOf({ issuer, subject }: IdentityKey): Promise<PersonWithPassword | undefined> {
      const [person] = await db.rows<PersonWithPassword>(sql`
        SELECT p.id, p.email, p.verified_at, p.created_at, p.password_hash
        FROM person_identity i JOIN person p ON p.id = i.person_id
        WHERE i.issuer = ${issuer} AND i.subject = ${subject}`)
      return person
    },

    /** The id of the link. Of two sign-ins at once that would both make it, one does. */
    async link({ issuer, subject }: IdentityKey, person_id: string, now: number): Promise<string> {
      const [id, at] = [newId('idn'), rfc3339(now)]
      const linked = await db.rows(sql`
        INSERT INTO person_identity (id, issuer, subject, person_id, created_at, last_used_at)
        VALUES (${id}, ${issuer}, ${subject}, ${person_id}, ${at}, ${at})
        ON CONFLICT (issuer, subject) DO NOTHING RETURNING id`)
      if (linked.length === 1) return id
      throw new Refusal('unavailable', 'You signed in for the first time twice at the same moment. Try again.')
    },

    async noteUse({ issuer, subject }: IdentityKey, now: number): Promise<void> {
      await db.rows(sql`
        UPDATE person_identity SET last_used_at = ${rfc3339(now)} WHERE issuer = ${issuer} AND subject = ${subject}`)
    },

    /** Of any number that come back with one state, exactly one does. */
    async useState(state: string, expires_at: number): Promise<boolean> {
      const used = await db.rows(sql`
        INSERT INTO used_state (hash, expires_at) VALUES (${hashSecret(state)}, ${expires_at})
        ON CONFLICT (hash) DO NOTHING RETURNING hash`)
      return used.length === 1
    },

    /**
     * What claims gave before and no longer give is gone; what they give is there. A role that a person gave stays as
     * it is, and so does that of whose project it is; a project that does not exist gives none.
     */
    async grant(person_id: string, issuer: string, roles: ReadonlyMap<string, Role>, now: number) {
      const held = await db.rows<{ project_id: string; role: Role; granted_by: string | null }>(sql`
        SELECT m.project_id, m.role, CASE WHEN p.owner_id = m.person_id THEN NULL ELSE m.granted_by END AS granted_by
        FROM membership m JOIN project p ON p.id = m.project_id WHERE m.person_id = ${person_id}`)
      const changes: RoleChange[] = []
      for (const { project_id, granted_by } of held)
        if (granted_by === issuer && !roles.has(project_id)) changes.push({ project_id, role: undefined })
      for (const [project_id, role] of roles) {
        const has = held.find((one) => one.project_id === project_id)
        if (!has || (has.granted_by === issuer && has.role !== role)) changes.push({ project_id, role })
      }
      const made: RoleChange[] = []
      for (const change of changes) if (await this.apply(person_id, issuer, change, now)) made.push(change)
      return made
    },

    async apply(person_id: string, issuer: string, { project_id, role }: RoleChange, now: number): Promise<boolean> {
      const changed =
        role === undefined
          ? await db.rows(sql`
              DELETE FROM membership
              WHERE project_id = ${project_id} AND person_id = ${person_id} AND granted_by = ${issuer}
              RETURNING project_id`)
          : await db.rows(sql`
              INSERT INTO membership (project_id, person_id, role, created_at, sequence, granted_by)
              SELECT id, CAST(${person_id} AS TEXT), CAST(${role} AS TEXT), CAST(${rfc3339(now)} AS TEXT),
                     CAST(${nextSequence(now)} AS BIGINT), CAST(${issuer} AS TEXT)
              FROM project WHERE id = ${project_id}
              ON CONFLICT (project_id, person_id) DO UPDATE SET role = excluded.role
                WHERE membership.granted_by = excluded.granted_by
              RETURNING project_id`)
      if (role === undefined && changed.length === 1) await savedViewStore(db).removeAllOf(project_id, person_id)
      return changed.length === 1
    },

    async isInvited(email: string, now: number): Promise<boolean> {
      const open = await db.rows(sql`
        SELECT id FROM invitation WHERE email = ${email} AND expires_at > ${now} LIMIT 1`)
      return open.length > 0
    },

    async sweep(now: number): Promise<void> {
      await db.rows(sql`DELETE FROM used_state WHERE expires_at <= ${now}`)
    },
  }
}
