// §4.1–4.4: /v2/api-keys.
import { Type } from 'typebox'
import { KeySpendingLimit, windowLimit } from '../budgets/budget-window.ts'
import type { Clock } from '../core/clock.ts'
import { listOf } from '../core/shapes.ts'
import { limitMicros } from '../core/spending-limit.ts'
import { found, type Routes } from '../http/routes.ts'
import { sendList } from '../http/whole-list.ts'
import { mapped } from '../storage/batches.ts'
import type { Db } from '../storage/db.ts'
import { type Carving, refuseChild } from './child-key.ts'
import { ApiKey, asOf, CreatedKey, createKey, lastAdmin, NewKey, RevokedKey } from './key.ts'
import { KeyQuery, keyQuestion, placed } from './key-list.ts'
import { keyStore, keysPresent } from './key-store.ts'
import type { KeyUse } from './key-use.ts'

const Params = Type.Object({ key_id: Type.String({ description: 'Begins `key_`.' }) })
const manage = { scope: 'admin', class: 'read' } as const
const tags = ['API keys']

export interface KeyNeeds {
  clock: Clock
  uses: KeyUse
  carvingOn(db: Db): Pick<Carving, 'revokeFamily'>
}

export const keyRoutes: Routes<KeyNeeds> = async (app, { clock, uses, carvingOn }) => {
  const shown = (key: ApiKey) => uses.withLatest(asOf(key, clock.now()))

  app.post(
    '/v2/api-keys',
    {
      config: { ...manage, verified_owner: true, adds: { kind: 'keys', present: keysPresent } }, // §4.1 rule 1
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
      schema: {
        tags,
        summary: 'List API keys, newest first',
        description:
          'All of them in one answer. With `limit`, at most so many: `has_more` says whether there are more, and ' +
          '`after` with the last id of a page gives the next one.',
        querystring: KeyQuery,
        response: { 200: listOf(ApiKey) },
      },
    },
    async ({ caller: { project_id }, query, db }, reply) => {
      const { limit, after: id, ...of } = keyQuestion(query)
      const keys = keyStore(db)
      const after = id === undefined ? undefined : placed(await keys.place(project_id, id))
      return sendList(reply, mapped(keys.listAll(project_id, { ...of, after }), shown), ApiKey, limit)
    },
  )

  app.delete(
    '/v2/api-keys/:key_id',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Revoke an API key',
        description: 'The last active key with the `admin` scope cannot revoke itself.',
        params: Params,
        response: { 200: RevokedKey },
      },
    },
    async ({ caller: { project_id, key_id }, params, db }) => {
      const keys = keyStore(db)
      if (key_id === params.key_id && !(await keys.hasOtherAdmin(project_id, key_id, clock.now()))) throw lastAdmin()
      if (!(await keys.revoke(project_id, params.key_id))) {
        found(await keys.find(project_id, params.key_id), 'API key', params.key_id)
        await carvingOn(db).revokeFamily(project_id, params.key_id, clock.now()) // R64: all of them, or none
      }
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
        description:
          '`null` clears the limit, `0` blocks every generation, an absent field changes nothing. `window` is a ' +
          'limit for each day, week or month of UTC beside it.',
        params: Params,
        body: KeySpendingLimit,
        response: { 200: ApiKey },
      },
    },
    async ({ caller: { project_id }, params: { key_id }, body, db }) => {
      const keys = keyStore(db)
      const [micros, window] = [limitMicros(body), windowLimit(body)]
      if (window !== undefined) await keys.setWindow(project_id, key_id, window, clock.now())
      const set = micros === undefined ? undefined : await keys.setBudget(project_id, key_id, micros)
      const key = set ?? found(await keys.find(project_id, key_id), 'API key', key_id)
      if (micros !== undefined || window !== undefined) refuseChild(key)
      return shown(key)
    },
  )
}
