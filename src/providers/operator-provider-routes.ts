// R79, 0343: /v2/operator/providers: the providers of the gateway, those of switchyard.yaml to be read, and those added
// here to be changed without a restart.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import type { Sealing } from '../core/sealing.ts'
import { listOf } from '../core/shapes.ts'
import { list, type Routes } from '../http/routes.ts'
import type { Db } from '../storage/db.ts'
import {
  changed,
  ModelsChange,
  NewProvider,
  OperatorProvider,
  ProviderChange,
  RemovedProvider,
  shownFromFile,
  withModels,
} from './operator-provider.ts'
import { operatorProviderStore, type StoredProvider } from './operator-provider-store.ts'
import type { ProviderSettings } from './provider-config.ts'
import { type Doing, type FileProviders, providerDeeds, unknownProvider } from './provider-deeds.ts'
import { etagOf, STALE, versionNeeded, versionSeen } from './provider-precondition.ts'
import type { TryProvider } from './provider-test.ts'
import { providerTestRoutes } from './provider-test-routes.ts'
import { providerVersionRoutes } from './provider-version-routes.ts'

const Params = Type.Object({ provider_id: Type.String({ description: 'As calls are told it.' }) })
const Force = Type.Object({
  force: Type.Optional(Type.Enum(['true', 'false'], { description: 'Although aliases of projects name it.' })),
})
const config = { scope: 'admin', class: 'read', operator: true } as const
const tags = ['Operator']
const response = { 200: OperatorProvider }

export interface OperatorProviderNeeds {
  clock: Clock
  seals: Sealing
  file: FileProviders & { all(): readonly ProviderSettings[]; source(): 'file' | 'environment' }
  /** One of the store's as answers tell it. */
  shown(stored: StoredProvider): OperatorProvider
  runningAt(id: string): number
  tryProvider: TryProvider
  /** What was changed holds in this process from now on. Never rejects. */
  learn(): Promise<void>
}

export const operatorProviderRoutes: Routes<OperatorProviderNeeds> = async (app, needs) => {
  const { clock, file, shown, learn } = needs
  const storeOn = (db: Db) => operatorProviderStore(db, needs.seals)
  const deedsOn = (db: Db) => providerDeeds(storeOn(db), file)
  const doing = ({ caller }: FastifyRequest, seen?: number): Doing => ({
    actor: caller.person_id ?? caller.key_id,
    now: clock.now(),
    seen,
  })
  const told = (reply: FastifyReply, stored: StoredProvider) => {
    reply.header('etag', etagOf(stored.version))
    return shown(stored)
  }
  const inFile = (id: string) => file.all().find((one) => one.id === id)
  const ofFile = (provider: ProviderSettings, stored?: StoredProvider) => ({
    ...shownFromFile(provider, file.source(), needs.runningAt(provider.id)),
    ...(stored && { set_aside_version: stored.version }),
  })

  // Once it is committed, and before whoever asked hears of it.
  app.addHook('onSend', async ({ method }, { statusCode }) => {
    if (method !== 'GET' && statusCode < 300) await learn()
  })

  app.get(
    '/v2/operator/providers',
    {
      config,
      schema: {
        tags,
        summary: 'List the providers',
        description: 'In the order of preference for a model: those of switchyard.yaml, then those added here.',
        response: { 200: listOf(OperatorProvider) },
      },
    },
    async ({ db }) => {
      const stored = await storeOn(db).list()
      const fromFile = file.all().map((one) =>
        ofFile(
          one,
          stored.find(({ id }) => id === one.id),
        ),
      )
      return list([...fromFile, ...stored.filter(({ id }) => !inFile(id)).map(shown)])
    },
  )

  app.get(
    '/v2/operator/providers/:provider_id',
    { config, schema: { tags, summary: 'Retrieve a provider', params: Params, response } },
    async ({ params: { provider_id: id }, db }, reply) => {
      const [stored, provider] = [await storeOn(db).find(id), inFile(id)]
      if (provider) return ofFile(provider, stored)
      if (!stored) throw unknownProvider(id)
      return told(reply, stored)
    },
  )

  app.post(
    '/v2/operator/providers',
    {
      config,
      schema: {
        tags,
        summary: 'Add a provider',
        description:
          'The fields of an entry of `providers` in switchyard.yaml, checked the same way; one that is not known is ' +
          'refused. Secrets are sealed and never told back. Every replica dials it within a second.',
        body: NewProvider,
        response,
      },
    },
    async (request, reply) => told(reply, await deedsOn(request.db).add(request.body, doing(request))),
  )

  app.patch(
    '/v2/operator/providers/:provider_id',
    {
      config,
      schema: {
        tags,
        summary: 'Change a provider',
        description: `A field that is given replaces what was there; \`null\` gives it its default. ${STALE}`,
        params: Params,
        body: ProviderChange,
        response,
      },
    },
    async (request, reply) => {
      const { params, body, headers, db } = request
      const seen = versionNeeded(headers['if-match'], body.version)
      const deed = deedsOn(db).change(params.provider_id, doing(request, seen), (whole) => changed(whole, body))
      return told(reply, await deed)
    },
  )

  app.post(
    '/v2/operator/providers/:provider_id/models',
    {
      config,
      schema: {
        tags,
        summary: 'Change models and prices of a provider',
        description: `Model by model; those that are not named stay as they are. ${STALE}`,
        params: Params,
        body: ModelsChange,
        response,
      },
    },
    async (request, reply) => {
      const { params, body, headers, db } = request
      const seen = versionNeeded(headers['if-match'], body.version)
      const deed = deedsOn(db).change(params.provider_id, doing(request, seen), (whole) => withModels(whole, body))
      return told(reply, await deed)
    },
  )

  for (const [name, status, summary, description] of TURNS)
    app.post(
      `/v2/operator/providers/:provider_id/${name}`,
      { config, schema: { tags, summary, description, params: Params, response } },
      async (request, reply) => {
        const { params, headers, db } = request
        const seen = versionSeen(headers['if-match'], undefined)
        return told(reply, await deedsOn(db).turn(params.provider_id, status, doing(request, seen)))
      },
    )

  app.delete(
    '/v2/operator/providers/:provider_id',
    {
      config,
      schema: {
        tags,
        summary: 'Remove a provider',
        description:
          'Calls under way end; its secrets are deleted at once. 409 while aliases of projects name it, or where it ' +
          'is the last one, unless `force` says so. Its versions can still be read.',
        params: Params,
        querystring: Force,
        response: { 200: RemovedProvider },
      },
    },
    async (request) => {
      const { params, query, headers, db } = request
      const seen = versionSeen(headers['if-match'], undefined)
      await deedsOn(db).remove(params.provider_id, doing(request, seen), query.force === 'true')
      return { id: params.provider_id, object: 'provider.removed' as const, removed: true as const }
    },
  )

  await app.register(providerVersionRoutes, { storeOn, deedsOn, doing, told })
  await app.register(providerTestRoutes, { ...needs, storeOn, inFile, prices: file.prices })
}

const TURNS = [
  [
    'drain',
    'draining',
    'Drain a provider',
    'It takes no new calls, on every replica within a second; those under way end. `running` tells how many are.',
  ],
  ['resume', 'active', 'Resume a drained provider', 'It takes calls again.'],
] as const
