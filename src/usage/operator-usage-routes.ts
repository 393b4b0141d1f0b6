// R79: GET /v2/operator/usage: what every project used and cost.
import { Type } from 'typebox'
import { listOf } from '../core/shapes.ts'
import { prefers } from '../http/accept.ts'
import type { Routes } from '../http/routes.ts'
import { listEnvelope, sendWhole } from '../http/whole-list.ts'
import { OperatorUsageQuery, operatorUsageQuestion, ProjectUsage } from './operator-usage.ts'
import { operatorUsageStore } from './operator-usage-store.ts'
import { csvTable, sumColumns } from './usage-csv.ts'
import { refuseUnknown } from './usage-query.ts'

const Answer = {
  description: 'One row for each project, or for each of its groups.',
  content: { 'application/json': { schema: listOf(ProjectUsage) }, 'text/csv': { schema: Type.String() } },
}

export const operatorUsageRoutes: Routes = async (app) => {
  app.get(
    '/v2/operator/usage',
    {
      config: { scope: 'admin', class: 'read', operator: true },
      schema: {
        tags: ['Operator'],
        summary: 'What all projects used and cost, the newest project first',
        description:
          'Added up by project, and by whatever else `group_by` says; projects without usage are left out. The ' +
          'filters are those of `GET /v2/usage`. `Accept: text/csv` gives a table. A parameter that is not known is ' +
          'refused.',
        querystring: OperatorUsageQuery,
        response: { 200: Answer },
      },
      serializerCompiler: () => JSON.stringify, // the rows are our own, field by field
    },
    async ({ query, headers, db }, reply) => {
      refuseUnknown(query, OperatorUsageQuery)
      const question = operatorUsageQuestion(query)
      const as_csv = prefers(headers.accept, 'text/csv', 'application/json')
      reply.header('vary', 'accept')
      if (as_csv) reply.header('content-disposition', 'attachment; filename="usage-by-project.csv"')
      const columns = ['project_id', 'project_name', ...sumColumns(question.group_by, question.group_tag)]
      const format = as_csv ? csvTable(columns) : listEnvelope<object>(JSON.stringify)
      return sendWhole<object>(reply, operatorUsageStore(db).byProject(question), format)
    },
  )
}
