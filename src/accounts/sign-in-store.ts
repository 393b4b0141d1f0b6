// Sessions at rest, by the hash of what the cookie holds. What somebody may do is read anew on every request: a role
// that was changed, a member who was removed, a session that was ended take effect at once.
import { countsOverage, hardCap } from '../budgets/budget.ts'
import type { Caller } from '../core/caller.ts'
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import { type Role, scopesOf } from './roles.ts'
import { hashSecret, newSecret } from './secret-token.ts'
import { endOf, firstProject, type ProjectInView, type SignedIn } from './sign-in.ts'
import { USUAL_SESSION } from './sign-in-settings.ts'

export interface SignIn {
  id: string
  person_id: string
  project_id: string | null
  created_at: string
  expires_at: number
}

/** What is known of a session that was begun through an issuer. */
export interface ByIssuer {
  issuer: string
  sealed_id_token: Uint8Array | null
}

type Begun = Pick<SignIn, 'person_id' | 'project_id'>

/** `limits` are for those that begin, end or renew sessions. */
export function signInStore(db: Db, limits = USUAL_SESSION) {
  /** A session that began before this has lasted for as long as one may. */
  const oldest = (now: number) => rfc3339(limits.lifetime_ms === null ? 0 : Math.max(0, now - limits.lifetime_ms))

  return {
    /** Always with a new secret (T-101). It is known here, once. */
    async begin(person_id: string, project_id: string | null, now: number) {
      const [secret, id, expires_at] = [newSecret(), newId('sgn'), endOf(limits, now, now)]
      await db.rows(sql`
        INSERT INTO sign_in (id, hash, person_id, project_id, created_at, expires_at)
        VALUES (${id}, ${hashSecret(secret)}, ${person_id}, ${project_id}, ${rfc3339(now)}, ${expires_at})`)
      return { secret, sign_in: { id, person_id, project_id, created_at: rfc3339(now), expires_at } satisfies SignIn }
    },

    /** Ends the session that the browser had, if any: what a stranger may have planted there is void (T-101). */
    async beginInsteadOf(before: string | undefined, { person_id, project_id }: Begun, now: number) {
      if (before !== undefined) await this.end(before)
      return this.begin(person_id, project_id, now)
    },

    async find(secret: string, now: number): Promise<SignIn | undefined> {
      const [row] = await db.rows<SignIn>(sql`
        SELECT id, person_id, project_id, created_at, expires_at FROM sign_in
        WHERE hash = ${hashSecret(secret)} AND expires_at > ${now} AND created_at > ${oldest(now)}`)
      return row
    },

    /**
     * Nobody, where the person is not (or no longer) a member of the project that is asked about; without one, of that
     * which the session looks at.
     */
    async findCaller(secret: string, now: number, about?: string): Promise<FoundCaller | undefined> {
      const [row] = await db.rows<CallerRow>(sql`
        SELECT s.id AS key_id, s.person_id, s.created_at, s.expires_at, m.project_id, m.role, o.verified_at,
               p.cap_micros, p.operator_cap_micros, p.overage_enabled, p.suspended_at, p.share, p.routing_epoch,
               p.memory_epoch, p.records_since_ms, p.second_factor_required,
               CASE WHEN s.issuer IS NULL AND NOT EXISTS (
                 SELECT 1 FROM second_factor f WHERE f.person_id = s.person_id AND f.confirmed_at IS NOT NULL
               ) THEN 1 ELSE 0 END AS lacks_second_factor
        FROM sign_in s
          JOIN membership m ON m.person_id = s.person_id
            AND m.project_id = COALESCE(CAST(${about ?? null} AS TEXT), s.project_id)
          JOIN project p ON p.id = m.project_id
          JOIN person o ON o.id = p.owner_id
        WHERE s.hash = ${hashSecret(secret)} AND s.expires_at > ${now} AND s.created_at > ${oldest(now)}`)
      return (
        row && {
          caller: callerOf(row),
          created_at: row.created_at,
          expires_at: row.expires_at,
          second_factor_required: row.second_factor_required === 1,
          lacks_second_factor: row.lacks_second_factor === 1,
        }
      )
    },

    /** Whether this session began with a password, and the person has no second factor. */
    async lacksSecondFactor(id: string): Promise<boolean> {
      const lacking = await db.rows(sql`
        SELECT s.id FROM sign_in s WHERE s.id = ${id} AND s.issuer IS NULL AND NOT EXISTS (
          SELECT 1 FROM second_factor f WHERE f.person_id = s.person_id AND f.confirmed_at IS NOT NULL)`)
      return lacking.length === 1
    },

    async renew(secret: string, expires_at: number): Promise<void> {
      await db.rows(sql`UPDATE sign_in SET expires_at = ${expires_at} WHERE hash = ${hashSecret(secret)}`)
    },

    async noteIssuer(id: string, issuer: string, sealed_id_token: Uint8Array | null): Promise<void> {
      await db.rows(sql`
        UPDATE sign_in SET issuer = ${issuer}, sealed_id_token = ${sealed_id_token} WHERE id = ${id}`)
    },

    /** False where the person is not a member of that project. */
    async lookAt(id: string, project_id: string): Promise<boolean> {
      const changed = await db.rows(sql`
        UPDATE sign_in SET project_id = ${project_id}
        WHERE id = ${id} AND person_id IN (SELECT person_id FROM membership WHERE project_id = ${project_id})
        RETURNING id`)
      return changed.length === 1
    },

    /** By which issuer it was begun, where it was. */
    async end(secret: string): Promise<ByIssuer | undefined> {
      const [ended] = await db.rows<ByIssuer & { issuer: string | null }>(sql`
        DELETE FROM sign_in WHERE hash = ${hashSecret(secret)} RETURNING issuer, sealed_id_token`)
      return ended && ended.issuer !== null ? ended : undefined
    },

    async endAll(person_id: string): Promise<void> {
      await db.rows(sql`DELETE FROM sign_in WHERE person_id = ${person_id}`)
    },

    async projectsOf(person_id: string): Promise<ProjectInView[]> {
      const rows = await db.rows<ProjectInView & { operator_id: string | null }>(sql`
        SELECT p.id, p.name, m.role, s.value AS operator_id
        FROM membership m JOIN project p ON p.id = m.project_id LEFT JOIN setting s ON s.name = 'operator_project'
        WHERE m.person_id = ${person_id} ORDER BY m.sequence`)
      return rows.map(({ operator_id, ...row }) => ({
        ...row,
        ...(operator_id === row.id && { is_operator: true as const }),
      }))
    },

    async describe({ person_id, project_id, expires_at }: Omit<SignIn, 'created_at'>): Promise<SignedIn> {
      const [person] = await db.rows<{ email: string; verified_at: string | null }>(sql`
        SELECT email, verified_at FROM person WHERE id = ${person_id}`)
      if (!person) throw new Error(`a session of ${person_id}, who does not exist`)
      const projects = await this.projectsOf(person_id)
      const project = projects.find(({ id }) => id === project_id)
      return {
        object: 'session',
        person: { id: person_id, email: person.email, email_verified: person.verified_at !== null },
        ...(project && { project }),
        projects,
        expires_at: rfc3339(expires_at),
      }
    },

    async firstProjectOf(person_id: string): Promise<string | null> {
      return firstProject(await this.projectsOf(person_id))?.id ?? null
    },

    async sweep(now: number): Promise<void> {
      await db.rows(sql`DELETE FROM sign_in WHERE expires_at <= ${now}`)
    },
  }
}

interface FoundCaller extends Pick<SignIn, 'created_at' | 'expires_at'> {
  caller: Caller
  /** By the project. */
  second_factor_required: boolean
  /** It began with a password, and the person has none. */
  lacks_second_factor: boolean
}

interface CallerRow {
  key_id: string
  person_id: string
  created_at: string
  expires_at: number
  project_id: string
  role: Role
  verified_at: string | null
  cap_micros: number | null
  operator_cap_micros: number | null
  overage_enabled: number
  suspended_at: string | null
  share: number
  routing_epoch: number
  memory_epoch: number
  records_since_ms: number | null
  second_factor_required: number
  lacks_second_factor: number
}

/** §4.4 is about keys: a session has no limit of its own, only the project's. */
function callerOf(row: CallerRow): Caller {
  const { key_id, person_id, project_id, role, verified_at, routing_epoch } = row
  return {
    key_id,
    person_id,
    project_id,
    scopes: scopesOf(role),
    owner_verified: verified_at !== null,
    budget_micros: undefined,
    project_cap_micros: hardCap(row),
    ...(countsOverage(row) && { counts_overage: true as const }),
    ...(row.suspended_at !== null && { is_suspended: true as const }),
    ...(row.share !== 1 && { share: row.share }),
    ...(row.memory_epoch > 0 && { memory_epoch: row.memory_epoch }),
    ...(row.records_since_ms !== null && { records: true as const }),
    routing_epoch,
  }
}
