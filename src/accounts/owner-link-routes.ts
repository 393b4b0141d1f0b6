// /auth/become-owner: where the link leads that the start prints (0160).
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Routes } from '../http/routes.ts'
import { emailAddress } from './account.ts'
import { accountStore } from './account-store.ts'
import { Email } from './member.ts'
import { type Claimant, takeOver } from './owner-claim-store.ts'
import { deadOwnerLink, whoAreYou } from './owner-link.ts'
import { ownerLinkStore } from './owner-link-store.ts'
import { Password } from './password.ts'
import { Code } from './second-factor.ts'
import { LinkToken } from './secret-token.ts'
import { SignedIn } from './sign-in.ts'
import type { AuthNeeds } from './sign-in-hooks.ts'
import { whoKnows } from './sign-in-routes.ts'
import { signInStore } from './sign-in-store.ts'

export const OwnerClaim = Type.Object(
  { token: LinkToken, email: Type.Optional(Email), password: Type.Optional(Password), code: Type.Optional(Code) },
  { title: 'OwnerClaim' },
)

export const ownerLinkRoutes: Routes<AuthNeeds> = async (app, needs) => {
  const { db, clock, signIns } = needs

  app.post(
    '/auth/become-owner',
    {
      config: { public: true, class: 'auth' },
      schema: {
        tags: ['Accounts'],
        security: [],
        summary: 'Become the owner of a project that nobody can sign in to',
        description:
          'With the link that the start or `switchyard owner-link` printed, which works once. `email` and `password` ' +
          'make an account, or are those of one; without them it is whoever is signed in. Confirms the address and ' +
          'signs in.',
        body: OwnerClaim,
        response: { 200: SignedIn },
      },
    },
    async (request, reply) => {
      const { token: secret } = request.body
      if (!(await ownerLinkStore(db).isGood(secret, clock.now()))) throw deadOwnerLink()
      const claimant = await claimantOf(request, request.body, needs)
      const claim = { secret, claimant, before: signIns.cookieOf(request), request_id: request.id }
      const begun = await takeOver(db, claim, needs, clock.now())
      signIns.hand(request, reply, begun)
      return signInStore(db).describe(begun.sign_in)
    },
  )
}

interface Named {
  email?: string
  password?: string
  code?: string
}

async function claimantOf(request: FastifyRequest, named: Named, needs: AuthNeeds): Promise<Claimant> {
  const { db, clock, signIns, passwords, addressOf, sign_in, passwordRefused } = needs
  const { email: text, password, code } = named
  if (text === undefined && password === undefined) {
    const before = signIns.secretOf(request)
    const signed_in =
      before === undefined ? undefined : await signInStore(db, sign_in.session).find(before, clock.now())
    if (signed_in) return { kind: 'signed_in', person_id: signed_in.person_id }
  }
  if (text === undefined || password === undefined) throw whoAreYou()
  const email = emailAddress(text)
  const refused = passwordRefused(email)
  if (refused) throw refused
  const known = await accountStore(db).findByEmail(email)
  if (known?.verified_at && known.password_hash) {
    const { id, password_hash, slot } = await whoKnows({ email, password, code }, addressOf(request), needs)
    return { kind: 'known', person_id: id, password_hash, slot }
  }
  // Nobody confirmed the address: who knows the account's password made it, and anybody else gets a new one (0144).
  if (known?.password_hash && (await passwords.matches(password, known.password_hash)))
    return { kind: 'known', person_id: known.id, password_hash: known.password_hash, slot: undefined }
  return { kind: 'new', email, password_hash: await passwords.hash(password) }
}
