// R79: what belongs to whoever runs the service, under /v2/operator.
import { projectsMustExist } from '../accounts/operator-hooks.ts'
import { operatorProjectRoutes } from '../accounts/operator-project-routes.ts'
import type { Clock } from '../core/clock.ts'
import type { Routes } from '../http/routes.ts'
import { operatorQuotaRoutes } from '../limits/operator-quota-routes.ts'
import type { Quotas } from '../limits/quota.ts'
import { type OperatorProviderNeeds, operatorProviderRoutes } from '../providers/operator-provider-routes.ts'
import { operatorSubscriptionRoutes } from '../subscriptions/operator-subscription-routes.ts'
import type { WrongProvider } from '../subscriptions/subscription.ts'
import { operatorUsageRoutes } from '../usage/operator-usage-routes.ts'
import { foundProject } from './bootstrap.ts'

interface Needs {
  clock: Clock
  settings: { quotas: Quotas }
  wrongProvider: WrongProvider
  providers: Omit<OperatorProviderNeeds, 'clock'>
}

export const operatorRoutes: Routes<Needs> = async (app, { clock, settings, wrongProvider, providers }) => {
  projectsMustExist(app)
  await app.register(operatorProjectRoutes, { clock, foundProject })
  await app.register(operatorQuotaRoutes, { quotas: settings.quotas })
  await app.register(operatorSubscriptionRoutes, { clock, wrongProvider })
  await app.register(operatorProviderRoutes, { clock, ...providers })
  await app.register(operatorUsageRoutes)
}
