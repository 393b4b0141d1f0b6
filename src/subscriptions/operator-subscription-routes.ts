// R79: /v2/operator/projects/{project_id}/subscriptions: what a project gets at a discount is the operator's to say.
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { listOf } from '../core/shapes.ts'
import { found, list, type Routes } from '../http/routes.ts'
import { assertServed, NewSubscription, Subscription, subscribe, type WrongProvider } from './subscription.ts'
import { subscriptionStore } from './subscription-store.ts'

const Params = Type.Object({ project_id: Type.String({ description: 'Begins `prj_`.' }) })
const OneOf = Type.Object({
  ...Params.properties,
  subscription_id: Type.String({ description: 'Begins `sub_`.' }),
})
const config = { scope: 'admin', class: 'read', operator: true } as const
const tags = ['Operator']

interface SubscriptionNeeds {
  clock: Clock
  wrongProvider: WrongProvider
}

export const operatorSubscriptionRoutes: Routes<SubscriptionNeeds> = async (app, needs) => {
  const { clock, wrongProvider } = needs

  app.post(
    '/v2/operator/projects/:project_id/subscriptions',
    {
      config,
      schema: {
        tags,
        summary: 'Add a subscription to a project',
        params: Params,
        body: NewSubscription,
        response: { 200: Subscription },
      },
    },
    async ({ params, body, db }) => {
      assertServed(body.provider, wrongProvider)
      const subscription = subscribe(params.project_id, body, clock.now())
      await subscriptionStore(db).insert(subscription, clock.now())
      return subscription
    },
  )

  app.get(
    '/v2/operator/projects/:project_id/subscriptions',
    {
      config,
      schema: {
        tags,
        summary: 'List the subscriptions of a project, newest first',
        params: Params,
        response: { 200: listOf(Subscription) },
      },
    },
    async ({ params, db }) => list(await subscriptionStore(db).list(params.project_id)),
  )

  app.post(
    '/v2/operator/projects/:project_id/subscriptions/:subscription_id/cancel',
    {
      config,
      schema: {
        tags,
        summary: 'Cancel a subscription of a project',
        description: 'At once: the next call no longer runs under it. It stays in the list.',
        params: OneOf,
        response: { 200: Subscription },
      },
    },
    async ({ params: { project_id, subscription_id: id }, db }) =>
      found(await subscriptionStore(db).cancel(project_id, id), 'subscription', id),
  )
}
