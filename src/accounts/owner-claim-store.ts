// What an owner link does when it is used, in one transaction: its project gets a person who can sign in (0160).
import { rfc3339 } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import type { Db } from '../storage/db.ts'
import type { SignInNeeds } from './account-request-store.ts'
import { accountStore } from './account-store.ts'
import { attemptStore, type Slot } from './attempt-store.ts'
import { newcomer, ownerOf, type Use } from './confirmation-store.ts'
import { deadOwnerLink } from './owner-link.ts'
import { ownerLinkStore } from './owner-link-store.ts'
import { wrongCredentials } from './sign-in.ts'
import { signInStore } from './sign-in-store.ts'
import { tokenStore } from './token-store.ts'

/** Who takes the project over. */
export type Claimant =
  | { kind: 'signed_in'; person_id: string }
  /** By a password that was found to be right; `slot` is given back then. */
  | { kind: 'known'; person_id: string; password_hash: string; slot: Slot | undefined }
  | { kind: 'new'; email: string; password_hash: string }

export interface Claim extends Use {
  claimant: Claimant
  /** The session that the browser had. */
  before: string | undefined
}

type Needs = Pick<SignInNeeds, 'note' | 'sign_in'>

/** Signed in at once, looking at the project. Whoever comes second is refused, and nothing of theirs is stored. */
export async function takeOver(db: Db, claim: Claim, { note, sign_in }: Needs, now: number) {
  const { secret, claimant, before, request_id } = claim
  return db.transaction(async (tx) => {
    const links = ownerLinkStore(tx)
    const project_id = await links.use(secret, now)
    if (project_id === undefined || (await links.ownersOf(project_id)).length > 0) throw deadOwnerLink()
    const person_id = await personOf(tx, claimant, now)
    await links.handOver(project_id, person_id, now)
    await note(tx, { person_id, action: 'POST /auth/become-owner', request_id }, now)
    return signInStore(tx, sign_in.session).beginInsteadOf(before, { person_id, project_id }, now)
  })
}

/** Who reads the operator's terminal vouches for the address: it is confirmed. */
async function personOf(tx: Db, claimant: Claimant, now: number): Promise<string> {
  if (claimant.kind === 'new') return newOwner(tx, claimant, now)
  const { person_id } = claimant
  const accounts = accountStore(tx)
  if (claimant.kind === 'known') {
    if (!(await accounts.holdPassword(person_id, claimant.password_hash))) throw wrongCredentials()
    if (claimant.slot) await attemptStore(tx).giveBack(claimant.slot)
  }
  if (await accounts.verify(person_id, null, rfc3339(now))) await tokenStore(tx).revoke('verification', person_id)
  return person_id
}

type Newcomer = Extract<Claimant, { kind: 'new' }>

async function newOwner(tx: Db, { email, password_hash }: Newcomer, now: number): Promise<string> {
  const known = await accountStore(tx).findByEmail(email)
  if (!known) return (await newcomer(tx, email, password_hash, now)).id
  if (known.verified_at && known.password_hash)
    throw new Refusal('unavailable', 'Somebody confirmed this address at the same moment. Try again.')
  const person = await ownerOf(tx, known, password_hash, now)
  if (person === known) await accountStore(tx).setPassword(known.id, password_hash, rfc3339(now))
  await tokenStore(tx).revokeAll(known.id)
  return person.id
}
