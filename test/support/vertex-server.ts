// How Google answers, for the programmable upstream: its token service, which checks signatures and dates of service
// accounts, and Vertex, which takes its tokens until they end. Refusals are in Google's words.
import { createVerify, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Behaviour, Manner, Recorded, Saying } from './upstream.ts'

export interface GoogleAccount {
  project: string
  region: string
  models: readonly string[]
  /** What time it is for tokens. */
  now(): number
}

const SKEW_S = 300
const LIVES_S = 3_600

const wrong = (status: number, name: string, message: string): Behaviour => ({
  status,
  body: { error: { code: status, message, status: name } },
})

/** One key for all tests: making it takes as long as a test. */
const PAIR = generateKeyPairSync('rsa', { modulusLength: 2_048 })

export const SERVICE_ACCOUNT = {
  type: 'service_account',
  project_id: 'acme-prod-123',
  private_key_id: '0123456789abcdef0123456789abcdef01234567',
  private_key: PAIR.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  client_email: 'gateway@acme-prod-123.iam.gserviceaccount.com',
}

export function google(account: GoogleAccount, saying: Saying = {}) {
  const tokens = new Map<string, number>() // until when
  let public_key: KeyObject = PAIR.publicKey
  let instead: Behaviour | undefined
  let tokens_instead: Behaviour | undefined
  let given = 0

  function exchange({ bytes }: Recorded): Behaviour {
    const form = new URLSearchParams(String(bytes))
    const fault = assertionFault(form, public_key)
    if (fault !== undefined) return { status: 400, body: { error: 'invalid_grant', error_description: fault } }
    const access_token = `ya29.token-number-${++given}`
    tokens.set(access_token, account.now() + LIVES_S * 1_000)
    return { body: { access_token, expires_in: LIVES_S, token_type: 'Bearer' } }
  }

  function serve(request: Recorded): Behaviour {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    if (!((tokens.get(token) ?? 0) > account.now()))
      return wrong(401, 'UNAUTHENTICATED', `Request had invalid authentication credentials: ${token}.`)
    return instead ?? answerOf(request, account, saying)
  }

  const manner: Manner = (request) =>
    request.path === '/token' ? (tokens_instead ?? exchange(request)) : serve(request)

  return {
    manner,
    /** How many tokens were given. */
    given: () => given,
    /** It answers so to every call that carries a good token. */
    answer(behaviour: Behaviour): void {
      instead = behaviour
    },
    answerTokens(behaviour: Behaviour | undefined): void {
      tokens_instead = behaviour
    },
    /** Tokens that were given are good for nothing any more. */
    revoke: () => tokens.clear(),
    /** The account's key was deleted. */
    changeKey(): void {
      public_key = generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey
    },
  }
}

/** The library that signs goes by the machine's own clock. */
function assertionFault(form: URLSearchParams, key: KeyObject): string | undefined {
  if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') return 'Invalid grant type'
  const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.')
  const isSigned = createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(key, signature, 'base64url')
  if (!isSigned) return 'Invalid JWT Signature.'
  const { iss, scope, aud, iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  const now_s = performance.timeOrigin / 1_000 + performance.now() / 1_000
  if (iss !== SERVICE_ACCOUNT.client_email || aud !== 'https://oauth2.googleapis.com/token') return 'Invalid JWT'
  if (!String(scope).includes('cloud-platform')) return 'Invalid scope'
  if (Math.abs(iat - now_s) > SKEW_S || exp < now_s || exp - iat > 3_600)
    return 'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.'
  return undefined
}

function answerOf(request: Recorded, { project, region, models }: GoogleAccount, saying: Saying): Behaviour {
  const below = `/v1/projects/${project}/locations/${region}`
  if (!request.path.startsWith(`${below}/`))
    return wrong(403, 'PERMISSION_DENIED', 'Permission denied on resource project.')
  const path = request.path.slice(below.length)
  const { body } = request
  if (path === '/endpoints/openapi/chat/completions')
    return models.includes(body?.model) ? { ...saying } : wrong(400, 'INVALID_ARGUMENT', 'Malformed publisher model.')
  const claude = /^\/publishers\/anthropic\/models\/([^:]+):(rawPredict|streamRawPredict)$/.exec(path)
  if (!claude) return wrong(404, 'NOT_FOUND', 'Not found')
  const [, model = '', method] = claude
  if (model === 'count-tokens') return models.includes(body.model) ? { body: { input_tokens: 42 } } : NO_MODEL
  if (!models.includes(decodeURIComponent(model))) return NO_MODEL
  if (body.anthropic_version !== 'vertex-2023-10-16')
    return wrong(400, 'INVALID_ARGUMENT', 'anthropic_version: Field required')
  if ('model' in body) return wrong(400, 'INVALID_ARGUMENT', 'model: Extra inputs are not permitted')
  if ((body.stream === true) !== (method === 'streamRawPredict'))
    return wrong(400, 'INVALID_ARGUMENT', 'stream must go with streamRawPredict')
  return { ...saying, as_path: '/v1/messages' }
}

const NO_MODEL = wrong(404, 'NOT_FOUND', 'Publisher Model was not found or your project does not have access to it.')
