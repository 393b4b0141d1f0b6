// Tokens of Microsoft Entra ID for Azure OpenAI: for the secret of an application, or for a token of the cluster that
// the application trusts (workload identity).
import { type Clock, SECOND_MS } from '../../core/clock.ts'
import type { EntraIdentity } from '../../credentials/operators-identity.ts'
import { askedFor, IdentityAway, IdentityRefused, type PoolFor, tokenIn } from './identity-answers.ts'
import type { Leased } from './renewed-lease.ts'

const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

interface Needs {
  clock: Clock
  poolFor: PoolFor
}

export async function lentByEntra(identity: EntraIdentity, { clock, poolFor }: Needs): Promise<Leased> {
  const { tenant_id, client_id, client_secret, token_file = '', authority, scope } = identity
  const proof: Record<string, string> = client_secret
    ? { client_secret }
    : { client_assertion_type: ASSERTION, client_assertion: await tokenIn(token_file) }
  const asked_at = clock.now()
  const url = `${authority}/${tenant_id}/oauth2/v2.0/token`
  const form = { grant_type: 'client_credentials', client_id, scope, ...proof }
  const headers = { accept: 'application/json' }
  const { status, json } = await askedFor({ method: 'POST', url, headers, form }, poolFor)
  const { access_token, expires_in, error, error_description } = json as Record<string, unknown>
  if (status !== 200) throw new IdentityRefused(`Entra ID answers ${status}: ${reasonOf(error, error_description)}`)
  const lives_s = Number(expires_in)
  if (typeof access_token !== 'string' || !/^[!-~]+$/.test(access_token) || !(lives_s > 0))
    throw new IdentityAway('an answer without a token, or without its end')
  return { value: access_token, expires_at: asked_at + lives_s * SECOND_MS }
}

/** By its number, which Microsoft explains: its words name the tenant and the application. */
function reasonOf(error: unknown, description: unknown): string {
  const number = /^AADSTS\d{1,10}/.exec(String(description))?.[0]
  return [String(error ?? 'no reason').slice(0, 100), ...(number ? [number] : [])].join(', ')
}
