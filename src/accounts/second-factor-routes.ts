// /auth/second-factor: codes of a device beside the password, for who signs in with one (0342).
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Routes } from '../http/routes.ts'
import { accountStore } from './account-store.ts'
import { attemptStore } from './attempt-store.ts'
import { SECOND_FACTOR_CODES } from './attempts.ts'
import { Password } from './password.ts'
import {
  alreadyEnabled,
  Code,
  Enrolment,
  enrolmentOf,
  noPassword,
  notBegun,
  SecondFactor,
  wrongCode,
} from './second-factor.ts'
import { removeSecondFactor, secondFactorStore } from './second-factor-store.ts'
import { notSignedIn } from './sign-in.ts'
import type { AuthNeeds } from './sign-in-hooks.ts'
import { whoKnows } from './sign-in-routes.ts'

const open = { public: true, class: 'auth' } as const
const tags = ['Accounts']
const security: [] = []
const PATH = '/auth/second-factor'

export const Begin = Type.Object({ password: Password }, { title: 'SecondFactorBeginning' })
export const Confirm = Type.Object({ code: Code }, { title: 'SecondFactorConfirmation' })
export const Remove = Type.Object({ password: Password, code: Code }, { title: 'SecondFactorRemoval' })
export const Enabled = Type.Object(
  {
    object: Type.Literal('second_factor.enabled'),
    enabled: Type.Literal(true),
    recovery_codes: Type.Array(Type.String(), { description: 'Each works once. They are not told again.' }),
  },
  { title: 'EnabledSecondFactor' },
)

export const secondFactorRoutes: Routes<AuthNeeds> = async (app, needs) => {
  const { db, clock, seals, note, addressOf } = needs
  const factors = secondFactorStore(db, seals)

  app.get(
    PATH,
    { config: open, schema: { tags, security, summary: 'Your second factor', response: { 200: SecondFactor } } },
    async (request, reply) => {
      const { id, password_hash } = await signedIn(request, reply, needs)
      return factors.describe(id, password_hash !== null)
    },
  )

  app.post(
    PATH,
    {
      config: open,
      schema: {
        tags,
        security,
        summary: 'Begin to set up a second factor',
        description: 'A secret for an app of the device. It counts once a code of it was confirmed.',
        body: Begin,
        response: { 200: Enrolment },
      },
    },
    async (request, reply) => {
      const { id, email, password_hash } = await signedIn(request, reply, needs)
      if (password_hash === null) throw noPassword()
      if (await factors.isEnabled(id)) throw alreadyEnabled()
      const { slot } = await whoKnows({ email, password: request.body.password }, addressOf(request), needs)
      const secret = await factors.begin(id, clock.now())
      await attemptStore(db).giveBack(slot)
      if (!secret) throw alreadyEnabled()
      return enrolmentOf(secret, email)
    },
  )

  app.post(
    `${PATH}/confirm`,
    {
      config: open,
      schema: {
        tags,
        security,
        summary: 'Confirm a second factor with a code of it',
        description: 'From then on the password alone does not log in.',
        body: Confirm,
        response: { 200: Enabled },
      },
    },
    async (request, reply) => {
      const { id: person_id } = await signedIn(request, reply, needs)
      if (!(await factors.isBegun(person_id))) throw notBegun()
      const attempts = attemptStore(db)
      const slot = await attempts.takeOrRefuse(SECOND_FACTOR_CODES, person_id, clock.now())
      const recovery_codes = await db.transaction(async (tx) => {
        const codes = await secondFactorStore(tx, seals).confirm(person_id, request.body.code, clock.now())
        if (codes) await note(tx, { person_id, action: `POST ${PATH}/confirm`, request_id: request.id }, clock.now())
        return codes
      })
      if (!recovery_codes) throw wrongCode()
      await attempts.giveBack(slot)
      return { object: 'second_factor.enabled' as const, enabled: true as const, recovery_codes }
    },
  )

  app.post(
    `${PATH}/remove`,
    {
      config: open,
      schema: { tags, security, summary: 'Remove your second factor', body: Remove, response: { 200: SecondFactor } },
    },
    async (request, reply) => {
      const { id: person_id, email, password_hash } = await signedIn(request, reply, needs)
      if (password_hash === null) throw noPassword()
      const { slot } = await whoKnows({ email, ...request.body }, addressOf(request), needs)
      await db.transaction(async (tx) => {
        await removeSecondFactor(tx, person_id)
        await note(tx, { person_id, action: `POST ${PATH}/remove`, request_id: request.id }, clock.now())
        await attemptStore(tx).giveBack(slot)
      })
      return factors.describe(person_id, true)
    },
  )
}

async function signedIn(request: FastifyRequest, reply: FastifyReply, { db, signIns }: AuthNeeds) {
  const sign_in = await signIns.find(request, reply)
  const person = sign_in && (await accountStore(db).findPerson(sign_in.person_id))
  if (!person) throw notSignedIn()
  return person
}
