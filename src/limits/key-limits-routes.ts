// §8.1: /v2/api-keys/{key_id}/limits.
import { Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'
import { found, type Routes } from '../http/routes.ts'
import { ApiKeyLimits, describeLimits, NewKeyLimits } from './key-limits.ts'
import { keyLimitsStore } from './key-limits-store.ts'
import { checkedRates } from './model-rates.ts'
import type { Limits } from './policy.ts'

const Params = Type.Object({ key_id: Type.String({ description: 'Begins `key_`.' }) })
const tags = ['API keys']

export const keyLimitsRoutes: Routes<{ limits: Limits }> = async (app, { limits }) => {
  app.post(
    '/v2/api-keys/:key_id/limits',
    {
      config: { scope: 'admin', class: 'read' },
      schema: {
        tags,
        summary: "Set a key's own rate limits",
        description: '`null` gives the key what every key has, an absent field changes nothing.',
        params: Params,
        body: NewKeyLimits,
        response: { 200: ApiKeyLimits },
      },
    },
    async ({ caller, params: { key_id }, body, db }) => {
      const store = keyLimitsStore(db)
      if (body.models) checkedRates(body.models)
      const own = await store.set(caller.project_id, key_id, body)
      if (!own) found(await store.find(caller.project_id, key_id), 'API key', key_id)
      if (!own) throw new Refusal('invalid_request', 'A child key has the rate limits of its parent.')
      return describeLimits(key_id, own, limits.key)
    },
  )

  app.get(
    '/v2/api-keys/:key_id/limits',
    {
      config: { scope: 'read', class: 'read' },
      schema: { tags, summary: "Retrieve a key's rate limits", params: Params, response: { 200: ApiKeyLimits } },
    },
    async ({ caller, params: { key_id }, db }) => {
      const own = await keyLimitsStore(db).find(caller.project_id, key_id)
      return describeLimits(key_id, found(own, 'API key', key_id), limits.key)
    },
  )
}
