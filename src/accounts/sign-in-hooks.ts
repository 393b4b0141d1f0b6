// §5, T-102: a browser's cookie as a second way to become a caller.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import type { Sealing } from '../core/sealing.ts'
import type { Db } from '../storage/db.ts'
import type { SignUpMode } from './account.ts'
import type { AccountRequestStore, SignInNeeds } from './account-request-store.ts'
import { isOfThisMachine, mustBeOurs, mustNotBeAnothers, type Told } from './cross-site.ts'
import type { IssuerClient } from './issuer.ts'
import { SIGN_IN_WITHIN_MS } from './issuer-state.ts'
import type { Passwords } from './password.ts'
import { secondFactorMissing } from './second-factor.ts'
import { newSecret, TOKEN_LIFE_MS } from './secret-token.ts'
import { clearCookie, ISSUER_COOKIE, readCookie, SIGN_UP_COOKIE, setCookie } from './session-cookie.ts'
import { endOf, isDueForRenewal } from './sign-in.ts'
import type { SignInSettings } from './sign-in-settings.ts'
import { type SignIn, signInStore } from './sign-in-store.ts'

const PROJECT_HEADER = 'switchyard-project'

interface Needs {
  db: Db
  clock: Clock
  public_url?: string | undefined
  local_only?: boolean | undefined
  sign_in: SignInSettings
}

export type SignIns = ReturnType<typeof signIns>

/** What the routes of accounts are given. */
export interface AuthNeeds extends SignInNeeds {
  db: Db
  clock: Clock
  passwords: Passwords
  requests: AccountRequestStore
  signIns: SignIns
  sign_up: SignUpMode
  seals: Sealing
  issuerClient: IssuerClient
  /** T-71: whom an attempt is counted against. */
  addressOf(request: FastifyRequest): string
}

export function signIns({ db, clock, public_url, local_only = false, sign_in }: Needs) {
  const store = () => signInStore(db, sign_in.session)
  const public_hosts = public_url ? [new URL(public_url).host] : []

  /** What a proxy says about TLS is only believed of those that the operator listed. */
  const isSecure = ({ protocol }: FastifyRequest) => protocol === 'https' || (public_url?.startsWith('https:') ?? false)

  function told({ method, host, headers }: FastifyRequest): Told {
    const { origin, 'sec-fetch-site': site } = headers
    const sec_fetch_site = Array.isArray(site) ? site.join() : site
    const own = local_only && !isOfThisMachine(host) ? [] : [host.toLowerCase()]
    return { method, hosts: [...own, ...public_hosts], origin, sec_fetch_site }
  }

  const cookieOf = (request: FastifyRequest) => readCookie(request.headers.cookie, isSecure(request))

  /** What the cookie holds. Nothing is changed with its authority unless our own page asked. */
  function secretOf(request: FastifyRequest): string | undefined {
    const secret = cookieOf(request)
    if (secret !== undefined) mustBeOurs(told(request))
    return secret
  }

  const hand = (request: FastifyRequest, reply: FastifyReply, { secret, sign_in: { expires_at } }: Handed) =>
    reply.header('set-cookie', setCookie(secret, expires_at - clock.now(), isSecure(request)))

  async function prolong(request: FastifyRequest, reply: FastifyReply, secret: string, found: Lasting) {
    const expires_at = endOf(sign_in.session, Date.parse(found.created_at), clock.now())
    if (!isDueForRenewal(sign_in.session, found.expires_at, expires_at)) return
    await store().renew(secret, expires_at)
    hand(request, reply, { secret, sign_in: { expires_at } })
  }

  /** 0356: a page says which of the person's projects it is about. Without it, the one that was chosen last. */
  const aboutOf = ({ headers }: FastifyRequest) => headers[PROJECT_HEADER]?.toString()

  return {
    cookieOf,
    secretOf,

    /** What tells the browser that signed up from any other that opens its link. */
    signUpCookieOf: (request: FastifyRequest) => readCookie(request.headers.cookie, isSecure(request), SIGN_UP_COOKIE),

    /** Always a new one: what a browser sends was perhaps put there by somebody else. */
    handSignUp(request: FastifyRequest, reply: FastifyReply): string {
      const secret = newSecret()
      reply.header('set-cookie', setCookie(secret, TOKEN_LIFE_MS.verification, isSecure(request), SIGN_UP_COOKIE))
      return secret
    },

    issuerCookieOf: (request: FastifyRequest) => readCookie(request.headers.cookie, isSecure(request), ISSUER_COOKIE),

    /** Always a new one, too. */
    handIssuer(request: FastifyRequest, reply: FastifyReply): string {
      const secret = newSecret()
      reply.header('set-cookie', setCookie(secret, SIGN_IN_WITHIN_MS, isSecure(request), ISSUER_COOKIE))
      return secret
    },

    clearIssuer: (request: FastifyRequest, reply: FastifyReply) =>
      reply.header('set-cookie', clearCookie(isSecure(request), ISSUER_COOKIE)),

    refuseOtherSites: (request: FastifyRequest) => mustNotBeAnothers(told(request)),

    async callerOf(request: FastifyRequest, reply: FastifyReply): Promise<Caller | undefined> {
      const secret = secretOf(request)
      const found = secret === undefined ? undefined : await store().findCaller(secret, clock.now(), aboutOf(request))
      if (secret === undefined || !found) return undefined
      await prolong(request, reply, secret, found)
      if (found.lacks_second_factor && (found.second_factor_required || sign_in.second_factor_required))
        throw secondFactorMissing()
      return found.caller
    },

    async find(request: FastifyRequest, reply: FastifyReply): Promise<SignIn | undefined> {
      const secret = secretOf(request)
      const found = secret === undefined ? undefined : await store().find(secret, clock.now())
      if (secret !== undefined && found) await prolong(request, reply, secret, found)
      return found
    },

    hand,

    clear: (request: FastifyRequest, reply: FastifyReply) => reply.header('set-cookie', clearCookie(isSecure(request))),
  }
}

/** A session as the browser gets to know it. */
interface Handed {
  secret: string
  sign_in: Pick<SignIn, 'expires_at'>
}

type Lasting = Pick<SignIn, 'created_at' | 'expires_at'>
