// What a link does when it is used, each in one transaction: confirm an address, set a password, join a project.
import { rfc3339 } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import type { Db } from '../storage/db.ts'
import { newPerson, type Person } from './account.ts'
import type { AccountNeeds } from './account-request-store.ts'
import { accountStore } from './account-store.ts'
import { changedPasswordLetter } from './letters.ts'
import { type Invitation, memberStore } from './member-store.ts'
import { deadLink } from './secret-token.ts'
import { signInStore } from './sign-in-store.ts'
import { tokenStore } from './token-store.ts'

/** A link as it was used, and in which request. */
export interface Use {
  secret: string
  request_id: string
}

export type ConfirmationStore = ReturnType<typeof confirmationStore>

export function confirmationStore(db: Db, { post, note }: AccountNeeds) {
  return {
    /** Sessions that began under another password than the one that is confirmed now end. */
    async confirmAddress({ secret, request_id }: Use, now: number): Promise<Person> {
      return db.transaction(async (tx) => {
        const used = await tokenStore(tx).use('verification', secret, now)
        if (!used) throw deadLink()
        const before = await theirs(tx, used.person_id)
        const first = await accountStore(tx).verify(before.id, used.password_hash, rfc3339(now))
        if (first && before.password_hash !== used.password_hash) await signInStore(tx).endAll(before.id)
        await tokenStore(tx).revoke('verification', before.id)
        await note(tx, { person_id: before.id, action: 'POST /auth/verify-email', request_id }, now)
        return before
      })
    },

    /** Ends every session, and every other link that was mailed before. */
    async setPassword({ secret, request_id }: Use, password_hash: string, now: number): Promise<Person> {
      return db.transaction(async (tx) => {
        const used = await tokenStore(tx).use('reset', secret, now)
        if (!used) throw deadLink()
        const person = await theirs(tx, used.person_id)
        await accountStore(tx).setPassword(person.id, password_hash, rfc3339(now))
        await signInStore(tx).endAll(person.id)
        await tokenStore(tx).revokeAll(person.id)
        await post(tx, changedPasswordLetter(person.email, now), now)
        await note(tx, { person_id: person.id, action: 'POST /auth/password-reset/confirm', request_id }, now)
        return person
      })
    },

    /** Whoever holds the link has the mailbox: the address is confirmed as well. */
    async join({ secret, request_id }: Use, password_hash: string | undefined, now: number): Promise<Invitation> {
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

/** A confirmed account stays as it is. Any other may have been opened by somebody else: it gets the password of now. */
async function invited(tx: Db, email: string, password_hash: string | undefined, now: number): Promise<Person> {
  const accounts = accountStore(tx)
  const known = await accounts.findByEmail(email)
  if (known?.verified_at) return known
  if (password_hash === undefined) throw needsPassword()
  if (!known) {
    const newcomer = newPerson(email, true, now)
    if (await accounts.insertPerson(newcomer, password_hash)) return newcomer
    throw new Refusal('unavailable', 'Somebody signed up with this address at the same moment. Try again.')
  }
  await accounts.verify(known.id, password_hash, rfc3339(now))
  await signInStore(tx).endAll(known.id)
  await tokenStore(tx).revokeAll(known.id)
  return known
}

export const needsPassword = () =>
  new Refusal('invalid_request', "'password' is required: this address has no confirmed account yet.")
