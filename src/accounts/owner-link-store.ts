// Owner links at rest: by their hash, one a project, used once, then gone (0160).
import { rfc3339 } from '../core/clock.ts'
import { nextSequence } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import { type MintedLink, OWNER_LINK_LIFE_MS, PLACEHOLDER_EMAIL } from './owner-link.ts'
import type { Role } from './roles.ts'
import { hashSecret, newSecret } from './secret-token.ts'

const OWNER: Role = 'owner'

export function ownerLinkStore(db: Db) {
  return {
    /** The project of the first start, while its owner is the placeholder and nobody else owns it either. */
    async firstUnowned(): Promise<string | undefined> {
      const [row] = await db.rows<{ id: string }>(sql`
        SELECT p.id FROM project p JOIN person o ON o.id = p.owner_id
        WHERE o.email = ${PLACEHOLDER_EMAIL} AND NOT EXISTS (
          SELECT m.person_id FROM membership m JOIN person q ON q.id = m.person_id
          WHERE m.project_id = p.id AND m.role = ${OWNER} AND (q.password_hash IS NOT NULL
            OR EXISTS (SELECT i.id FROM person_identity i WHERE i.person_id = q.id)))
        ORDER BY p.sequence LIMIT 1`)
      return row?.id
    },

    /** Who owns the project and can sign in. */
    async ownersOf(project_id: string): Promise<string[]> {
      const owners = await db.rows<{ email: string }>(sql`
        SELECT q.email FROM membership m JOIN person q ON q.id = m.person_id
        WHERE m.project_id = ${project_id} AND m.role = ${OWNER} AND (q.password_hash IS NOT NULL
          OR EXISTS (SELECT i.id FROM person_identity i WHERE i.person_id = q.id))
        ORDER BY m.sequence`)
      return owners.map(({ email }) => email)
    },

    /** A link in the place of the one before, which is void from now on. */
    async mint(project_id: string, now: number): Promise<MintedLink> {
      const [secret, expires_at] = [newSecret(), now + OWNER_LINK_LIFE_MS]
      await db.rows(sql`
        INSERT INTO owner_link (project_id, hash, expires_at)
        VALUES (${project_id}, ${hashSecret(secret)}, ${expires_at})
        ON CONFLICT (project_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at`)
      return { secret, expires_at }
    },

    /** Only where there is none that works: of several replicas that start at once, one mints it. */
    async mintIfLapsed(project_id: string, now: number): Promise<MintedLink | undefined> {
      const [secret, expires_at] = [newSecret(), now + OWNER_LINK_LIFE_MS]
      const minted = await db.rows(sql`
        INSERT INTO owner_link (project_id, hash, expires_at)
        VALUES (${project_id}, ${hashSecret(secret)}, ${expires_at})
        ON CONFLICT (project_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at
          WHERE owner_link.expires_at <= ${now}
        RETURNING project_id`)
      return minted.length === 1 ? { secret, expires_at } : undefined
    },

    /** Whether it would work now: asked before a password is looked at for it. */
    async isGood(secret: string, now: number): Promise<boolean> {
      const found = await db.rows(sql`
        SELECT project_id FROM owner_link WHERE hash = ${hashSecret(secret)} AND expires_at > ${now}`)
      return found.length === 1
    },

    /** Of any number that use it at once, exactly one does. */
    async use(secret: string, now: number): Promise<string | undefined> {
      const [used] = await db.rows<{ project_id: string }>(sql`
        DELETE FROM owner_link WHERE hash = ${hashSecret(secret)} AND expires_at > ${now} RETURNING project_id`)
      return used?.project_id
    },

    /**
     * The project belongs to this person from now on, whatever role claims gave or will give (0340); the placeholder
     * has nothing more to do with it.
     */
    async handOver(project_id: string, person_id: string, now: number): Promise<void> {
      await db.rows(sql`
        DELETE FROM membership WHERE project_id = ${project_id} AND person_id IN (
          SELECT id FROM person WHERE email = ${PLACEHOLDER_EMAIL} AND id <> ${person_id} AND password_hash IS NULL)`)
      await db.rows(sql`
        INSERT INTO membership (project_id, person_id, role, created_at, sequence)
        VALUES (${project_id}, ${person_id}, ${OWNER}, ${rfc3339(now)}, ${nextSequence(now)})
        ON CONFLICT (project_id, person_id) DO UPDATE SET role = excluded.role, granted_by = NULL`)
      await db.rows(sql`UPDATE project SET owner_id = ${person_id} WHERE id = ${project_id}`)
    },

    async sweep(now: number): Promise<void> {
      await db.rows(sql`DELETE FROM owner_link WHERE expires_at <= ${now}`)
    },
  }
}
