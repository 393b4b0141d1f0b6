// 0343: /v2/operator/providers/{provider_id}/versions: who changed what and when, and the way back.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { listOf } from '../core/shapes.ts'
import { list, type Routes } from '../http/routes.ts'
import type { Db } from '../storage/db.ts'
import { OperatorProvider, ProviderVersion, Restoring } from './operator-provider.ts'
import type { OperatorProviderStore, StoredProvider } from './operator-provider-store.ts'
import { type Doing, type providerDeeds, unknownProvider } from './provider-deeds.ts'
import { STALE, versionNeeded } from './provider-precondition.ts'

const Params = Type.Object({ provider_id: Type.String({ description: 'As calls are told it.' }) })
const config = { scope: 'admin', class: 'read', operator: true } as const
const tags = ['Operator']
const response = { 200: OperatorProvider }

interface VersionNeeds {
  storeOn(db: Db): OperatorProviderStore
  deedsOn(db: Db): ReturnType<typeof providerDeeds>
  doing(request: FastifyRequest, seen?: number): Doing
  told(reply: FastifyReply, stored: StoredProvider): OperatorProvider
}

export const providerVersionRoutes: Routes<VersionNeeds> = async (app, { storeOn, deedsOn, doing, told }) => {
  app.get(
    '/v2/operator/providers/:provider_id/versions',
    {
      config,
      schema: {
        tags,
        summary: 'List the versions of a provider, newest first',
        description: 'Who changed what, and when; without secrets. Also of one that was removed.',
        params: Params,
        response: { 200: listOf(ProviderVersion) },
      },
    },
    async ({ params: { provider_id: id }, db }) => {
      const versions = await storeOn(db).versions(id)
      if (versions.length === 0) throw unknownProvider(id)
      return list(versions)
    },
  )

  app.post(
    '/v2/operator/providers/:provider_id/restore',
    {
      config,
      schema: {
        tags,
        summary: 'Return a provider to a version',
        description: `As a version of its own. Its settings come back; its secrets stay as they are. ${STALE}`,
        params: Params,
        body: Restoring,
        response,
      },
    },
    async (request, reply) => {
      const { params, body, headers, db } = request
      const seen = versionNeeded(headers['if-match'], body.version)
      return told(reply, await deedsOn(db).restore(params.provider_id, body.to_version, doing(request, seen)))
    },
  )
}
