// Tokens of Google Cloud, by Google's own library, which is loaded with the first of them: for service accounts, whose
// exchange goes over our own wire, and for whatever the machine is, where an operator gives no account.
import { hash } from 'node:crypto'
import { type Clock, MINUTE_MS, SECOND_MS } from '../../core/clock.ts'
import { BUDGETS, smallJsonOrNone } from '../../core/foreign.ts'
import { type OperatorsAccount, type PlatformSecret, readPlatformSecret } from '../../credentials/platform-secret.ts'
import { upTo } from '../first-bytes.ts'
import type { Upstream } from '../upstream.ts'
import { type Lease, type Leased, renewedLease } from './renewed-lease.ts'

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const TOKEN_URI = 'https://oauth2.googleapis.com/token'
const TIMEOUTS = { first_byte_ms: 10_000, idle_ms: 10_000, total_ms: 15_000 }
const UNSAID_MS = 5 * MINUTE_MS // where nobody says how long a token lives
const LEASES_MAX = 1_000 // of customers' accounts there is no end

/** Google gives no token: the account is not what it says, or may not have one. The text is free of secrets. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused'
}

interface Needs {
  clock: Clock
  poolFor(base_url: string): Upstream
}

export function googleTokens(needs: Needs) {
  const leases = new Map<string, Lease>() // by a hash of the account; the last one used comes last

  return {
    /** Only an operator's call, who gave no account, is made as the machine. */
    of(secret: string | undefined, is_operators: boolean): Lease {
      const entered = readPlatformSecret(secret)
      if (entered.kind !== 'service_account' && !is_operators) return NONE
      const name = hash('sha256', secret ?? '', 'hex')
      const lease = leases.get(name) ?? renewedLease(fetching(entered, needs), needs.clock)
      leases.delete(name)
      leases.set(name, lease)
      const [oldest] = leases.keys()
      if (leases.size > LEASES_MAX && oldest !== undefined) leases.delete(oldest)
      return lease
    },
  }
}

/** Of a credential that was revoked while the call was on its way. */
const NONE: Lease = {
  current: () => Promise.reject(new TokenRefused('there is no such account any more')),
  forget() {},
}

function fetching(entered: PlatformSecret, needs: Needs): () => Promise<Leased> {
  return entered.kind === 'service_account' ? () => exchanged(entered.account, needs) : () => ambient(needs)
}

/** It is a module of the older form, whose names are all in one where the server is built into a few files. */
const library = async () => (await import('google-auth-library')).default

async function exchanged(account: OperatorsAccount, { clock, poolFor }: Needs): Promise<Leased> {
  const { JWT } = await library()
  const { client_email: email, private_key: key, private_key_id: keyId, token_uri = TOKEN_URI } = account
  const asked_at = clock.now()
  let lives_s = 0
  const request = async ({ data }: { data?: unknown }) => {
    const told = await askedAt(token_uri, String(data), poolFor)
    if (typeof told.expires_in === 'number') lives_s = told.expires_in
    return { data: told }
  }
  const ours = { transporter: { request } as never, useAuthRequestParameters: false } // nothing else is asked of it
  const jwt = new JWT({ email, key, ...(keyId !== undefined && { keyId }), scopes: [SCOPE], ...ours })
  const { access_token } = await jwt.authorize().catch((error: unknown) => {
    throw isOurs(error) ? error : new TokenRefused('the private key of the service account cannot be used')
  })
  if (!access_token) throw new TokenRefused('the answer has no token in it')
  return { value: access_token, expires_at: asked_at + lives_s * SECOND_MS }
}

/** What the wire or the token service said; anything else comes of signing. */
const isOurs = (error: unknown) =>
  error instanceof Error && /^(TokenRefused|UpstreamError|TokensAway)$/.test(error.name)

class TokensAway extends Error {
  override readonly name = 'TokensAway'
}

interface Told {
  access_token?: unknown
  expires_in?: unknown
  error?: unknown
  error_description?: unknown
}

async function askedAt(token_uri: string, form: string, poolFor: Needs['poolFor']): Promise<Told> {
  const { origin, pathname, search } = new URL(token_uri)
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
  const request = { method: 'POST', path: `${pathname}${search}`, headers, body: Buffer.from(form), timeouts: TIMEOUTS }
  const answer = await poolFor(origin).send({ ...request, method: 'POST' }, AbortSignal.timeout(TIMEOUTS.total_ms))
  const { bytes } = await upTo(BUDGETS.envelope.bytes, answer)
  const told = (smallJsonOrNone(BUDGETS.envelope, bytes) ?? {}) as Told
  if (answer.status === 200) return told
  const { error, error_description } = told
  if (answer.status >= 500 || answer.status === 429) throw new TokensAway(`status ${answer.status}`)
  throw new TokenRefused([error, error_description].filter((one) => typeof one === 'string').join(': ') || 'no reason')
}

/** What GOOGLE_APPLICATION_CREDENTIALS names, a workload identity, or the metadata service of the machine. */
async function ambient({ clock }: Needs): Promise<Leased> {
  const { GoogleAuth } = await library()
  const client = await new GoogleAuth({ scopes: [SCOPE] }).getClient()
  const { token } = await client.getAccessToken()
  if (!token) throw new TokenRefused('the machine has no account of Google Cloud')
  return { value: token, expires_at: client.credentials.expiry_date ?? clock.now() + UNSAID_MS }
}
