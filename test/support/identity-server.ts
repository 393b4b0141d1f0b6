// What lends identities to workloads, for the programmable upstream: AWS's STS, the credentials of a container, the
// metadata service of a machine, and Microsoft Entra ID. Each holds what it is sent against its own rules, and lends
// something new each time; the model behind it takes only what was lent and has not ended.
import { type BedrockAccount, bedrock, exception } from './bedrock-server.ts'
import type { Behaviour, Manner, Recorded } from './upstream.ts'

export interface Lender {
  now(): number
  /** How long what it lends lives. */
  lives_ms: number
  /** The token of the cluster that it trusts, as it is now. */
  cluster_token: string
  /** Whoever lends is away. */
  is_away: boolean
}

export const ROLE = 'arn:aws:iam::123456789012:role/switchyard'
export const TENANT = '11111111-2222-3333-4444-555555555555'
export const APPLICATION = { client_id: 'app-1', client_secret: 'se~cret&=1' }
export const SCOPE = 'https://cognitiveservices.azure.com/.default'
export const NOVA = 'us.amazon.nova-pro-v1:0'

export function lender(state: Lender) {
  const lent: { id: string; ends_at: number }[] = []
  const counts = { lent: 0, sessions: 0 }

  function lend() {
    counts.lent++
    const ends_at = state.now() + state.lives_ms
    lent.push({ id: `ASIA${counts.lent}`, ends_at })
    return { id: `ASIA${counts.lent}`, ends_at: new Date(ends_at).toISOString().replace('.000', '') }
  }

  const keysOf = (id: string) => ({
    AccessKeyId: id,
    SecretAccessKey: `secret-of-${id}`,
    Token: `token-of-${id}`,
  })

  function sts({ bytes }: Recorded): Behaviour {
    const form = new URLSearchParams(bytes.toString())
    const { Action, Version, RoleArn, RoleSessionName, WebIdentityToken } = Object.fromEntries(form)
    if (Action !== 'AssumeRoleWithWebIdentity' || Version !== '2011-06-15' || !RoleSessionName)
      return refusedBySts('MissingAction', 'An action is missing.')
    if (RoleArn !== ROLE) return refusedBySts('AccessDenied', `Not authorized for ${RoleArn}`)
    if (WebIdentityToken !== state.cluster_token) return refusedBySts('InvalidIdentityToken', 'Token is expired')
    const { id, ends_at } = lend()
    const { AccessKeyId, SecretAccessKey, Token } = keysOf(id)
    return xml(
      200,
      `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><SessionToken>${Token}</SessionToken><SecretAccessKey>${SecretAccessKey}</SecretAccessKey><Expiration>${ends_at}</Expiration><AccessKeyId>${AccessKeyId}</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
    )
  }

  function container({ headers }: Recorded): Behaviour {
    if (headers.authorization !== state.cluster_token) return { status: 401, body: { code: 'InvalidToken' } }
    const { id, ends_at } = lend()
    return { body: { ...keysOf(id), Expiration: ends_at, RoleArn: ROLE } }
  }

  /** IMDSv2: nothing without a session. */
  function machine({ method, path, headers }: Recorded): Behaviour {
    if (path === '/latest/api/token') {
      if (method !== 'PUT' || headers['x-aws-ec2-metadata-token-ttl-seconds'] === undefined) return { status: 400 }
      counts.sessions++
      return text('session==')
    }
    if (headers['x-aws-ec2-metadata-token'] !== 'session==') return { status: 401, body: '' }
    if (path === '/latest/meta-data/iam/security-credentials/') return text('switchyard-role')
    if (path !== '/latest/meta-data/iam/security-credentials/switchyard-role') return { status: 404, body: '' }
    const { id, ends_at } = lend()
    return { body: { Code: 'Success', Type: 'AWS-HMAC', ...keysOf(id), Expiration: ends_at } }
  }

  function entra({ bytes }: Recorded): Behaviour {
    const form = Object.fromEntries(new URLSearchParams(bytes.toString()))
    if (form.grant_type !== 'client_credentials' || form.scope !== SCOPE || form.client_id !== APPLICATION.client_id)
      return { status: 400, body: { error: 'invalid_request', error_description: `AADSTS900144: of ${TENANT}` } }
    const by_assertion =
      form.client_assertion_type === 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' &&
      form.client_assertion === state.cluster_token
    if (form.client_secret !== APPLICATION.client_secret && !by_assertion)
      return {
        status: 401,
        body: { error: 'invalid_client', error_description: `AADSTS7000215: of ${TENANT}\r\nTrace` },
      }
    return { body: { token_type: 'Bearer', expires_in: state.lives_ms / 1_000, access_token: lend().id } }
  }

  /** By whichever of the keys signed it. */
  function model(request: Recorded): Behaviour {
    const id = /Credential=([^/]+)\//.exec(String(request.headers.authorization))?.[1] ?? ''
    const { SecretAccessKey, Token } = keysOf(id)
    if (!lent.some((one) => one.id === id && one.ends_at > state.now()))
      return exception(403, 'ExpiredTokenException', 'The security token included in the request is expired')
    const account: BedrockAccount = {
      access_key_id: id,
      secret_access_key: SecretAccessKey,
      session_token: Token,
      region: 'us-east-1',
      service: 'bedrock',
      now: state.now,
      models: [NOVA],
    }
    return (bedrock(account) as (request: Recorded) => Behaviour)(request)
  }

  function deployment({ headers }: Recorded): Behaviour {
    const token = String(headers.authorization).replace('Bearer ', '')
    const is_good =
      headers['api-key'] === undefined && lent.some((one) => one.id === token && one.ends_at > state.now())
    return is_good ? {} : { status: 401, body: { error: { code: '401', message: `Unauthorized: ${token}` } } }
  }

  const manner: Manner = (request) => {
    const { path } = request
    if (path.startsWith('/model/')) return model(request)
    if (path.startsWith('/openai/')) return deployment(request)
    if (state.is_away) return { status: 503, body: '' }
    if (path.startsWith('/v1/credentials')) return container(request)
    if (path.startsWith('/latest/')) return machine(request)
    return path === `/${TENANT}/oauth2/v2.0/token` ? entra(request) : sts(request)
  }
  return { manner, counts, revoke: () => void lent.splice(0) }
}

const text = (body: string): Behaviour => ({ headers: { 'content-type': 'text/plain' }, body })
const xml = (status: number, body: string): Behaviour => ({ status, headers: { 'content-type': 'text/xml' }, body })
const refusedBySts = (code: string, message: string) =>
  xml(
    400,
    `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`,
  )
