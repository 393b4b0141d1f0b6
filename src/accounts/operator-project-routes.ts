// R79: /v2/operator/projects, for whoever runs the service.
import { Type } from 'typebox'
import { type Clock, rfc3339 } from '../core/clock.ts'
import { label, listOf } from '../core/shapes.ts'
import { limitMicros } from '../core/spending-limit.ts'
import { found, type Routes } from '../http/routes.ts'
import { sendList } from '../http/whole-list.ts'
import type { MintedKey } from '../keys/key.ts'
import type { Db } from '../storage/db.ts'
import { emailAddress, type Project } from './account.ts'
import {
  CreatedProject,
  NewOperatorProject,
  OperatorCap,
  OperatorProject,
  operatorsOwn,
  ProjectShare,
} from './operator-project.ts'
import { operatorProjectStore } from './operator-project-store.ts'
import { nameTaken } from './project.ts'

const Params = Type.Object({ project_id: Type.String({ description: 'Begins `prj_`.' }) })
const config = { scope: 'admin', class: 'read', operator: true } as const
const tags = ['Operator']
const response = { 200: OperatorProject }

interface Needs {
  clock: Clock
  /** Makes a project, its owner and its admin key. */
  foundProject(db: Db, founding: Founding, now: number): Promise<{ project: Project; key: MintedKey }>
}

interface Founding {
  name: string
  owner_email: string
  verified: boolean
}

export const operatorProjectRoutes: Routes<Needs> = async (app, { clock, foundProject }) => {
  app.get(
    '/v2/operator/projects',
    {
      config,
      schema: { tags, summary: 'List all projects, newest first', response: { 200: listOf(OperatorProject) } },
    },
    async ({ db }, reply) => sendList(reply, operatorProjectStore(db).listAll(), OperatorProject),
  )

  app.post(
    '/v2/operator/projects',
    {
      config,
      schema: {
        tags,
        summary: 'Create a project',
        description: 'With its owner and its admin key, whose raw form is shown this once and never again.',
        body: NewOperatorProject,
        response: { 200: CreatedProject },
      },
    },
    async ({ body, db }) => {
      const name = label('name', body.name)
      const owner_email = emailAddress(body.owner_email, 'owner_email')
      if (await operatorProjectStore(db).hasNamed(owner_email, name)) throw nameTaken(name)
      const { project, key } = await foundProject(
        db,
        { name, owner_email, verified: body.verified ?? false },
        clock.now(),
      )
      return { ...(await projectWith(db, project.id)), api_key: { ...key.api_key, key: key.raw } }
    },
  )

  app.get(
    '/v2/operator/projects/:project_id',
    { config, schema: { tags, summary: 'Retrieve a project', params: Params, response } },
    async ({ params, db }) => projectWith(db, params.project_id),
  )

  app.post(
    '/v2/operator/projects/:project_id/cap',
    {
      config,
      schema: {
        tags,
        summary: 'Set the operator’s cap of a project',
        description:
          'Over all that it ever spends. It stands beside the cap that the project sets itself: the lower binds. It ' +
          'is hard, whatever the project says about overage. `null` clears it, `0` blocks every generation, an ' +
          'absent field changes nothing.',
        params: Params,
        body: OperatorCap,
        response,
      },
    },
    async ({ params: { project_id }, body, db }) => {
      const micros = limitMicros(body)
      if (micros !== undefined) await operatorProjectStore(db).setCap(project_id, micros)
      return projectWith(db, project_id)
    },
  )

  app.post(
    '/v2/operator/projects/:project_id/share',
    {
      config,
      schema: { tags, summary: 'Set a project’s share of slots', params: Params, body: ProjectShare, response },
    },
    async ({ params: { project_id }, body, db }) => {
      await operatorProjectStore(db).setShare(project_id, body.share)
      return projectWith(db, project_id)
    },
  )

  app.post(
    '/v2/operator/projects/:project_id/suspend',
    {
      config,
      schema: {
        tags,
        summary: 'Suspend a project',
        description:
          'From the next request on, on every replica, its keys and its people get 403 `project_suspended`; an admin ' +
          'can still read its usage. What is under way ends as it would have.',
        params: Params,
        response,
      },
    },
    async ({ params: { project_id }, db }) => {
      if (!(await operatorProjectStore(db).suspend(project_id, rfc3339(clock.now())))) throw operatorsOwn()
      return projectWith(db, project_id)
    },
  )

  app.post(
    '/v2/operator/projects/:project_id/resume',
    { config, schema: { tags, summary: 'Resume a suspended project', params: Params, response } },
    async ({ params: { project_id }, db }) => {
      await operatorProjectStore(db).resume(project_id)
      return projectWith(db, project_id)
    },
  )
}

const projectWith = async (db: Db, id: string) => found(await operatorProjectStore(db).find(id), 'project', id)
