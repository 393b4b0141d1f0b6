// What a sign-in through an issuer does, in one transaction: find or make the account, link the identity, give the
// roles that its claims give, begin a session, and put all of it on record (0340).
import { rfc3339 } from '../core/clock.ts'
import type { Sealing } from '../core/sealing.ts'
import type { Db } from '../storage/db.ts'
import { newProject, type Person, projectNameFor, type SignUpMode } from './account.ts'
import type { AccountNeeds } from './account-request-store.ts'
import { accountStore } from './account-store.ts'
import { newcomer, ownerOf } from './confirmation-store.ts'
import { type IdentityKey, identityStore } from './identity-store.ts'
import { type Identity, SignInRefusal } from './issuer.ts'
import { judgeIdentity, rolesOf, verifiedEmail } from './issuer-identity.ts'
import type { IssuerSettings, SignInSettings } from './sign-in-settings.ts'
import { signInStore } from './sign-in-store.ts'

const SUBJECT_MAX = 255 // OpenID Connect Core, section 2
const ID_TOKEN_MAX = 16 * 1024 // a longer one is no good in an address anyway

export interface Arrival extends Identity {
  issuer: IssuerSettings
  /** The session that the browser had. */
  before: string | undefined
  request_id: string
}

export interface ArrivalNeeds extends Pick<AccountNeeds, 'note'> {
  seals: Sealing
  sign_in: SignInSettings
  sign_up: SignUpMode
}

export const CALLBACK = 'GET /auth/oidc/{issuer_id}/callback'

export async function signInByIssuer(db: Db, arrival: Arrival, needs: ArrivalNeeds, now: number) {
  const { issuer, claims, before, request_id, id_token } = arrival
  const identity = { issuer: issuer.issuer, subject: subjectOf(claims.sub) }
  return db.transaction(async (tx) => {
    const person = await personOf(tx, { ...arrival, identity }, needs, now)
    const changes = await identityStore(tx).grant(person.id, identity.issuer, rolesOf(issuer, claims), now)
    const deed = { person_id: person.id, request_id }
    for (const { project_id, role } of changes)
      await needs.note(tx, { ...deed, action: `role by claims: ${role ?? 'none'}`, project_id }, now)
    await identityStore(tx).noteUse(identity, now)
    await needs.note(tx, { ...deed, action: CALLBACK }, now)
    const sessions = signInStore(tx, needs.sign_in.session)
    const begun = { person_id: person.id, project_id: await sessions.firstProjectOf(person.id) }
    const session = await sessions.beginInsteadOf(before, begun, now)
    const sealed = id_token.length > ID_TOKEN_MAX ? null : sealedToken(needs.seals, id_token, session.secret)
    await sessions.noteIssuer(session.sign_in.id, identity.issuer, sealed)
    return session
  })
}

function subjectOf(sub: string): string {
  if (sub === '' || sub.length > SUBJECT_MAX || !/^[ -~]+$/.test(sub)) throw new SignInRefusal('wrong_token')
  return sub
}

type Identified = Arrival & { identity: IdentityKey }

async function personOf(tx: Db, arrival: Identified, needs: ArrivalNeeds, now: number): Promise<Person> {
  const { issuer, claims, identity, request_id } = arrival
  const { sign_up, note } = needs
  const [identities, accounts] = [identityStore(tx), accountStore(tx)]
  const email = verifiedEmail(issuer, claims)
  const verdict = judgeIdentity(issuer, claims, {
    issuers: needs.sign_in.issuers,
    linked: await identities.personOf(identity),
    holder: email === undefined ? undefined : await accounts.findByEmail(email),
    is_invited: email !== undefined && (await identities.isInvited(email, now)),
    sign_up,
  })
  if (verdict.decision === 'refused') throw new SignInRefusal(verdict.problem)
  if (verdict.decision === 'known') return verdict.person
  const person = await (verdict.decision === 'link'
    ? ownerOf(tx, verdict.person, null, now)
    : newcomer(tx, verdict.email, null, now))
  if (person.verified_at === null) await accounts.verify(person.id, null, rfc3339(now))
  if (verdict.decision === 'new' && verdict.founds)
    await accounts.insertProject(newProject(projectNameFor(person.email), person, now), now)
  const target = await identities.link(identity, person.id, now)
  await note(tx, { person_id: person.id, action: 'link identity', target, request_id }, now)
  return person
}

const TOKEN_PLACE = 'id token'

const sealedToken = (seals: Sealing, id_token: string, secret: string) =>
  seals.seal(Buffer.from(id_token), secret, TOKEN_PLACE)

/** Undefined where it was sealed with another server secret. */
export function openedToken(seals: Sealing, sealed: Uint8Array | null, secret: string): string | undefined {
  try {
    return sealed ? seals.open(sealed, secret, TOKEN_PLACE).toString() : undefined
  } catch {
    return undefined
  }
}
