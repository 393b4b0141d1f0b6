// Whose account an identity opens: by who it is at its issuer, and by its address only where that is verified and the
// issuer is trusted for its domain (0340). And which roles its claims give.
import { emailAddress, type SignUpMode } from './account.ts'
import type { PersonWithPassword } from './account-store.ts'
import type { Claims, SignInProblem } from './issuer.ts'
import { ROLES, type Role } from './roles.ts'
import { boundTo, type IssuerSettings } from './sign-in-settings.ts'

export interface Known {
  issuers: readonly IssuerSettings[]
  /** Who signed in by this identity before. */
  linked: PersonWithPassword | undefined
  /** Who has the address, where it is verified. */
  holder: PersonWithPassword | undefined
  is_invited: boolean
  sign_up: SignUpMode
}

export type Verdict =
  | { decision: 'known'; person: PersonWithPassword }
  | { decision: 'link'; person: PersonWithPassword }
  /** `founds`: with a project of their own, as who signs up. */
  | { decision: 'new'; email: string; founds: boolean }
  | { decision: 'refused'; problem: SignInProblem }

export function judgeIdentity(issuer: IssuerSettings, claims: Claims, known: Known): Verdict {
  const { issuers, linked, holder, is_invited, sign_up } = known
  const refused = (problem: SignInProblem): Verdict => ({ decision: 'refused', problem })
  const isOthers = (address: string) => ![undefined, issuer.id].includes(boundTo(issuers, address)?.id)
  if (linked) return isOthers(linked.email) ? refused('other_issuer') : { decision: 'known', person: linked }
  const email = verifiedEmail(issuer, claims)
  if (email === undefined) return refused('unverified_email')
  if (isOthers(email)) return refused('other_issuer')
  if (holder)
    return boundTo(issuers, email)?.id === issuer.id ? { decision: 'link', person: holder } : refused('address_taken')
  const is_granted = rolesOf(issuer, claims).size > 0
  if (!is_granted && !is_invited && sign_up !== 'open') return refused('no_account')
  return { decision: 'new', email, founds: !is_granted && !is_invited }
}

/** As the issuer tells it, where it says that it has seen to it. */
export function verifiedEmail({ email_verified_claim }: IssuerSettings, claims: Claims): string | undefined {
  const { email } = claims
  // A boolean by the standard; some issuers send it as text or as a number.
  if (typeof email !== 'string' || ![true, 'true', 1, '1'].includes(claims[email_verified_claim] as true))
    return undefined
  try {
    return emailAddress(email)
  } catch {
    return undefined
  }
}

/** By project, the highest that the claims give. The default counts where nothing else gives one. */
export function rolesOf({ roles, default_role }: IssuerSettings, claims: Claims): Map<string, Role> {
  const given = new Map<string, Role>()
  for (const { claim, value, project, role } of roles) {
    const before = given.get(project)
    if (hasValue(claimNamed(claims, claim), value) && (!before || ROLES.indexOf(role) < ROLES.indexOf(before)))
      given.set(project, role)
  }
  return given.size === 0 && default_role ? new Map([[default_role.project, default_role.role]]) : given
}

/** Whether all that the roles and the address need is there; else the issuer is asked for more. */
export const tellsEnough = (issuer: IssuerSettings, claims: Claims): boolean =>
  ['email', issuer.email_verified_claim, ...issuer.roles.map(({ claim }) => claim)].every(
    (name) => claimNamed(claims, name) !== undefined,
  )

/** By its name; where there is none of that name, as a path: `realm_access.roles`. */
function claimNamed(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value
}

function hasValue(claim: unknown, value: string): boolean {
  if (Array.isArray(claim)) return claim.some((one) => hasValue(one, value))
  return ['string', 'number', 'boolean'].includes(typeof claim) && String(claim) === value
}
