// /v2/project: the project that the key belongs to, its name, its cap and its regions.
import { label } from '../core/shapes.ts'
import { limitMicros, SpendingLimit } from '../core/spending-limit.ts'
import { found, type Routes } from '../http/routes.ts'
import type { Db } from '../storage/db.ts'
import { allowedRegions, ProjectName, ProjectState, RegionPolicy } from './project.ts'
import { projectStore } from './project-store.ts'

const manage = { scope: 'admin', class: 'read' } as const
const tags = ['Project']

export const projectRoutes: Routes = async (app) => {
  app.get(
    '/v2/project',
    {
      config: { scope: 'read', class: 'read' },
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
      await projectStore(db).rename(caller.project_id, label('name', body.name))
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
          'changes nothing.',
        body: SpendingLimit,
        response: { 200: ProjectState },
      },
    },
    async ({ caller, body, db }) => {
      const micros = limitMicros(body)
      if (micros !== undefined) await projectStore(db).setCap(caller.project_id, micros)
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
      await projectStore(db).setRegions(caller.project_id, allowedRegions(body))
      return projectWith(db, caller.project_id)
    },
  )
}

const projectWith = async (db: Db, id: string) => found(await projectStore(db).find(id), 'project', id)
