// §8.2.3: GET /v2/usage, as events or added up, as JSON or CSV.
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { listOf } from '../core/shapes.ts'
import { prefers } from '../http/accept.ts'
import { list, type Routes } from '../http/routes.ts'
import { CSV_TYPE, eventsCsv, groupsCsv } from './usage-csv.ts'
import { UsageEvent } from './usage-event.ts'
import { UsageGroup, UsageQuery, usageQuestion } from './usage-query.ts'
import { usageStore } from './usage-store.ts'

const Answer = {
  description: 'Events, or groups of them.',
  content: {
    'application/json': { schema: Type.Union([listOf(UsageEvent), listOf(UsageGroup)]) },
    'text/csv': { schema: Type.String() },
  },
}

export const usageRoutes: Routes = async (app) => {
  app.get(
    '/v2/usage',
    {
      config: { scope: 'read', class: 'read' },
      schema: {
        tags: ['Usage'],
        summary: 'What generations used and cost, newest first',
        description:
          'One event for each generation, under its trace id. At most `limit` rows come back, with `has_more` always ' +
          'false: for more, move `from` and `to`. With `group_by`, events are added up, the latest day first, then ' +
          'the dearest. `Accept: text/csv` gives a table.',
        querystring: UsageQuery,
        response: { 200: Answer },
      },
      // The schema of two kinds of list has to be tried on each row, which takes seconds for ten thousand of them. The
      // rows are our own, field by field.
      serializerCompiler: () => JSON.stringify,
    },
    async ({ caller, query, headers, db }, reply) => {
      const question = usageQuestion(query)
      const asCsv = prefers(headers.accept, 'text/csv', 'application/json')
      reply.header('vary', 'accept')
      if (question.group_by.length > 0) {
        const groups = await usageStore(db).grouped(caller.project_id, question)
        return asCsv ? table(reply, groupsCsv(question.group_by, groups)) : list(groups)
      }
      const events = await usageStore(db).list(caller.project_id, question)
      return asCsv ? table(reply, eventsCsv(events)) : list(events)
    },
  )
}

const table = (reply: FastifyReply, text: string) =>
  reply.header('content-type', CSV_TYPE).header('content-disposition', 'attachment; filename="usage.csv"').send(text)
