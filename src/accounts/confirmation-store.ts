// What a link does when it is used, each in one transaction: confirm an address, set a password, join a project.
import { rfc3339 } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import type { Db } from '../storage/db.ts'
import { newPerson, newProject, type Person, projectNameFor } from './account.ts'
import type { SignInNeeds } from './account-request-store.ts'
import { accountStore, type PersonWithPassword } from './account-store.ts'
import { changedPasswordLetter } from './letters.ts'
import { type Invitation, memberStore } from './member-store.ts'
import { deadLink, hashSecret } from './secret-token.ts'
import { signInStore } from './sign-in-store.ts'
import { tokenStore } from './token-store.ts'
import { isUnverifiedClaim, takeAddressFrom } from './unconfirmed-store.ts'

/** A link as it was used, and in which request. */
export interface Use {
  secret: string
  request_id: string
}

/** What the browser that uses a link already had. */
export interface FromBrowser {
  /** From its sign-up. */
  sign_up: string | undefined
  /** Its session. */
  before: string | undefined
}

export function confirmationStore(db: Db, { post, note, sign_in, passwordRefused }: SignInNeeds) {
  return {
    /**
     * By the link of one sign-up: an account that another one opened stays with that one, without the address. Where
     * the browser is the one that signed up, it is signed in (0161): elsewhere the link alone shows no password.
     */
    async confirmAddress({ secret, request_id }: Use, { sign_up, before }: FromBrowser, now: number) {
      return db.transaction(async (tx) => {
        const used = await tokenStore(tx).use('verification', secret, now)
        if (!used) throw deadLink()
        const { password_hash, project_name } = used
        const known = await theirs(tx, used.person_id)
        const person = password_hash === known.password_hash ? known : await ownerOf(tx, known, password_hash, now)
        if (person === known) await accountStore(tx).verify(known.id, password_hash, rfc3339(now))
        else await foundFor(tx, person, project_name, now)
        await tokenStore(tx).revoke('verification', known.id)
        await note(tx, { person_id: person.id, action: 'POST /auth/verify-email', request_id }, now)
        const { id: person_id, email } = person
        if (sign_up === undefined || hashSecret(sign_up) !== used.browser_hash || passwordRefused(email))
          return { email }
        const sessions = signInStore(tx, sign_in.session)
        const project_id = await sessions.firstProjectOf(person_id)
        return { email, begun: await sessions.beginInsteadOf(before, { person_id, project_id }, now) }
      })
    },

    /** Ends every session, and every other link that was mailed before. */
    async setPassword({ secret, request_id }: Use, password_hash: string, now: number): Promise<Person> {
      return db.transaction(async (tx) => {
        const used = await tokenStore(tx).use('reset', secret, now)
        if (!used) throw deadLink()
        const known = await theirs(tx, used.person_id)
        const refused = passwordRefused(known.email)
        if (refused) throw refused
        const person = await ownerOf(tx, known, password_hash, now)
        if (person !== known) await foundFor(tx, person, null, now)
        await accountStore(tx).setPassword(person.id, password_hash, rfc3339(now))
        await signInStore(tx).endAll(person.id)
        await tokenStore(tx).revokeAll(person.id)
        await post(tx, changedPasswordLetter(person.email, now), now)
        await note(tx, { person_id: person.id, action: 'POST /auth/password-reset/confirm', request_id }, now)
        return person
      })
    },

    /** Whoever holds the link has the mailbox: the address is confirmed as well. */
    async join(
      { secret, request_id }: Use,
      password_hash: string | null | undefined,
      now: number,
    ): Promise<Invitation> {
      return db.transaction(async (tx) => {
        const invitation = await memberStore(tx).useInvitation(secret, now)
        if (!invitation) throw deadLink()
        const person = await invited(tx, invitation.email, password_hash, now)
        await memberStore(tx).join(invitation, person.id, now)
        await note(tx, { person_id: person.id, action: 'POST /auth/accept-invitation', request_id }, now)
        return invitation
      })
    },
  }
}

async function theirs(tx: Db, person_id: string) {
  const person = await accountStore(tx).findPerson(person_id)
  if (!person) throw new Error(`a link of ${person_id}, who does not exist`)
  return person
}

/** Who has the mailbox, as it turns out now: whoever has the account or, where that may be a stranger, a new person. */
export async function ownerOf(
  tx: Db,
  known: PersonWithPassword,
  password_hash: string | null,
  now: number,
): Promise<Person> {
  if (!isUnverifiedClaim(known)) return known
  await takeAddressFrom(tx, known)
  return newcomer(tx, known.email, password_hash, now)
}

export async function newcomer(tx: Db, email: string, password_hash: string | null, now: number): Promise<Person> {
  const person = newPerson(email, true, now)
  if (await accountStore(tx).insertPerson(person, password_hash)) return person
  throw new Refusal('unavailable', 'Somebody signed up with this address at the same moment. Try again.')
}

const foundFor = (tx: Db, person: Person, name: string | null, now: number) =>
  accountStore(tx).insertProject(newProject(name ?? projectNameFor(person.email), person, now), now)

/** A confirmed account stays as it is. Any other gets the password of now, or none where an issuer takes its place. */
async function invited(tx: Db, email: string, password_hash: string | null | undefined, now: number): Promise<Person> {
  const accounts = accountStore(tx)
  const known = await accounts.findByEmail(email)
  if (known?.verified_at) return known
  if (password_hash === undefined) throw needsPassword()
  if (!known) return newcomer(tx, email, password_hash, now)
  const person = await ownerOf(tx, known, password_hash, now)
  if (person === known) await accounts.verify(known.id, password_hash, rfc3339(now))
  await tokenStore(tx).revokeAll(known.id)
  return person
}

export const needsPassword = () =>
  new Refusal('invalid_request', "'password' is required: this address has no confirmed account yet.")
