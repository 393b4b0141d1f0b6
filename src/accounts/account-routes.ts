// §5.9: /auth, the only endpoints that need neither a key nor a session.
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import type { Routes } from '../http/routes.ts'
import type { Db } from '../storage/db.ts'
import type { SignUpMode } from './account.ts'
import type { AccountNeeds, AccountRequestStore } from './account-request-store.ts'
import { ownerLinkRoutes } from './owner-link-routes.ts'
import type { Passwords } from './password.ts'
import type { SignIns } from './sign-in-hooks.ts'
import { signInRoutes } from './sign-in-routes.ts'
import { signUpRoutes } from './sign-up-routes.ts'

export interface AuthNeeds extends AccountNeeds {
  db: Db
  clock: Clock
  passwords: Passwords
  requests: AccountRequestStore
  signIns: SignIns
  sign_up: SignUpMode
  /** T-71: whom an attempt is counted against. */
  addressOf(request: FastifyRequest): string
}

export const accountRoutes: Routes<AuthNeeds> = async (app, needs) => {
  app.addHook('onRequest', (request, _reply, done) => {
    needs.signIns.refuseOtherSites(request)
    done()
  })
  await app.register(signUpRoutes, needs)
  await app.register(signInRoutes, needs)
  await app.register(ownerLinkRoutes, needs)
}
