// An identity provider as accounts see it: what is asked of it, and every way a sign-in through it may fail (0340).
import { Refusal, type RefusalName } from '../core/refusal.ts'
import type { IssuerSettings } from './sign-in-settings.ts'

/** What an issuer says of somebody. */
export type Claims = Readonly<Record<string, unknown>> & { sub: string }

/** What ties the answer of an issuer to the browser that asked. */
export interface Proofs {
  state: string
  nonce: string
  verifier: string
}

/** THE PORT to identity providers. Whatever fails is a SignInRefusal. */
export interface IssuerClient {
  /** Where the browser is sent. */
  authorizationUrl(issuer: IssuerSettings, redirect_uri: string, proofs: Proofs): Promise<string>
  /** Who came back. The address is the redirect address with what the issuer put behind it. */
  identityOf(issuer: IssuerSettings, came_back_to: URL, proofs: Proofs): Promise<Identity>
  /** Where the browser is sent to sign out there as well; undefined where the issuer has no such place. */
  signOutUrl(issuer: IssuerSettings, id_token: string | undefined, back_to: string): Promise<string | undefined>
}

export interface Identity {
  claims: Claims
  id_token: string
}

/** What the page says in its own words, by these names. */
const PROBLEMS = {
  unknown_issuer: ['not_found', 'There is no such identity provider here.'],
  issuer_away: ['unavailable', 'The identity provider cannot be reached. Try again in a moment.'],
  issuer_set_up: ['unavailable', 'The identity provider does not know this server as it is set up. Ask the operator.'],
  no_state: [
    'invalid_credentials',
    'This sign-in was not begun in this browser, was finished before, or took longer than 10 minutes. Begin again.',
  ],
  denied: ['invalid_credentials', 'The identity provider did not sign you in.'],
  dead_code: ['invalid_credentials', 'The code of this sign-in was used before or has lapsed. Begin again.'],
  expired_token: ['invalid_credentials', 'The ID token of the identity provider has expired.'],
  wrong_nonce: ['invalid_credentials', 'The ID token is of another sign-in than this one.'],
  wrong_token: ['invalid_credentials', 'The ID token of the identity provider is not good for this server.'],
  unverified_email: [
    'insufficient_scope',
    'The identity provider does not say that your e-mail address is verified, which a first sign-in needs.',
  ],
  other_issuer: ['insufficient_scope', 'People of your mail domain sign in with another identity provider here.'],
  address_taken: [
    'insufficient_scope',
    'There is an account with your e-mail address, and this identity provider is not trusted for its domain. ' +
      'Sign in to it as before.',
  ],
  no_account: [
    'insufficient_scope',
    'You have no account here, and nothing that your identity provider says gives you one. Ask for an invitation.',
  ],
} as const satisfies Record<string, readonly [RefusalName, string]>

export type SignInProblem = keyof typeof PROBLEMS

export class SignInRefusal extends Refusal {
  readonly problem: SignInProblem

  constructor(problem: SignInProblem, cause?: unknown) {
    const [kind, message] = PROBLEMS[problem]
    super(kind, message, { cause })
    this.problem = problem
  }
}

/** It is the issuer's or the operator's trouble, or somebody who is whom they say: none that counts as an attempt. */
export const isAttempt = (error: unknown) =>
  error instanceof SignInRefusal &&
  ['denied', 'dead_code', 'expired_token', 'wrong_nonce', 'wrong_token'].includes(error.problem)

/** The same for everybody of the domain, whoever has an account. */
export const passwordsClosed = ({ name }: Pick<IssuerSettings, 'name'>) =>
  new Refusal('insufficient_scope', `People of this mail domain sign in with ${name}, without a password.`)
