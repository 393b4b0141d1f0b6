// Links in mails, at rest: by their hash, used once, then gone.
import { type Db, sql } from '../storage/db.ts'
import { hashSecret, newSecret, TOKEN_LIFE_MS, type TokenKind } from './secret-token.ts'

interface Row {
  person_id: string
  /** Of a sign-up: what it asked for. */
  password_hash: string | null
  project_name: string | null
  /** Of the browser that signed up. */
  browser_hash: string | null
}

const NOTHING_ASKED = { password_hash: null, project_name: null, browser_hash: null }

/** Of a link that says no more than whose it is. */
export const linkOf = (person_id: string): Row => ({ person_id, ...NOTHING_ASKED })

export function tokenStore(db: Db) {
  return {
    /** The secret of a new link: known here, once. */
    async issue(kind: TokenKind, asked: Row, now: number): Promise<string> {
      const { person_id, password_hash, project_name, browser_hash } = asked
      const secret = newSecret()
      await db.rows(sql`
        INSERT INTO mail_token (hash, kind, person_id, password_hash, project_name, browser_hash, expires_at)
        VALUES (${hashSecret(secret)}, ${kind}, ${person_id}, ${password_hash}, ${project_name}, ${browser_hash},
                ${now + TOKEN_LIFE_MS[kind]})`)
      return secret
    },

    /** Whether it would work now: asked before something costly is done for it. */
    async isGood(kind: TokenKind, secret: string, now: number): Promise<boolean> {
      const found = await db.rows(sql`
        SELECT hash FROM mail_token
        WHERE hash = ${hashSecret(secret)} AND kind = ${kind} AND expires_at > ${now}`)
      return found.length === 1
    },

    /** Of any number that use a link at once, exactly one does. */
    async use(kind: TokenKind, secret: string, now: number): Promise<Row | undefined> {
      const [used] = await db.rows<Row>(sql`
        DELETE FROM mail_token
        WHERE hash = ${hashSecret(secret)} AND kind = ${kind} AND expires_at > ${now}
        RETURNING person_id, password_hash, project_name, browser_hash`)
      return used
    },

    async revoke(kind: TokenKind, person_id: string): Promise<void> {
      await db.rows(sql`DELETE FROM mail_token WHERE person_id = ${person_id} AND kind = ${kind}`)
    },

    /** Everything that was mailed before is void. */
    async revokeAll(person_id: string): Promise<void> {
      await db.rows(sql`DELETE FROM mail_token WHERE person_id = ${person_id}`)
    },

    async sweep(now: number): Promise<void> {
      await db.rows(sql`DELETE FROM mail_token WHERE expires_at <= ${now}`)
    },
  }
}
