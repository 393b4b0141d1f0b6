// 0343: a provider is asked, before it is added or while it serves, what it has to say.
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import type { Routes } from '../http/routes.ts'
import type { PriceBook } from '../models/price-book.ts'
import type { Db } from '../storage/db.ts'
import { NewProvider, usable } from './operator-provider.ts'
import type { OperatorProviderStore } from './operator-provider-store.ts'
import type { ProviderSettings } from './provider-config.ts'
import { unknownProvider, wholeOf } from './provider-deeds.ts'
import { ProviderTest, type TryProvider, tested } from './provider-test.ts'

const Params = Type.Object({ provider_id: Type.String({ description: 'As calls are told it.' }) })
const config = { scope: 'admin', class: 'read', operator: true } as const
const tags = ['Operator']

interface Needs {
  clock: Clock
  tryProvider: TryProvider
  storeOn(db: Db): OperatorProviderStore
  inFile(id: string): ProviderSettings | undefined
  prices(): PriceBook
}

/** The provider is asked while no transaction is open. */
export const providerTestRoutes: Routes<Needs> = async (app, { clock, tryProvider, storeOn, inFile, prices }) => {
  const outside = { ...config, idempotency: 'outside' } as const

  app.post(
    '/v2/operator/providers/test',
    {
      config: outside,
      schema: {
        tags,
        summary: 'Test a provider before it is added',
        description: 'Asks it for its models, for three seconds at the most. Nothing is stored.',
        body: NewProvider,
        response: { 200: ProviderTest },
      },
    },
    async ({ body }) => tested(usable(body, prices()), tryProvider, clock),
  )

  app.post(
    '/v2/operator/providers/:provider_id/test',
    {
      config: outside,
      schema: {
        tags,
        summary: 'Test a provider',
        description: 'Asks it for its models, for three seconds at the most, as it is set up now.',
        params: Params,
        response: { 200: ProviderTest },
      },
    },
    async ({ params: { provider_id: id }, db }) => {
      const provider = inFile(id)
      if (provider) return tested(provider, tryProvider, clock)
      const stored = await storeOn(db).find(id)
      if (!stored) throw unknownProvider(id)
      return tested(usable(wholeOf(stored), prices()), tryProvider, clock)
    },
  )
}
