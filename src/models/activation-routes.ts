// §9.4: who activated which release and when, of one alias and of all, and how the calls of each release went.
import { Type } from 'typebox'
import { listOf } from '../core/shapes.ts'
import { found, list, type Routes } from '../http/routes.ts'
import type { Db } from '../storage/db.ts'
import { activationStore } from './activation-store.ts'
import {
  ActivationQuery,
  AliasActivation,
  activationRange,
  CALLS_MAX,
  RELEASES_TOLD,
  ReleaseOutcome,
  shownTo,
} from './alias-activation.ts'
import { aliasStore } from './alias-store.ts'

const ByName = Type.Object({ name: Type.String({ description: 'The alias; `/` is written `%2F`.' }) })
const watch = { scope: 'read', class: 'read' } as const
const tags = ['Aliases']

export const activationRoutes: Routes = async (app) => {
  app.get(
    '/v2/aliases/:name/activations',
    {
      config: watch,
      schema: {
        tags,
        summary: 'List when releases were activated, newest first',
        description: 'What was active before is `previous_release_id`: to return to it is to activate it again.',
        params: ByName,
        response: { 200: listOf(AliasActivation) },
      },
    },
    async ({ caller, params, db }) => {
      const alias = await aliasNamed(db, caller.project_id, params.name)
      return list(shownTo(caller.scopes, await activationStore(db).ofAlias(alias)))
    },
  )

  app.get(
    '/v2/alias-activations',
    {
      config: watch,
      schema: {
        tags,
        summary: 'List activations of all aliases in a range of time, newest first',
        querystring: ActivationQuery,
        response: { 200: listOf(AliasActivation) },
      },
    },
    async ({ caller, query, db }) =>
      list(shownTo(caller.scopes, await activationStore(db).between(caller.project_id, activationRange(query)))),
  )

  app.get(
    '/v2/aliases/:name/outcomes',
    {
      config: watch,
      schema: {
        tags,
        summary: 'How the calls of each release went',
        description:
          `The newest ${RELEASES_TOLD} releases, and the active one: cost, failures and latency of the latest calls ` +
          `of each, at most ${CALLS_MAX}. Percentiles (nearest rank) are exact.`,
        params: ByName,
        response: { 200: listOf(ReleaseOutcome) },
      },
    },
    async ({ caller, params, db }) => {
      const alias = await aliasNamed(db, caller.project_id, params.name)
      const told = await aliasStore(db).newestReleases(alias, RELEASES_TOLD)
      return list(await activationStore(db).outcomes(caller.project_id, told))
    },
  )
}

const aliasNamed = async (db: Db, project_id: string, name: string) =>
  found(await aliasStore(db).find(project_id, name), 'alias', name)
