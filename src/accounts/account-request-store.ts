// T-100: sign-ups and resets are written down and answered at once; what becomes of them is decided afterwards, here.
// So nothing on the way to the answer, not even its time, depends on whether an address is known.
import { HOUR_MS } from '../core/clock.ts'
import { nextSequence, randomBase62 } from '../core/ids.ts'
import type { Refusal } from '../core/refusal.ts'
import { type Db, sql } from '../storage/db.ts'
import { newPerson, newProject, projectNameFor } from './account.ts'
import { accountStore } from './account-store.ts'
import { attemptStore } from './attempt-store.ts'
import { MAILS_TO_ONE } from './attempts.ts'
import { knownAddressLetter, type Letter, linkTo, resetLetter, verificationLetter } from './letters.ts'
import { TOKEN_LIFE_MS } from './secret-token.ts'
import type { SignInSettings } from './sign-in-settings.ts'
import { linkOf, tokenStore } from './token-store.ts'

/** Puts a letter into the outbox, within the transaction of what it tells of. */
export type PostLetter = (tx: Db, letter: Letter, now: number) => Promise<void>

/** Notes in the log of each of the person's projects what they did, within the transaction of what it was. */
export type NoteDeed = (tx: Db, deed: Deed, now: number) => Promise<void>

export interface Deed {
  person_id: string
  action: string
  request_id: string
  /** What it was done to, where that is not the person. */
  target?: string
  /** Where it concerns one project alone. */
  project_id?: string
}

export interface AccountNeeds {
  post: PostLetter
  note: NoteDeed
  publicUrl(): string
}

/** What whoever begins sessions or sets passwords needs beside. */
export interface SignInNeeds extends AccountNeeds {
  sign_in: SignInSettings
  /** 0340: whose domain has an issuer of its own uses no password. */
  passwordRefused(email: string): Refusal | undefined
}

export interface NewAccountRequest {
  kind: 'sign_up' | 'reset'
  email: string
  password_hash?: string
  project_name?: string
  /** Of the browser that asks. */
  browser_hash?: string
  request_id: string
}

interface AccountRequest {
  kind: NewAccountRequest['kind']
  email: string
  password_hash: string | null
  project_name: string | null
  browser_hash: string | null
  request_id: string
}

const LIFE_MS = 24 * HOUR_MS
const AT_ONCE = 100 // bounds one round

export type AccountRequestStore = ReturnType<typeof accountRequestStore>

export function accountRequestStore(db: Db, needs: AccountNeeds) {
  /** Exactly once, whoever gets there first. */
  async function resolve(id: string, now: number): Promise<void> {
    await db.transaction(async (tx) => {
      const [request] = await tx.rows<AccountRequest>(sql`
        DELETE FROM account_request WHERE id = ${id}
        RETURNING kind, email, password_hash, project_name, browser_hash, request_id`)
      if (!request) return
      if (!(await attemptStore(tx).take(MAILS_TO_ONE[request.kind], request.email, now))) return
      const letter = await (request.kind === 'sign_up' ? signUp : reset)(tx, request, needs, now)
      if (letter) await needs.post(tx, letter, now)
    })
  }

  return {
    async insert(asked: NewAccountRequest, now: number) {
      const { kind, email, password_hash = null, project_name = null, browser_hash = null, request_id } = asked
      await db.rows(sql`
        INSERT INTO account_request (id, kind, email, password_hash, project_name, browser_hash, request_id, sequence,
                                     tried_at, expires_at)
        VALUES (${randomBase62(20)}, ${kind}, ${email}, ${password_hash}, ${project_name}, ${browser_hash},
                ${request_id}, ${nextSequence(now)}, 0, ${now + LIFE_MS})`)
    },

    /** One that fails is tried again next time, and keeps nobody else waiting. */
    async resolveAll(now: number): Promise<void> {
      const waiting = await db.rows<{ id: string }>(sql`
        SELECT id FROM account_request WHERE tried_at < ${now} ORDER BY tried_at, sequence LIMIT ${AT_ONCE}`)
      const failures: unknown[] = []
      for (const { id } of waiting)
        await resolve(id, now).catch(async (error) => {
          failures.push(error)
          await db.rows(sql`UPDATE account_request SET tried_at = ${now} WHERE id = ${id}`)
        })
      if (failures.length > 0) throw failures[0]
    },

    /** Who just signed up can log in at once. */
    async resolveSignUps(email: string, now: number): Promise<void> {
      const waiting = await db.rows<{ id: string }>(sql`
        SELECT id FROM account_request WHERE email = ${email} AND kind = 'sign_up' ORDER BY sequence`)
      for (const { id } of waiting) await resolve(id, now)
    },

    async sweep(now: number): Promise<void> {
      await db.rows(sql`DELETE FROM account_request WHERE expires_at <= ${now}`)
    },
  }
}

async function signUp(tx: Db, request: AccountRequest, needs: AccountNeeds, now: number): Promise<Letter> {
  const { email, password_hash, project_name, browser_hash, request_id } = request
  const accounts = accountStore(tx)
  const newcomer = newPerson(email, false, now)
  if (await accounts.insertPerson(newcomer, password_hash)) {
    await accounts.insertProject(newProject(project_name ?? projectNameFor(email), newcomer, now), now)
    await needs.note(tx, { person_id: newcomer.id, action: 'POST /auth/signup', request_id }, now)
  }
  const person = await accounts.findByEmail(email)
  if (!person) throw new Error(`nobody has the address that was just written down for ${request_id}`)
  if (person.verified_at !== null) return knownAddressLetter(email, now)
  // Several may sign up with an address before its owner confirms one of them: what counts is what that one asked for.
  const asked = { person_id: person.id, password_hash, project_name, browser_hash }
  const secret = await tokenStore(tx).issue('verification', asked, now)
  return verificationLetter({
    to: email,
    link: linkTo(needs.publicUrl(), 'verify-email', secret),
    good_until_ms: now + TOKEN_LIFE_MS.verification,
  })
}

/** An address that nobody has gets no letter: it would be unasked for. */
async function reset(tx: Db, { email }: AccountRequest, needs: AccountNeeds, now: number): Promise<Letter | undefined> {
  const person = await accountStore(tx).findByEmail(email)
  if (!person) return undefined
  const tokens = tokenStore(tx)
  await tokens.revoke('reset', person.id)
  const secret = await tokens.issue('reset', linkOf(person.id), now)
  return resetLetter({
    to: email,
    link: linkTo(needs.publicUrl(), 'password-reset', secret),
    good_until_ms: now + TOKEN_LIFE_MS.reset,
  })
}
