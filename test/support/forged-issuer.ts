// An identity provider that says what a test wants it to say: expired tokens, tokens of others, lies. Its own word is
// signed with its own key; what it says of itself and of somebody can be anything.
import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Forging = Awaited<ReturnType<typeof forgedIssuer>>

export interface Forged {
  /** Beside the usual ones; undefined takes one away. */
  claims?: Record<string, unknown>
  /** Of the token's first part. */
  header?: Record<string, unknown>
  /** Signed by somebody else. */
  by_stranger?: boolean
  /** What the token endpoint answers instead. */
  refusal?: string
  user_info?: Record<string, unknown>
}

const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
export const CLIENT_ID = 'switchyard-test'

export async function forgedIssuer() {
  const [own, strangers] = [pair(), pair()]
  const asked: string[] = []
  const state: { forged: Forged; nonce: string; discovery: object; answer: Answer | undefined; now_s: () => number } = {
    forged: {},
    nonce: '',
    discovery: {},
    answer: undefined,
    now_s: () => Math.floor(Date.now() / 1_000),
  }
  const server = createServer((request, response) => void serve(request, response))
  const listen = (port = 0) => new Promise<void>((done) => void server.listen(port, '127.0.0.1', done))
  await listen()
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}`

  function idToken(): string {
    const { claims, header, by_stranger } = state.forged
    const now = state.now_s()
    const usual = { iss: issuer, aud: CLIENT_ID, sub: 'someone', nonce: state.nonce, iat: now, exp: now + 300 }
    const parts = [encoded({ alg: 'ES256', kid: 'own', ...header }), encoded({ ...usual, ...claims })].join('.')
    const key = by_stranger ? strangers.privateKey : own.privateKey
    const signature = sign('sha256', Buffer.from(parts), { key, dsaEncoding: 'ieee-p1363' })
    return `${parts}.${signature.toString('base64url')}`
  }

  async function serve({ url = '', method }: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = url.split('?')[0] ?? ''
    asked.push(`${method} ${path}`)
    const { status = 200, body, type = 'application/json' } = state.answer?.(path) ?? answerTo(path)
    response.writeHead(status, { 'content-type': type }).end(typeof body === 'string' ? body : JSON.stringify(body))
  }

  function answerTo(path: string): { status?: number; body: unknown; type?: string } {
    if (path === '/.well-known/openid-configuration')
      return {
        body: {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/userinfo`,
          jwks_uri: `${issuer}/jwks`,
          end_session_endpoint: `${issuer}/logout`,
          id_token_signing_alg_values_supported: ['ES256'],
          ...state.discovery,
        },
      }
    if (path === '/jwks') return { body: { keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'own' }] } }
    const { refusal, user_info } = state.forged
    if (path === '/userinfo') return { body: { sub: state.forged.claims?.sub, ...user_info } }
    if (path !== '/token') return { status: 404, body: {} }
    if (refusal) return { status: 400, body: { error: refusal } }
    return { body: { access_token: 'opaque', token_type: 'Bearer', id_token: idToken() } }
  }

  return {
    issuer,
    asked,
    state,
    /** Nobody listens there any more, until `back`. */
    away: () => new Promise<void>((done) => void server.close(() => done()).closeAllConnections()),
    back: () => listen(port),
    stop: () => new Promise<void>((done) => void server.close(() => done()).closeAllConnections()),
  }
}

type Answer = (path: string) => { status?: number; body: unknown; type?: string } | undefined
