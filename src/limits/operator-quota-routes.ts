// R79: /v2/operator/projects/{project_id}/quotas.
import { Type } from 'typebox'
import type { Routes } from '../http/routes.ts'
import type { Db } from '../storage/db.ts'
import { describeQuotas, NewProjectQuotas, ProjectQuotas, quotaChanges } from './operator-quota.ts'
import type { Quotas } from './quota.ts'
import { quotaStore } from './quota-store.ts'

const Params = Type.Object({ project_id: Type.String({ description: 'Begins `prj_`.' }) })
const config = { scope: 'admin', class: 'read', operator: true } as const
const tags = ['Operator']
const response = { 200: ProjectQuotas }

export const operatorQuotaRoutes: Routes<{ quotas: Quotas }> = async (app, { quotas }) => {
  const quotasOf = async (db: Db, id: string) => describeQuotas(id, await quotaStore(db).own(id), quotas)

  app.get(
    '/v2/operator/projects/:project_id/quotas',
    { config, schema: { tags, summary: 'Retrieve the quotas of a project', params: Params, response } },
    async ({ params, db }) => quotasOf(db, params.project_id),
  )

  app.post(
    '/v2/operator/projects/:project_id/quotas',
    {
      config,
      schema: {
        tags,
        summary: 'Set quotas of a project',
        description:
          'How many of a thing it may have, from the next request on. `null` gives it what every project has, an ' +
          'absent field changes nothing. What is there already stays.',
        params: Params,
        body: NewProjectQuotas,
        response,
      },
    },
    async ({ params: { project_id }, body, db }) => {
      for (const [kind, max] of quotaChanges(body)) await quotaStore(db).setMax(project_id, kind, max)
      return quotasOf(db, project_id)
    },
  )
}
