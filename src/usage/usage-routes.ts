// §8.2.3: GET /v2/usage, as events or added up, as JSON or CSV; and its timeline.
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { listOf } from '../core/shapes.ts'
import { prefers } from '../http/accept.ts'
import { list, type Routes } from '../http/routes.ts'
import type { Db } from '../storage/db.ts'
import { CSV_TYPE, eventsCsv, groupsCsv } from './usage-csv.ts'
import { UsageEvent } from './usage-event.ts'
import { placed, UsageGroup, type UsagePage, UsageQuery, type UsageQuestion, usageQuestion } from './usage-query.ts'
import { type From, usageStore } from './usage-store.ts'
import { TimelineQuery, timelineQuestion, UsageStep } from './usage-timeline.ts'
import { usageTimeline } from './usage-timeline-store.ts'

const Answer = {
  description: 'Events, or groups of them.',
  content: {
    'application/json': { schema: Type.Union([listOf(UsageEvent), listOf(UsageGroup)]) },
    'text/csv': { schema: Type.String() },
  },
}
const watch = { scope: 'read', class: 'read' } as const
const tags = ['Usage']

export const usageRoutes: Routes = async (app) => {
  app.get(
    '/v2/usage',
    {
      config: watch,
      schema: {
        tags,
        summary: 'What generations used and cost, newest first',
        description:
          'One event for each generation, under its trace id. At most `limit` rows come back; `has_more` says ' +
          'whether there are more, and `after` with the last trace id of a page gives the next one. With `group_by`, ' +
          'events are added up, the latest day first, then the dearest. `Accept: text/csv` gives a table.',
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
        return asCsv ? table(reply, groupsCsv(question.group_by, groups.data)) : paged(groups)
      }
      const from = await placeAsked(db, caller.project_id, question)
      const events = await usageStore(db).list(caller.project_id, question, from)
      return asCsv ? table(reply, eventsCsv(events.data)) : paged(events)
    },
  )

  app.get(
    '/v2/usage/timeline',
    {
      config: watch,
      schema: {
        tags,
        summary: 'Usage step by step over time, for charts',
        description:
          'The oldest step first; a step without a request is there, as zeros. Sums are exact. Percentiles (nearest ' +
          'rank) are exact in steps of minutes and over at most 6 hours; over longer ranges they come from ' +
          'histograms and are within 3.2 %. The first and the last step hold only what lies between `from` and `to`.',
        querystring: TimelineQuery,
        response: { 200: listOf(UsageStep) },
      },
    },
    async ({ caller, query, db }) => list(await usageTimeline(db).steps(caller.project_id, timelineQuestion(query))),
  )
}

/** R10: in pages, for this list grows with every request. */
const paged = <Item>({ data, has_more }: UsagePage<Item>) => ({ ...list(data), has_more })

async function placeAsked(db: Db, project_id: string, { after, before }: UsageQuestion): Promise<From> {
  const { place } = usageStore(db)
  if (after !== undefined) return { after: placed('after', await place(project_id, after)) }
  if (before !== undefined) return { before: placed('before', await place(project_id, before)) }
  return {}
}

const table = (reply: FastifyReply, text: string) =>
  reply.header('content-type', CSV_TYPE).header('content-disposition', 'attachment; filename="usage.csv"').send(text)
