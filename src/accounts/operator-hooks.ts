// R79: what holds for every path of the operator's plane that names a project.
import type { FastifyInstance } from 'fastify'
import { Refusal } from '../core/refusal.ts'
import { operatorProjectStore } from './operator-project-store.ts'

/** 404 after the body was judged and before anything is kept, so that no room need ask. Projects are never deleted. */
export function projectsMustExist(app: FastifyInstance): void {
  app.addHook('preHandler', async ({ params, db }) => {
    const { project_id } = params as { project_id?: string }
    if (project_id === undefined || (await operatorProjectStore(db).exists(project_id))) return
    throw new Refusal('not_found', `There is no project '${project_id}'.`)
  })
}
