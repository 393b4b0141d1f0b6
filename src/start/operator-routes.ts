// R79: what belongs to whoever runs the service, under /v2/operator.
import { projectsMustExist } from '../accounts/operator-hooks.ts'
import { operatorProjectRoutes } from '../accounts/operator-project-routes.ts'
import type { Clock } from '../core/clock.ts'
import type { Routes } from '../http/routes.ts'
import { operatorQuotaRoutes } from '../limits/operator-quota-routes.ts'
import type { Quotas } from '../limits/quota.ts'
import { operatorSubscriptionRoutes } from '../subscriptions/operator-subscription-routes.ts'
import { operatorUsageRoutes } from '../usage/operator-usage-routes.ts'
import { foundProject } from './bootstrap.ts'

export const operatorRoutes: Routes<{ clock: Clock; quotas: Quotas }> = async (app, { clock, quotas }) => {
  projectsMustExist(app)
  await app.register(operatorProjectRoutes, { clock, foundProject })
  await app.register(operatorQuotaRoutes, { quotas })
  await app.register(operatorSubscriptionRoutes, { clock })
  await app.register(operatorUsageRoutes)
}
