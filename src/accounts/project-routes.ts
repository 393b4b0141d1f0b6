// /v2/project: the project that the key belongs to, its name, its cap, its regions, its boundary, its recordings, and
// how people enter it.
import type { Clock } from '../core/clock.ts'
import { label } from '../core/shapes.ts'
import { limitMicros } from '../core/spending-limit.ts'
import { found, type Routes } from '../http/routes.ts'
import type { Db } from '../storage/db.ts'
import {
  allowedRegions,
  assertRegionsExist,
  firstYourOwn,
  nameTaken,
  notRecording,
  ProjectBoundary,
  ProjectCap,
  ProjectName,
  ProjectRecordings,
  ProjectSecondFactor,
  ProjectState,
  RegionPolicy,
} from './project.ts'
import { type CredentialPlace, projectStore } from './project-store.ts'
import { signInStore } from './sign-in-store.ts'

const manage = { scope: 'admin', class: 'read' } as const
const tags = ['Project']

/** Where calls may go, as far as the operator's settings say. */
export interface Places {
  /** Of the providers. */
  regions: readonly string[]
  /** Undefined where nobody knows where its calls go. */
  regionOf(credential: CredentialPlace): string | undefined
}

interface Needs {
  clock: Clock
  places: Places
  gateway: { full_fidelity: boolean }
}

export const projectRoutes: Routes<Needs> = async (app, { clock, places, gateway }) => {
  app.get(
    '/v2/project',
    {
      config: { scope: 'read', class: 'read', while_suspended: true },
      schema: { tags, summary: 'Retrieve the project', response: { 200: ProjectState } },
    },
    async ({ caller, db }) => projectWith(db, caller.project_id),
  )

  app.post(
    '/v2/project/name',
    {
      config: manage,
      schema: { tags, summary: 'Rename the project', body: ProjectName, response: { 200: ProjectState } },
    },
    async ({ caller, body, db }) => {
      const name = label('name', body.name)
      if (!(await projectStore(db).rename(caller.project_id, name))) throw nameTaken(name)
      return projectWith(db, caller.project_id)
    },
  )

  app.post(
    '/v2/project/cap',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Set the spending cap',
        description:
          'For all keys of the project together. `null` clears the cap, `0` blocks every generation, an absent field ' +
          'changes nothing. With `overage_enabled` the cap refuses nothing; limits of keys, and a cap that the ' +
          'operator set, stay as hard as they are.',
        body: ProjectCap,
        response: { 200: ProjectState },
      },
    },
    async ({ caller, body, db }) => {
      const change = { cap_micros: limitMicros(body), overage_enabled: body.overage_enabled }
      await projectStore(db).setCap(caller.project_id, change)
      return projectWith(db, caller.project_id)
    },
  )

  app.post(
    '/v2/project/regions',
    {
      config: manage,
      schema: { tags, summary: 'Set the allowed regions', body: RegionPolicy, response: { 200: ProjectState } },
    },
    async ({ caller, body, db }) => {
      const regions = allowedRegions(body)
      assertRegionsExist(regions, await regionsAround(db, caller.project_id, places))
      await projectStore(db).setRegions(caller.project_id, regions)
      return projectWith(db, caller.project_id)
    },
  )

  app.post(
    '/v2/project/boundary',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Set the boundary',
        description: 'Whether models that the project’s own clusters or credentials serve may go elsewhere.',
        body: ProjectBoundary,
        response: { 200: ProjectState },
      },
    },
    async ({ caller, body, db }) => {
      await projectStore(db).setBoundary(caller.project_id, body.boundary)
      return projectWith(db, caller.project_id)
    },
  )

  app.post(
    '/v2/project/recordings',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Record generations, or stop',
        description:
          'Whether request and answer of every generation are kept, sealed, for `GET /v2/recordings/{trace_id}`. ' +
          'What was recorded before stays until its days are over, or it is purged. 400 where the operator lets ' +
          'nobody record.',
        body: ProjectRecordings,
        response: { 200: ProjectState },
      },
    },
    async ({ caller, body: { enabled }, db }) => {
      if (enabled && !gateway.full_fidelity) throw notRecording()
      await projectStore(db).setRecordings(caller.project_id, enabled, clock.now())
      return projectWith(db, caller.project_id)
    },
  )

  app.post(
    '/v2/project/second-factor',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Require a second factor, or no longer',
        description:
          'Of people who sign in with a password; keys, and who signs in with an identity provider, are not asked. ' +
          'Whoever has none gets 403 `second_factor_missing` from then on, until they have set one up. 400 where you ' +
          'have none yourself.',
        body: ProjectSecondFactor,
        response: { 200: ProjectState },
      },
    },
    async ({ caller, body: { required }, db }) => {
      const { project_id, person_id, key_id } = caller
      if (required && person_id && (await signInStore(db).lacksSecondFactor(key_id))) throw firstYourOwn()
      await projectStore(db).setSecondFactor(project_id, required)
      return projectWith(db, project_id)
    },
  )
}

async function regionsAround(db: Db, project_id: string, { regions, regionOf }: Places): Promise<string[]> {
  const projects = projectStore(db)
  const credentials = await projects.credentialAddresses(project_id)
  const reached = credentials.flatMap((credential) => regionOf(credential) ?? [])
  return [...regions, ...reached, ...(await projects.clusterRegions(project_id))]
}

const projectWith = async (db: Db, id: string) => found(await projectStore(db).find(id), 'project', id)
