// §4.1–4.4: /v2/api-keys.
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { listOf } from '../core/shapes.ts'
import { limitMicros, SpendingLimit } from '../core/spending-limit.ts'
import { found, list, type Routes } from '../http/routes.ts'
import { ApiKey, CreatedKey, createKey, NewKey, RevokedKey } from './key.ts'
import { keyStore } from './key-store.ts'
import type { KeyUse } from './key-use.ts'

const Params = Type.Object({ key_id: Type.String({ description: 'Begins `key_`.' }) })
const manage = { scope: 'admin', class: 'read' } as const
const tags = ['API keys']

export const keyRoutes: Routes<{ clock: Clock; uses: KeyUse }> = async (app, { clock, uses }) => {
  app.post(
    '/v2/api-keys',
    {
      config: { ...manage, verified_owner: true }, // §4.1 rule 1
      schema: {
        tags,
        summary: 'Create an API key',
        description: 'The answer holds the raw key in `key`. It is shown this once and never again.',
        body: NewKey,
        response: { 200: CreatedKey },
      },
    },
    async ({ caller, body, db }) => {
      const minted = createKey(caller.project_id, body, clock.now())
      await keyStore(db).insert(minted, clock.now())
      return { ...minted.api_key, key: minted.raw }
    },
  )

  app.get(
    '/v2/api-keys',
    {
      config: { scope: 'read', class: 'read' },
      schema: { tags, summary: 'List API keys, newest first', response: { 200: listOf(ApiKey) } },
    },
    async ({ caller, db }) => list((await keyStore(db).list(caller.project_id)).map(uses.withLatest)),
  )

  app.delete(
    '/v2/api-keys/:key_id',
    {
      config: manage,
      schema: { tags, summary: 'Revoke an API key', params: Params, response: { 200: RevokedKey } },
    },
    async ({ caller, params, db }) => {
      found((await keyStore(db).revoke(caller.project_id, params.key_id)) || undefined, 'API key', params.key_id)
      return { id: params.key_id, object: 'api_key.revoked' as const, revoked: true as const }
    },
  )

  app.post(
    '/v2/api-keys/:key_id/budget',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Set a spending limit',
        description: '`null` clears the limit, `0` blocks every generation, an absent field changes nothing.',
        params: Params,
        body: SpendingLimit,
        response: { 200: ApiKey },
      },
    },
    async ({ caller, params, body, db }) => {
      const { key_id } = params
      const micros = limitMicros(body)
      const keys = keyStore(db)
      const key =
        micros === undefined
          ? await keys.find(caller.project_id, key_id)
          : await keys.setBudget(caller.project_id, key_id, micros)
      return uses.withLatest(found(key, 'API key', key_id))
    },
  )
}
