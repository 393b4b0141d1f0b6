// /auth/issuers and /auth/oidc: sign in with one's own identity provider (0340). Browsers come here by following an
// address, so what goes wrong is told on a page where they can go on; programs get the envelope.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { listOf } from '../core/shapes.ts'
import { prefers } from '../http/accept.ts'
import { answerError, asRefusal, tellTrouble } from '../http/answers.ts'
import { list, type Routes } from '../http/routes.ts'
import { SIGN_UP_MODES } from './account.ts'
import { attemptStore } from './attempt-store.ts'
import { FAILED_ISSUER_LOGINS } from './attempts.ts'
import { identityStore } from './identity-store.ts'
import { isAttempt, SignInRefusal } from './issuer.ts'
import { openedToken, signInByIssuer } from './issuer-sign-in-store.ts'
import { consolePath, newProofs, openState, STATE_MAX } from './issuer-state.ts'
import type { AuthNeeds } from './sign-in-hooks.ts'
import type { IssuerSettings } from './sign-in-settings.ts'
import type { ByIssuer } from './sign-in-store.ts'

const open = { public: true, class: 'auth' } as const
const tags = ['Accounts']
const security: [] = []
const CODE_MAX = 4_096

export const Issuer = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('issuer'),
    name: Type.String({ description: 'For the button.' }),
    sign_in_path: Type.String({ description: 'Where the browser goes.' }),
  },
  { title: 'Issuer' },
)

/** What a page needs before anybody has signed in. */
export const WaysIn = Type.Object(
  {
    ...listOf(Issuer).properties,
    sign_up: Type.Enum([...SIGN_UP_MODES], { description: '`invited`: nobody signs up; people join by invitation.' }),
  },
  { title: 'WaysIn' },
)

const IssuerId = Type.Object({ issuer_id: Type.String({ maxLength: 64 }) })
const Wanted = Type.Object({
  to: Type.Optional(Type.String({ maxLength: 1_000, description: 'The page of the console to go on to.' })),
})
/** More may come: issuers put what they like behind the address. */
const CameBack = Type.Object({
  state: Type.Optional(Type.String({ maxLength: STATE_MAX })),
  code: Type.Optional(Type.String({ maxLength: CODE_MAX })),
})
const Elsewhere = Type.Null({ description: 'To the page in `Location`.' })

export const issuerRoutes: Routes<AuthNeeds> = async (app, needs) => {
  const { db, clock, signIns, seals, sign_in, issuerClient, addressOf } = needs
  const browsed = { config: open, exposeHeadRoute: false, errorHandler: toSignInPage }
  const redirectTo = ({ id }: IssuerSettings) => `${needs.publicUrl()}/auth/oidc/${id}/callback`

  app.get(
    '/auth/issuers',
    {
      config: open,
      schema: {
        tags,
        security,
        summary: 'With which identity providers people sign in here, and whether anybody may sign up',
        response: { 200: WaysIn },
      },
    },
    async () => ({ ...list(sign_in.issuers.map(describe)), sign_up: needs.sign_up }),
  )

  app.get(
    '/auth/oidc/:issuer_id/start',
    {
      ...browsed,
      schema: {
        tags,
        security,
        summary: 'Begin to sign in with an identity provider',
        description: 'Sends the browser there, with a cookie by which it is known when it comes back.',
        params: IssuerId,
        querystring: Wanted,
        response: { 302: Elsewhere },
      },
    },
    async (request, reply) => {
      const issuer = named(sign_in.issuers, request.params.issuer_id)
      const pending = { issuer_id: issuer.id, to: consolePath(request.query.to) }
      const secret = signIns.handIssuer(request, reply)
      const proofs = newProofs(seals, secret, pending, clock.now())
      return reply.redirect(await issuerClient.authorizationUrl(issuer, redirectTo(issuer), proofs), 302)
    },
  )

  app.get(
    '/auth/oidc/:issuer_id/callback',
    {
      ...browsed,
      schema: {
        tags,
        security,
        summary: 'Come back from an identity provider',
        description:
          'The redirect address to register there. Sets the session cookie and goes on to the console. At most 5 ' +
          'failures from an address in 10 minutes.',
        params: IssuerId,
        querystring: CameBack,
        response: { 302: Elsewhere },
      },
    },
    async (request, reply) => {
      const issuer = named(sign_in.issuers, request.params.issuer_id)
      const { to, expires_at, proofs } = openState(
        seals,
        signIns.issuerCookieOf(request),
        request.query.state,
        issuer.id,
      )
      signIns.clearIssuer(request, reply)
      const identity = await identityOnce({ issuer, expires_at, proofs }, request)
      const { id: request_id } = request
      const arrival = { ...identity, issuer, before: signIns.cookieOf(request), request_id }
      const begun = await signInByIssuer(db, arrival, needs, clock.now())
      signIns.hand(request, reply, begun)
      return reply.redirect(`/console${to === '/' ? '' : to}`, 302)
    },
  )

  interface Returned extends Pick<ReturnType<typeof openState>, 'expires_at' | 'proofs'> {
    issuer: IssuerSettings
  }

  /** The state is used up before the issuer is asked; a failure counts unless it was somebody else's. */
  async function identityOnce({ issuer, expires_at, proofs }: Returned, request: FastifyRequest) {
    const attempts = attemptStore(db)
    const now = clock.now()
    if (expires_at <= now) throw new SignInRefusal('no_state')
    const slot = await attempts.takeOrRefuse(FAILED_ISSUER_LOGINS, addressOf(request), now)
    if (!(await identityStore(db).useState(proofs.state, expires_at))) throw new SignInRefusal('no_state')
    const came_back_to = new URL(redirectTo(issuer))
    came_back_to.search = request.url.slice(request.url.indexOf('?'))
    try {
      const identity = await issuerClient.identityOf(issuer, came_back_to, proofs)
      await attempts.giveBack(slot)
      return identity
    } catch (error) {
      if (!isAttempt(error)) await attempts.giveBack(slot)
      request.log.info({ issuer: issuer.id, cause: saidIn(error) }, 'a sign-in through an issuer failed')
      throw error
    }
  }
}

/** What the library said, for the operator: never a token or a claim's value. */
const saidIn = (error: unknown) => {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message} (${cause.message})` : message
}

const describe = ({ id, name }: IssuerSettings) => ({
  id,
  object: 'issuer' as const,
  name,
  sign_in_path: `/auth/oidc/${id}/start`,
})

function named(issuers: readonly IssuerSettings[], id: string): IssuerSettings {
  const issuer = issuers.find((one) => one.id === id)
  if (!issuer) throw new SignInRefusal('unknown_issuer')
  return issuer
}

/** Where somebody looks at a page, the page tells what went wrong, in its own words. */
function toSignInPage(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (!prefers(request.headers.accept, 'text/html', 'application/json')) return answerError(error, request, reply)
  const refusal = asRefusal(error)
  tellTrouble(refusal, error, request)
  const problem = refusal instanceof SignInRefusal ? refusal.problem : refusal.kind
  return reply.redirect(`/console/sign-in?problem=${problem}`, 302)
}

/** Where the browser signs out of the issuer as well. Who is signed out here already need not wait for the issuer. */
export async function signOutAt({ issuer: address, sealed_id_token }: ByIssuer, secret: string, needs: AuthNeeds) {
  const { sign_in, issuerClient, seals, publicUrl } = needs
  const issuer = sign_in.issuers.find((one) => one.issuer === address)
  if (issuer?.sign_out !== 'issuer') return undefined
  const id_token = openedToken(seals, sealed_id_token, secret)
  return issuerClient.signOutUrl(issuer, id_token, `${publicUrl()}/console/sign-in`).catch(() => undefined)
}
