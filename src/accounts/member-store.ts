// Members and open invitations at rest. Every query names the project (§5.8).
import { rfc3339 } from '../core/clock.ts'
import { newId, nextSequence } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import { INVITATION_LIFE_MS, type Member } from './member.ts'
import type { Role } from './roles.ts'
import { savedViewStore } from './saved-view-store.ts'
import { hashSecret, newSecret } from './secret-token.ts'

interface Row {
  id: string
  email: string
  role: Role
  created_at: string
}

export interface Invitation {
  id: string
  project_id: string
  email: string
  role: Role
}

export function memberStore(db: Db) {
  return {
    /** Newest first, invitations before members. */
    async list(project_id: string, now: number): Promise<Member[]> {
      const invited = await db.rows<Row>(sql`
        SELECT id, email, role, created_at FROM invitation
        WHERE project_id = ${project_id} AND expires_at > ${now} ORDER BY sequence DESC`)
      const active = await db.rows<Row>(sql`
        SELECT p.id, p.email, m.role, m.created_at FROM membership m JOIN person p ON p.id = m.person_id
        WHERE m.project_id = ${project_id} ORDER BY m.sequence DESC`)
      return [...invited.map(asInvited), ...active.map(asActive)]
    },

    async find(project_id: string, person_id: string): Promise<(Member & { is_founder: boolean }) | undefined> {
      const [row] = await db.rows<Row & { owner_id: string }>(sql`
        SELECT p.id, p.email, m.role, m.created_at, o.owner_id
        FROM membership m JOIN person p ON p.id = m.person_id JOIN project o ON o.id = m.project_id
        WHERE m.project_id = ${project_id} AND m.person_id = ${person_id}`)
      return row && { ...asActive(row), is_founder: row.id === row.owner_id }
    },

    async hasAddress(project_id: string, email: string): Promise<boolean> {
      const found = await db.rows(sql`
        SELECT p.id FROM membership m JOIN person p ON p.id = m.person_id
        WHERE m.project_id = ${project_id} AND p.email = ${email}`)
      return found.length > 0
    },

    /** A second one to the same address takes the place of the first, whose link is then void. */
    async invite(project_id: string, { email, role }: Pick<Row, 'email' | 'role'>, now: number) {
      const [secret, id, at] = [newSecret(), newId('inv'), rfc3339(now)]
      await db.rows(sql`
        INSERT INTO invitation (id, project_id, email, role, token_hash, created_at, sequence, expires_at)
        VALUES (${id}, ${project_id}, ${email}, ${role}, ${hashSecret(secret)}, ${at}, ${nextSequence(now)},
                ${now + INVITATION_LIFE_MS})
        ON CONFLICT (project_id, email) DO UPDATE
          SET id = excluded.id, role = excluded.role, token_hash = excluded.token_hash,
              created_at = excluded.created_at, sequence = excluded.sequence, expires_at = excluded.expires_at`)
      return { secret, member: asInvited({ id, email, role, created_at: at }) }
    },

    async withdraw(project_id: string, id: string): Promise<boolean> {
      const gone = await db.rows(sql`
        DELETE FROM invitation WHERE project_id = ${project_id} AND id = ${id} RETURNING id`)
      return gone.length === 1
    },

    /** What accepting an open invitation gives; undefined where there is none of that id. */
    async setInvitedRole(project_id: string, id: string, role: Role, now: number): Promise<Member | undefined> {
      const [row] = await db.rows<Row>(sql`
        UPDATE invitation SET role = ${role}
        WHERE project_id = ${project_id} AND id = ${id} AND expires_at > ${now}
        RETURNING id, email, role, created_at`)
      return row && asInvited(row)
    },

    /** From now on it is a role that a person gave: no claims change it (0340). */
    async setRole(project_id: string, person_id: string, role: Role): Promise<void> {
      await db.rows(sql`
        UPDATE membership SET role = ${role}, granted_by = NULL
        WHERE project_id = ${project_id} AND person_id = ${person_id}`)
    },

    /** With the views that they saved in it, which nobody else could delete. */
    async remove(project_id: string, person_id: string): Promise<void> {
      await db.rows(sql`DELETE FROM membership WHERE project_id = ${project_id} AND person_id = ${person_id}`)
      await savedViewStore(db).removeAllOf(project_id, person_id)
    },

    /** Whose invitation it is, while it is good: whoever holds its secret may know. */
    async findInvitation(secret: string, now: number): Promise<Invitation | undefined> {
      const [row] = await db.rows<Invitation>(sql`
        SELECT id, project_id, email, role FROM invitation
        WHERE token_hash = ${hashSecret(secret)} AND expires_at > ${now}`)
      return row
    },

    /** Of any number that accept at once, exactly one does. */
    async useInvitation(secret: string, now: number): Promise<Invitation | undefined> {
      const [used] = await db.rows<Invitation>(sql`
        DELETE FROM invitation WHERE token_hash = ${hashSecret(secret)} AND expires_at > ${now}
        RETURNING id, project_id, email, role`)
      return used
    },

    /** Somebody who is a member already keeps the role they have. */
    async join({ project_id, role }: Invitation, person_id: string, now: number): Promise<void> {
      await db.rows(sql`
        INSERT INTO membership (project_id, person_id, role, created_at, sequence)
        VALUES (${project_id}, ${person_id}, ${role}, ${rfc3339(now)}, ${nextSequence(now)})
        ON CONFLICT (project_id, person_id) DO NOTHING`)
    },

    async sweep(now: number): Promise<void> {
      await db.rows(sql`DELETE FROM invitation WHERE expires_at <= ${now}`)
    },
  }
}

const asInvited = ({ id, email, role, created_at }: Row): Member => ({
  id,
  object: 'member',
  email,
  role,
  status: 'invited',
  created_at,
})

const asActive = (row: Row): Member => ({ ...asInvited(row), status: 'active' })

/** R70: how many of a project's are open. */
export const invitationsPresent = (project_id: string, now: number) => sql`
  SELECT COUNT(*) AS present FROM invitation WHERE project_id = ${project_id} AND expires_at > ${now}`
