// /v2/subscriptions.
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { listOf } from '../core/shapes.ts'
import { found, list, type Routes } from '../http/routes.ts'
import { assertServed, NewSubscription, Subscription, subscribe, type WrongProvider } from './subscription.ts'
import { subscriptionStore } from './subscription-store.ts'

const Params = Type.Object({ subscription_id: Type.String({ description: 'Begins `sub_`.' }) })
const manage = { scope: 'admin', class: 'read', operator: true } as const // R79
const watch = { scope: 'read', class: 'read' } as const
const tags = ['Subscriptions']
const OPERATORS = 'Only in the project that runs the service; for others, the operator does it at /v2/operator.'

interface SubscriptionNeeds {
  clock: Clock
  wrongProvider: WrongProvider
}

export const subscriptionRoutes: Routes<SubscriptionNeeds> = async (app, needs) => {
  const { clock, wrongProvider } = needs

  app.post(
    '/v2/subscriptions',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Add a subscription',
        description: OPERATORS,
        body: NewSubscription,
        response: { 200: Subscription },
      },
    },
    async ({ caller, body, db }) => {
      assertServed(body.provider, wrongProvider)
      const subscription = subscribe(caller.project_id, body, clock.now())
      await subscriptionStore(db).insert(subscription, clock.now())
      return subscription
    },
  )

  app.get(
    '/v2/subscriptions',
    {
      config: watch,
      schema: { tags, summary: 'List subscriptions, newest first', response: { 200: listOf(Subscription) } },
    },
    async ({ caller, db }) => list(await subscriptionStore(db).list(caller.project_id)),
  )

  app.get(
    '/v2/subscriptions/:subscription_id',
    {
      config: watch,
      schema: { tags, summary: 'Retrieve a subscription', params: Params, response: { 200: Subscription } },
    },
    async ({ caller, params: { subscription_id: id }, db }) =>
      found(await subscriptionStore(db).find(caller.project_id, id), 'subscription', id),
  )

  app.post(
    '/v2/subscriptions/:subscription_id/cancel',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Cancel a subscription',
        description: `At once: the next call no longer runs under it. It stays in the list. ${OPERATORS}`,
        params: Params,
        response: { 200: Subscription },
      },
    },
    async ({ caller, params: { subscription_id: id }, db }) =>
      found(await subscriptionStore(db).cancel(caller.project_id, id), 'subscription', id),
  )
}
