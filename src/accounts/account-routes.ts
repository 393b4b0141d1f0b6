// §5.9: /auth, the only endpoints that need neither a key nor a session.
import type { Routes } from '../http/routes.ts'
import { issuerRoutes } from './issuer-routes.ts'
import { ownerLinkRoutes } from './owner-link-routes.ts'
import { secondFactorRoutes } from './second-factor-routes.ts'
import type { AuthNeeds } from './sign-in-hooks.ts'
import { signInRoutes } from './sign-in-routes.ts'
import { signUpRoutes } from './sign-up-routes.ts'

export const accountRoutes: Routes<AuthNeeds> = async (app, needs) => {
  app.addHook('onRequest', (request, _reply, done) => {
    needs.signIns.refuseOtherSites(request)
    done()
  })
  await app.register(signUpRoutes, needs)
  await app.register(signInRoutes, needs)
  await app.register(ownerLinkRoutes, needs)
  await app.register(issuerRoutes, needs)
  await app.register(secondFactorRoutes, needs)
}
