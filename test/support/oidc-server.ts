// A real identity provider in this process: `oidc-provider` with its own login pages. Whoever signs in is who they say, and
// has the address `<login>@<domain>`; a login that begins with `un` has one that is not verified.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

export interface OidcServer {
  issuer: string
  stop(): Promise<void>
}

export const OIDC_CLIENT = { client_id: 'switchyard', client_secret: 'a secret between the two' }

export async function startOidcServer(
  origin: string,
  { id = 'corp', domain = 'corp.example' } = {},
): Promise<OidcServer> {
  const { createServer } = await import('node:http')
  const server: Server = createServer()
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        ...OIDC_CLIENT,
        redirect_uris: [`${origin}/auth/oidc/${id}/callback`],
        post_logout_redirect_uris: [`${origin}/console/sign-in`],
      },
    ],
    cookies: { keys: ['a key for cookies'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 60, Interaction: 600, Session: 600, Grant: 600 },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: async () => ({ sub, email: `${sub}@${domain}`, email_verified: !sub.startsWith('un') }),
    }),
  })
  server.on('request', provider.callback())
  return { issuer, stop: () => new Promise((done) => void server.close(() => done()).closeAllConnections()) }
}
