// /auth: log in, log out, who am I, which project do I look at.
import { Type } from 'typebox'
import { storable } from '../core/shapes.ts'
import { found, type Routes } from '../http/routes.ts'
import { emailAddress } from './account.ts'
import { accountStore } from './account-store.ts'
import { attemptStore, type Slot } from './attempt-store.ts'
import { FAILED_LOGINS, SECOND_FACTOR_CODES } from './attempts.ts'
import { signOutAt } from './issuer-routes.ts'
import { Email } from './member.ts'
import { Busy, Password } from './password.ts'
import { Code, secondFactorRequired, wrongCode } from './second-factor.ts'
import { secondFactorStore } from './second-factor-store.ts'
import { notSignedIn, SignedIn, wrongCredentials } from './sign-in.ts'
import type { AuthNeeds } from './sign-in-hooks.ts'
import { signInStore } from './sign-in-store.ts'

const open = { public: true, class: 'auth' } as const
const tags = ['Accounts']
const security: [] = []

export const Credentials = Type.Object(
  { email: Email, password: Password, code: Type.Optional(Code) },
  { title: 'Credentials' },
)
export const Ended = Type.Object(
  {
    object: Type.Literal('session.ended'),
    ended: Type.Literal(true),
    sign_out_url: Type.Optional(
      Type.String({ description: 'Of a session that an identity provider began: where the browser signs out there.' }),
    ),
  },
  { title: 'EndedSession' },
)
export const InView = Type.Object(
  { project_id: Type.String({ minLength: 1, maxLength: 100 }) },
  { title: 'ProjectChoice' },
)

export const signInRoutes: Routes<AuthNeeds> = async (app, needs) => {
  const { db, clock, signIns, addressOf, note, sign_in } = needs

  app.post(
    '/auth/login',
    {
      config: open,
      schema: {
        tags,
        security,
        summary: 'Log in',
        description:
          'Sets the session cookie, with which `/v2` can be used from a browser. At most 5 failures from an address ' +
          'in 10 minutes. Where the account has a second factor, 401 `second_factor_required` asks for its `code`.',
        body: Credentials,
        response: { 200: SignedIn },
      },
    },
    async (request, reply) => {
      const { id: person_id, password_hash, slot } = await whoKnows(request.body, addressOf(request), needs)
      const before = signIns.cookieOf(request)
      const now = clock.now()
      const begun = await db.transaction(async (tx) => {
        const sessions = signInStore(tx, sign_in.session)
        // It may have been changed while it was looked at, which ended all sessions: none must begin after that.
        if (!(await accountStore(tx).holdPassword(person_id, password_hash))) throw wrongCredentials()
        await attemptStore(tx).giveBack(slot)
        const project_id = await sessions.firstProjectOf(person_id)
        await note(tx, { person_id, action: 'POST /auth/login', request_id: request.id }, now)
        return sessions.beginInsteadOf(before, { person_id, project_id }, now)
      })
      signIns.hand(request, reply, begun)
      return signInStore(db).describe(begun.sign_in)
    },
  )

  app.post(
    '/auth/logout',
    { config: open, schema: { tags, security, summary: 'Log out', response: { 200: Ended } } },
    async (request, reply) => {
      const secret = signIns.secretOf(request)
      const by = secret === undefined ? undefined : await signInStore(db).end(secret)
      signIns.clear(request, reply)
      const sign_out_url = secret && by && (await signOutAt(by, secret, needs))
      return { object: 'session.ended' as const, ended: true as const, ...(sign_out_url && { sign_out_url }) }
    },
  )

  app.get(
    '/auth/me',
    { config: open, schema: { tags, security, summary: 'Who is signed in', response: { 200: SignedIn } } },
    async (request, reply) => {
      const sign_in = await signIns.find(request, reply)
      if (!sign_in) throw notSignedIn()
      return signInStore(db).describe(sign_in)
    },
  )

  app.post(
    '/auth/project',
    {
      config: open,
      schema: {
        tags,
        security,
        summary: 'Look at another project',
        description: 'From then on the session’s requests to `/v2` are about that project.',
        body: InView,
        response: { 200: SignedIn },
      },
    },
    async (request, reply) => {
      const sign_in = await signIns.find(request, reply)
      if (!sign_in) throw notSignedIn()
      const project_id = storable('project_id', request.body.project_id)
      found((await signInStore(db).lookAt(sign_in.id, project_id)) || undefined, 'project', project_id)
      return signInStore(db).describe({ ...sign_in, project_id })
    },
  )
}

/** §8: the failure is counted before the password is looked at, and given back only where it was none (T-70). */
export async function whoKnows(
  credentials: { email: string; password: string; code?: string | undefined },
  address: string,
  needs: AuthNeeds,
): Promise<{ id: string; password_hash: string; slot: Slot }> {
  const { db, clock, passwords, requests, passwordRefused } = needs
  const email = emailAddress(credentials.email)
  const refused = passwordRefused(email)
  if (refused) throw refused
  const attempts = attemptStore(db)
  const slot = await attempts.takeOrRefuse(FAILED_LOGINS, address, clock.now())
  await requests.resolveSignUps(email, clock.now())
  const person = await accountStore(db).findByEmail(email)
  const right = await passwords.matches(credentials.password, person?.password_hash).catch(async (error) => {
    if (error instanceof Busy) await attempts.giveBack(slot) // no password was looked at
    throw error
  })
  if (!person?.password_hash || !right) throw wrongCredentials()
  await mustHaveSecondFactor(person.id, credentials.code, slot, needs)
  return { id: person.id, password_hash: person.password_hash, slot }
}

/** 0342: asked once the password was found right, so that it tells nobody else who has one. */
async function mustHaveSecondFactor(person_id: string, code: string | undefined, login: Slot, needs: AuthNeeds) {
  const { db, clock, seals } = needs
  const factors = secondFactorStore(db, seals)
  if (!(await factors.isEnabled(person_id))) return
  const attempts = attemptStore(db)
  if (code === undefined) {
    await attempts.giveBack(login) // the password was right
    throw secondFactorRequired()
  }
  const slot = await attempts.takeOrRefuse(SECOND_FACTOR_CODES, person_id, clock.now())
  if (!(await factors.use(person_id, code, clock.now()))) throw wrongCode()
  await attempts.giveBack(slot)
}
