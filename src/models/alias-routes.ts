// §9.4: /v2/aliases and /v2/alias-releases. A name may hold a slash; in an address it is written %2F.
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { listOf } from '../core/shapes.ts'
import { found, list, type Routes } from '../http/routes.ts'
import { sendList } from '../http/whole-list.ts'
import type { Db } from '../storage/db.ts'
import { activationRoutes } from './activation-routes.ts'
import {
  Alias,
  AliasBoundary,
  AliasRelease,
  type AliasTarget,
  DeletedAlias,
  foundAlias,
  NewAlias,
  NewAliasRelease,
  type ProviderProblem,
  releaseOf,
} from './alias.ts'
import { aliasesPresent, aliasStore, releasesPresent } from './alias-store.ts'
import type { ReleaseEvidence } from './release-evidence.ts'

const ByName = Type.Object({ name: Type.String({ description: 'The alias; `/` is written `%2F`.' }) })
const ByRelease = Type.Object({ release_id: Type.String({ description: 'Begins `alr_`.' }) })
const manage = { scope: 'admin', class: 'read' } as const
const watch = { scope: 'read', class: 'read' } as const
const aliases = { kind: 'aliases', present: aliasesPresent } as const
const releases = { kind: 'releases', present: releasesPresent } as const
const tags = ['Aliases']

interface Needs {
  clock: Clock
  /** What is wrong with a target that names a provider, if anything is. */
  providerProblem(target: AliasTarget): ProviderProblem | undefined
  /** What a replay run says of these targets; refuses a run that says nothing of them. */
  evidenceFor(
    db: Db,
    project_id: string,
    replay_run_id: string,
    targets: readonly AliasTarget[],
  ): Promise<ReleaseEvidence>
}

export const aliasRoutes: Routes<Needs> = async (app, { clock, providerProblem, evidenceFor }) => {
  app.post(
    '/v2/aliases',
    {
      config: { ...manage, adds: [aliases, releases] },
      schema: {
        tags,
        summary: 'Create an alias',
        description: 'Makes the alias and its first release at once, and points the one at the other.',
        body: NewAlias,
        response: { 200: Alias },
      },
    },
    async ({ caller, body, db }) => {
      const founded = foundAlias(caller.project_id, body, clock.now())
      assertServed(founded.release.targets, providerProblem)
      await assertKnown(db, caller.project_id, founded.release.targets)
      if (!(await aliasStore(db).insert(founded, clock.now(), actorOf(caller)))) throw taken(founded.alias.name)
      return founded.alias
    },
  )

  app.get(
    '/v2/aliases',
    { config: watch, schema: { tags, summary: 'List aliases, newest first', response: { 200: listOf(Alias) } } },
    async ({ caller, db }) => list(await aliasStore(db).list(caller.project_id)),
  )

  app.get(
    '/v2/aliases/:name',
    { config: watch, schema: { tags, summary: 'Retrieve an alias', params: ByName, response: { 200: Alias } } },
    async ({ caller, params, db }) => aliasNamed(db, caller.project_id, params.name),
  )

  app.delete(
    '/v2/aliases/:name',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Delete an alias',
        description: 'Its releases can still be retrieved by their ids.',
        params: ByName,
        response: { 200: DeletedAlias },
      },
    },
    async ({ caller, params, db }) => {
      const { name } = params
      const { id } = found(await aliasStore(db).remove(caller.project_id, name), 'alias', name)
      return { id, object: 'alias.deleted' as const, name, deleted: true as const }
    },
  )

  app.post(
    '/v2/aliases/:name/boundary',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Set the boundary of an alias',
        description: 'For requests through this alias, whatever the project’s is; `null` leaves it to the project.',
        params: ByName,
        body: AliasBoundary,
        response: { 200: Alias },
      },
    },
    async ({ caller, params, body, db }) => {
      const changed = await aliasStore(db).setBoundary(caller.project_id, params.name, body.boundary, clock.now())
      return found(changed, 'alias', params.name)
    },
  )

  await app.register(releaseRoutes, { clock, providerProblem, evidenceFor })
  await app.register(activationRoutes)
}

const releaseRoutes: Routes<Needs> = async (app, { clock, providerProblem, evidenceFor }) => {
  app.post(
    '/v2/aliases/:name/releases',
    {
      config: { ...manage, adds: releases },
      schema: {
        tags,
        summary: 'Add a release',
        description:
          'Requests go to it once it is activated. With `replay_run_id` it shows, for good, what that run found.',
        params: ByName,
        body: NewAliasRelease,
        response: { 200: AliasRelease },
      },
    },
    async ({ caller, params, body, db }) => {
      const release = releaseOf(await aliasNamed(db, caller.project_id, params.name), body, clock.now())
      assertServed(release.targets, providerProblem)
      await assertKnown(db, caller.project_id, release.targets)
      const { replay_run_id: run_id } = body
      if (run_id !== undefined) release.evidence = await evidenceFor(db, caller.project_id, run_id, release.targets)
      return found(await aliasStore(db).addRelease(release, clock.now()), 'alias', params.name)
    },
  )

  app.get(
    '/v2/aliases/:name/releases',
    {
      config: watch,
      schema: { tags, summary: 'List releases, newest first', params: ByName, response: { 200: listOf(AliasRelease) } },
    },
    async ({ caller, params, db }, reply) => {
      const alias = await aliasNamed(db, caller.project_id, params.name)
      return sendList(reply, aliasStore(db).listReleases(alias), AliasRelease)
    },
  )

  app.get(
    '/v2/alias-releases/:release_id',
    {
      config: watch,
      schema: { tags, summary: 'Retrieve a release', params: ByRelease, response: { 200: AliasRelease } },
    },
    async ({ caller, params, db }) => releaseWith(db, caller.project_id, params.release_id),
  )

  app.post(
    '/v2/alias-releases/:release_id/activate',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Activate a release',
        description: 'Points the alias at this release. Rolling back is activating an older one.',
        params: ByRelease,
        response: { 200: Alias },
      },
    },
    async ({ caller, params, db }) => {
      const release = await releaseWith(db, caller.project_id, params.release_id)
      const moved = await aliasStore(db).activate(release, clock.now(), actorOf(caller))
      return found(moved, 'alias', release.alias_name)
    },
  )
}

const actorOf = ({ person_id, key_id }: { person_id?: string | undefined; key_id: string }) => person_id ?? key_id

const aliasNamed = async (db: Db, project_id: string, name: string) =>
  found(await aliasStore(db).find(project_id, name), 'alias', name)

const releaseWith = async (db: Db, project_id: string, id: string) =>
  found(await aliasStore(db).findRelease(project_id, id), 'alias release', id)

async function assertKnown(db: Db, project_id: string, targets: readonly AliasTarget[]): Promise<void> {
  const field = await aliasStore(db).firstUnknown(project_id, targets)
  if (field === undefined) return
  const what = field.endsWith('cluster_id') ? 'a cluster' : 'a provider credential, not revoked,'
  throw new Refusal('invalid_request', `'${field}' must name ${what} of this project.`)
}

/** A name that nobody answers to is told where it is written, not with every request through the alias. */
function assertServed(targets: readonly AliasTarget[], problemOf: Needs['providerProblem']): void {
  for (const [at, target] of targets.entries()) {
    const problem = target.provider === undefined ? undefined : problemOf(target)
    if (problem) throw new Refusal('invalid_request', `'targets[${at}].${problem.field}' ${problem.must}.`)
  }
}

const taken = (name: string) => new Refusal('invalid_request', `'name' must be new: there is an alias '${name}'.`)
