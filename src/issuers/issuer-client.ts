// Identity providers by OpenID Connect, with the library `openid-client`: discovery, the code flow with PKCE, user
// info, sign-out. Discovery is asked for when somebody signs in, not at the start, and remembered for an hour.
import * as oidc from 'openid-client'
import { type Claims, type IssuerClient, type SignInProblem, SignInRefusal } from '../accounts/issuer.ts'
import { tellsEnough } from '../accounts/issuer-identity.ts'
import type { IssuerSettings } from '../accounts/sign-in-settings.ts'
import { type Clock, HOUR_MS, MINUTE_MS, SECOND_MS, systemClock } from '../core/clock.ts'
import { issuerFetch, type WireNeeds } from './issuer-fetch.ts'

const FRESH_MS = HOUR_MS
const FAILED_FOR_MS = 5 * SECOND_MS // so that many who come at once do not all wait for an issuer that is away
const STALE_MS = 24 * HOUR_MS // what is known is better than nothing while an issuer is away
const ASKED_WITHIN_S = 10

interface Discovered {
  /** As the settings were: others are discovered anew. */
  settings: string
  at: number
  config: Promise<oidc.Configuration>
  before: { at: number; config: oidc.Configuration } | undefined
  failed_at: number | undefined
}

export interface IssuerNeeds extends WireNeeds {
  clock: Clock
}

export function issuerClient(needs: IssuerNeeds): IssuerClient {
  const discoveries = new Map<string, Discovered>()

  async function configOf(issuer: IssuerSettings): Promise<oidc.Configuration> {
    const now = needs.clock.now()
    const settings = JSON.stringify(issuer)
    const known = discoveries.get(issuer.id)
    const is_same = known?.settings === settings
    if (is_same && isGood(known, now)) return orBefore(known, now)
    const before = is_same ? await keptOf(known) : undefined
    const made: Discovered = { settings, at: now, config: discover(issuer, needs), before, failed_at: undefined }
    made.config.catch(() => {
      made.failed_at = needs.clock.now()
    })
    discoveries.set(issuer.id, made)
    return orBefore(made, now)
  }

  return {
    authorizationUrl: async (issuer, redirect_uri, { state, nonce, verifier }) => {
      const config = await configOf(issuer)
      const code_challenge = await oidc.calculatePKCECodeChallenge(verifier)
      const asked = { redirect_uri, scope: issuer.scopes.join(' '), state, nonce, code_challenge }
      return oidc.buildAuthorizationUrl(config, { ...asked, code_challenge_method: 'S256' }).href
    },

    async identityOf(issuer, came_back_to, { state, nonce, verifier }) {
      const config = await configOf(issuer)
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
      try {
        const tokens = await oidc.authorizationCodeGrant(config, came_back_to, checks)
        const claims = tokens.claims()
        if (!claims || tokens.id_token === undefined) throw new SignInRefusal('wrong_token')
        return { claims: await withUserInfo(issuer, config, claims, tokens.access_token), id_token: tokens.id_token }
      } catch (error) {
        throw refusalOf(error)
      }
    },

    async signOutUrl(issuer, id_token, back_to) {
      const config = await configOf(issuer)
      if (config.serverMetadata().end_session_endpoint === undefined) return undefined
      const hint = id_token === undefined ? {} : { id_token_hint: id_token }
      return oidc.buildEndSessionUrl(config, { post_logout_redirect_uri: back_to, ...hint }).href
    },
  }
}

const isGood = ({ at, failed_at }: Discovered, now: number) =>
  failed_at === undefined ? now - at < FRESH_MS : now - failed_at < FAILED_FOR_MS

async function orBefore({ config, before }: Discovered, now: number): Promise<oidc.Configuration> {
  try {
    return await config
  } catch (error) {
    if (before && now - before.at < STALE_MS) return before.config
    throw error
  }
}

/** What was discovered last and worked. */
async function keptOf({ at, config, before }: Discovered): Promise<Discovered['before']> {
  return config.then(
    (good) => ({ at, config: good }),
    () => before,
  )
}

async function discover(issuer: IssuerSettings, needs: IssuerNeeds): Promise<oidc.Configuration> {
  const { issuer: address, client_id, client_secret } = issuer
  const skew_s = Math.round((needs.clock.now() - systemClock.now()) / SECOND_MS)
  const is_plain = address.startsWith('http:')
  try {
    const found = await oidc.discovery(new URL(address), client_id, undefined, oidc.None(), {
      [oidc.customFetch]: issuerFetch(address, needs),
      timeout: ASKED_WITHIN_S,
      execute: is_plain ? [oidc.allowInsecureRequests] : [],
    })
    const server = found.serverMetadata()
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server
    const metadata = { [oidc.clockSkew]: skew_s, [oidc.clockTolerance]: MINUTE_MS / SECOND_MS }
    const config = new oidc.Configuration(server, client_id, metadata, proofBy(client_secret, methods))
    config[oidc.customFetch] = issuerFetch(address, needs)
    config.timeout = ASKED_WITHIN_S
    if (is_plain) oidc.allowInsecureRequests(config)
    oidc.enableNonRepudiationChecks(config) // signatures are checked, also where TLS ends at a proxy of the operator's
    return config
  } catch (cause) {
    throw new SignInRefusal('issuer_away', cause)
  }
}

function proofBy(client_secret: string | undefined, methods: readonly string[]): oidc.ClientAuth {
  if (client_secret === undefined) return oidc.None()
  return methods.includes('client_secret_basic')
    ? oidc.ClientSecretBasic(client_secret)
    : oidc.ClientSecretPost(client_secret)
}

/** Some issuers put no more into an ID token than who it is; the rest they tell whoever asks. */
async function withUserInfo(
  issuer: IssuerSettings,
  config: oidc.Configuration,
  claims: oidc.IDToken,
  access_token: string,
): Promise<Claims> {
  if (tellsEnough(issuer, claims) || config.serverMetadata().userinfo_endpoint === undefined) return claims
  return { ...(await oidc.fetchUserInfo(config, access_token, claims.sub)), ...claims }
}

const OPERATORS_TROUBLE = ['invalid_client', 'unauthorized_client', 'invalid_scope', 'unsupported_grant_type']

/** Which of our words for what the library says. What it was stays in the cause, for the log. */
function refusalOf(error: unknown): SignInRefusal {
  const as = (problem: SignInProblem) => new SignInRefusal(problem, error)
  if (error instanceof SignInRefusal) return error
  if (error instanceof oidc.AuthorizationResponseError)
    return as(OPERATORS_TROUBLE.includes(error.error) ? 'issuer_set_up' : 'denied')
  if (error instanceof oidc.ResponseBodyError)
    return as(error.error === 'invalid_grant' ? 'dead_code' : 'issuer_set_up')
  if (error instanceof oidc.WWWAuthenticateChallengeError) return as('issuer_set_up')
  const { code, cause } = error as { code?: string; cause?: { cause?: { claim?: string } } }
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED') return as('expired_token')
  if (code === 'OAUTH_JWT_CLAIM_COMPARISON_FAILED')
    return as(cause?.cause?.claim === 'nonce' ? 'wrong_nonce' : 'wrong_token')
  return as(code === undefined || AWAY.includes(code) ? 'issuer_away' : 'wrong_token')
}

/** No answer came, or none that an issuer gives. */
const AWAY = ['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON']
