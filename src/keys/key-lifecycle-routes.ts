// R60 to R64, beyond the contract: /v2/api-keys/{key_id}, its rotation and its children.
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import type { Address } from '../core/ip-address.ts'
import { found, type Routes } from '../http/routes.ts'
import type { Db } from '../storage/db.ts'
import { assertAmong, bornOf, type Carving, CHILDREN_MAX, createChild, forbiddenToMint, NewChild } from './child-key.ts'
import {
  ApiKey,
  asOf,
  CreatedKey,
  endedKey,
  endsSooner,
  KeyChanges,
  type KeyEdit,
  keyEdit,
  lastAdmin,
  Rotation,
  rotateSecret,
  shutOut,
} from './key.ts'
import { type KeyStore, keyStore, keysPresent } from './key-store.ts'
import { isFromAllowed } from './key-terms.ts'
import type { KeyUse } from './key-use.ts'
import { leakedKeyRoutes } from './leaked-key-routes.ts'

const Params = Type.Object({ key_id: Type.String({ description: 'Begins `key_`.' }) })
const manage = { scope: 'admin', class: 'read' } as const
const tags = ['API keys']

export interface LifecycleNeeds {
  clock: Clock
  uses: KeyUse
  carvingOn(db: Db): Carving
  /** Where a request comes from, as far as trusted proxies tell it. */
  whereFrom(request: FastifyRequest): Address | undefined
}

export const keyLifecycleRoutes: Routes<LifecycleNeeds> = async (app, { clock, uses, carvingOn, whereFrom }) => {
  await app.register(leakedKeyRoutes, { clock })

  /** R74: throws where a key would end, or be shut out, that nobody else stands in for. */
  async function assertStays(keys: KeyStore, before: ApiKey, edit: KeyEdit, from: () => Address | undefined) {
    const { expires_at, allowed_cidrs } = edit
    const refusal = endsSooner(before, expires_at)
      ? lastAdmin()
      : allowed_cidrs && !isFromAllowed([allowed_cidrs], from) && shutOut()
    if (refusal && !(await keys.hasOtherAdmin(before.project_id, before.id, clock.now()))) throw refusal
  }

  app.get(
    '/v2/api-keys/:key_id',
    {
      config: { scope: 'read', class: 'read' },
      schema: { tags, summary: 'Retrieve an API key', params: Params, response: { 200: ApiKey } },
    },
    async ({ caller: { project_id }, params: { key_id }, db }) => {
      const key = found(await keyStore(db).find(project_id, key_id), 'API key', key_id)
      return uses.withLatest(asOf(key, clock.now()))
    },
  )

  app.patch(
    '/v2/api-keys/:key_id',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Change an API key',
        description: 'An absent field stays as it is, `null` clears it.',
        params: Params,
        body: KeyChanges,
        response: { 200: ApiKey },
      },
    },
    async (request) => {
      const { caller, body, db } = request
      const { key_id } = request.params
      const keys = keyStore(db)
      const before = found(await keys.find(caller.project_id, key_id), 'API key', key_id)
      const edit = keyEdit(before, body, clock.now())
      if (key_id === caller.key_id) await assertStays(keys, before, edit, () => whereFrom(request))
      if (before.parent_id)
        assertAmong((await keys.find(caller.project_id, before.parent_id)) ?? {}, edit.allowed_models)
      const after = await keys.edit(caller.project_id, key_id, edit)
      return uses.withLatest(asOf(found(after, 'API key', key_id), clock.now()))
    },
  )

  app.post(
    '/v2/api-keys/:key_id/rotate',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Rotate the secret of an API key',
        description:
          'The same key with a new secret, shown this once in `key`. The one of before works until the overlap ends; ' +
          'one from a rotation before that ends at once.',
        params: Params,
        body: Rotation,
        response: { 200: CreatedKey },
      },
    },
    async ({ caller: { project_id }, params: { key_id }, body, db }) => {
      const keys = keyStore(db)
      const secret = rotateSecret(body, clock.now())
      const rotated = await keys.rotate(project_id, key_id, secret, clock.now())
      const key = found(await keys.find(project_id, key_id), 'API key', key_id)
      if (!rotated) throw endedKey()
      return { ...uses.withLatest(asOf(key, clock.now())), key: secret.raw }
    },
  )

  app.post(
    '/v2/api-keys/:key_id/children',
    {
      config: {
        scope: 'inference',
        class: 'read',
        verified_owner: true,
        audited: true,
        adds: { kind: 'keys', present: keysPresent },
        forbidden: (caller, params) => forbiddenToMint(caller, (params as Static<typeof Params>).key_id),
      },
      schema: {
        tags,
        summary: 'Create a child key for one run',
        description:
          'Its budget is held on the parent and the project at once; what it did not spend goes back when it ' +
          'expires, or when it or its parent is revoked. Without the `admin` scope, a key makes children of itself ' +
          'only.',
        params: Params,
        body: NewChild,
        response: { 200: CreatedKey },
      },
    },
    async ({ caller: { project_id }, params: { key_id }, body, db }) => {
      return db.transaction(async (tx) => {
        const keys = keyStore(tx)
        const parent = found(await keys.find(project_id, key_id), 'API key', key_id)
        const child = createChild(parent, body, clock.now())
        const from = { project_id, key_id, children_max: CHILDREN_MAX }
        const carved = await carvingOn(tx).carve(from, child.api_key.budget_micros ?? 0, clock.now())
        const { api_key, raw } = await keys.insert(bornOf(child, carved), clock.now())
        return { ...api_key, key: raw }
      })
    },
  )
}
