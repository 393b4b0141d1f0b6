// /auth: sign up, confirm an address, choose a new password, accept an invitation. The first two kinds of request are
// only written down: see account-request-store.ts for what becomes of them.
import { Type } from 'typebox'
import { Label, label } from '../core/shapes.ts'
import type { Routes } from '../http/routes.ts'
import { emailAddress, signUpClosed } from './account.ts'
import { accountStore } from './account-store.ts'
import { attemptStore } from './attempt-store.ts'
import { SIGN_UPS_AND_RESETS } from './attempts.ts'
import { confirmationStore, needsPassword } from './confirmation-store.ts'
import { Email } from './member.ts'
import { memberStore } from './member-store.ts'
import { acceptable, Busy, Password } from './password.ts'
import { Role } from './roles.ts'
import { deadLink, hashSecret, LinkToken } from './secret-token.ts'
import { SignedIn } from './sign-in.ts'
import type { AuthNeeds } from './sign-in-hooks.ts'
import { signInStore } from './sign-in-store.ts'
import { tokenStore } from './token-store.ts'

const open = { public: true, class: 'auth' } as const
const tags = ['Accounts']
const security: [] = []

export const SignUp = Type.Object(
  { email: Email, password: Password, project_name: Type.Optional(Label('What the first project is called.')) },
  { title: 'SignUp' },
)
export const Reset = Type.Object({ email: Email }, { title: 'PasswordReset' })
export const Verification = Type.Object({ token: LinkToken }, { title: 'EmailVerification' })
export const NewPassword = Type.Object({ token: LinkToken, password: Password }, { title: 'NewPassword' })
export const Acceptance = Type.Object(
  { token: LinkToken, password: Type.Optional(Password) },
  { title: 'InvitationAcceptance' },
)

export const Mailed = Type.Object(
  { object: Type.Enum(['sign_up', 'password_reset']), email: Type.String(), status: Type.Literal('mailed') },
  { title: 'Mailed', description: 'The same, whether the address is known or not.' },
)
export const Verified = Type.Object(
  {
    object: Type.Literal('email_verification'),
    email: Type.String(),
    verified: Type.Literal(true),
    session: Type.Optional(
      Type.Object(SignedIn.properties, { description: 'Only in the browser that signed up: it is signed in.' }),
    ),
  },
  { title: 'VerifiedEmail' },
)
export const Changed = Type.Object(
  { object: Type.Literal('password_reset.confirmed'), email: Type.String(), changed: Type.Literal(true) },
  { title: 'ChangedPassword' },
)
export const Joined = Type.Object(
  { object: Type.Literal('invitation.accepted'), project_id: Type.String(), email: Type.String(), role: Role },
  { title: 'AcceptedInvitation' },
)

const ASKED =
  'The answer is the same whether or not the address has an account. At most 3 sign-ups and resets together from an ' +
  'address in an hour.'

const CLOSED = 'Where the operator closed sign-up, 403 for everybody: then people join by invitation.'

export const signUpRoutes: Routes<AuthNeeds> = async (app, needs) => {
  const { db, clock, passwords, requests, signIns, addressOf, sign_up, passwordRefused } = needs
  const mayUsePassword = (email: string) => {
    const refused = passwordRefused(email)
    if (refused) throw refused
    return email
  }
  const attempts = attemptStore(db)
  const confirmations = confirmationStore(db, needs)

  app.post(
    '/auth/signup',
    {
      config: open,
      onRequest: (_request, _reply, done) => done(sign_up === 'open' ? undefined : signUpClosed()),
      schema: {
        tags,
        security,
        summary: 'Sign up',
        description: `Makes a person and a project. Keys can be made once the address is confirmed. ${ASKED} ${CLOSED}`,
        body: SignUp,
        response: { 200: Mailed },
      },
    },
    async (request, reply) => {
      const { password, project_name: name } = request.body
      const email = mayUsePassword(emailAddress(request.body.email))
      const named = name === undefined ? {} : { project_name: label('project_name', name) }
      acceptable(password)
      const slot = await attempts.takeOrRefuse(SIGN_UPS_AND_RESETS, addressOf(request), clock.now())
      const password_hash = await passwords.hash(password).catch(async (error) => {
        if (error instanceof Busy) await attempts.giveBack(slot)
        throw error
      })
      const browser_hash = hashSecret(signIns.handSignUp(request, reply))
      const asked = { kind: 'sign_up', email, password_hash, ...named, browser_hash, request_id: request.id } as const
      await requests.insert(asked, clock.now())
      return { object: 'sign_up' as const, email, status: 'mailed' as const }
    },
  )

  app.post(
    '/auth/password-reset',
    {
      config: open,
      schema: {
        tags,
        security,
        summary: 'Ask for a new password',
        description: ASKED,
        body: Reset,
        response: { 200: Mailed },
      },
    },
    async (request) => {
      const email = mayUsePassword(emailAddress(request.body.email))
      await attempts.takeOrRefuse(SIGN_UPS_AND_RESETS, addressOf(request), clock.now())
      await requests.insert({ kind: 'reset', email, request_id: request.id }, clock.now())
      return { object: 'password_reset' as const, email, status: 'mailed' as const }
    },
  )

  app.post(
    '/auth/verify-email',
    {
      config: open,
      schema: {
        tags,
        security,
        summary: 'Confirm an e-mail address',
        description: 'In the browser that signed up it signs in as well: its cookie of the sign-up tells.',
        body: Verification,
        response: { 200: Verified },
      },
    },
    async (request, reply) => {
      const use = { secret: request.body.token, request_id: request.id }
      const browser = { sign_up: signIns.signUpCookieOf(request), before: signIns.cookieOf(request) }
      const { email, begun } = await confirmations.confirmAddress(use, browser, clock.now())
      const confirmed = { object: 'email_verification' as const, email, verified: true as const }
      if (!begun) return confirmed
      signIns.hand(request, reply, begun)
      return { ...confirmed, session: await signInStore(db).describe(begun.sign_in) }
    },
  )

  app.post(
    '/auth/password-reset/confirm',
    {
      config: open,
      schema: {
        tags,
        security,
        summary: 'Choose a new password',
        description: 'Ends all sessions of the person.',
        body: NewPassword,
        response: { 200: Changed },
      },
    },
    async ({ body: { token: secret, password }, id: request_id }) => {
      acceptable(password)
      if (!(await tokenStore(db).isGood('reset', secret, clock.now()))) throw deadLink()
      const hash = await passwords.hash(password)
      const { email } = await confirmations.setPassword({ secret, request_id }, hash, clock.now())
      return { object: 'password_reset.confirmed' as const, email, changed: true as const }
    },
  )

  app.post(
    '/auth/accept-invitation',
    {
      config: open,
      schema: {
        tags,
        security,
        summary: 'Accept an invitation',
        description:
          'Somebody without a confirmed account chooses a `password`, unless people of their mail domain sign in ' +
          'with an identity provider; somebody with one keeps theirs.',
        body: Acceptance,
        response: { 200: Joined },
      },
    },
    async ({ body: { token: secret, password }, id: request_id }) => {
      const invitation = await memberStore(db).findInvitation(secret, clock.now())
      if (!invitation) throw deadLink()
      const known = await accountStore(db).findByEmail(invitation.email)
      const is_bound = passwordRefused(invitation.email) !== undefined
      if (!known?.verified_at && !is_bound && password === undefined) throw needsPassword()
      const hash = known?.verified_at || is_bound || password === undefined ? undefined : await passwords.hash(password)
      const { project_id, email, role } = await confirmations.join(
        { secret, request_id },
        is_bound ? null : hash,
        clock.now(),
      )
      return { object: 'invitation.accepted' as const, project_id, email, role }
    },
  )
}
