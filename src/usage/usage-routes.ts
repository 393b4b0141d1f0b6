// §8.2.3: GET /v2/usage, as events or added up, as JSON or CSV; and its timeline.
import { Type } from 'typebox'
import { listOf } from '../core/shapes.ts'
import { prefers } from '../http/accept.ts'
import { list, type Routes } from '../http/routes.ts'
import { cutAt, inSlices, listEnvelope, type Page, sendPage } from '../http/whole-list.ts'
import { outcomeStore } from './outcome-store.ts'
import { columnsOf, csvTable } from './usage-csv.ts'
import { UsageEvent } from './usage-event.ts'
import type { From } from './usage-list-store.ts'
import { OutcomeQuery, outcomeQuestion, UsageOutcome } from './usage-outcomes.ts'
import {
  isGrouped,
  placed,
  refuseUnknown,
  UsageGroup,
  UsageQuery,
  type UsageQuestion,
  usageQuestion,
} from './usage-query.ts'
import { type UsageStore, usageStore } from './usage-store.ts'
import { TimelineQuery, timelineQuestion, UsageTimeline } from './usage-timeline.ts'
import { usageTimeline } from './usage-timeline-store.ts'

const Answer = {
  description: 'Events, or groups of them.',
  content: {
    'application/json': { schema: Type.Union([listOf(UsageEvent), listOf(UsageGroup)]) },
    'text/csv': { schema: Type.String() },
  },
}
const watch = { scope: 'read', class: 'read', while_suspended: true } as const
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
          'One event for each generation, under its trace id, all of them in one answer. With `limit`, at most so ' +
          'many: `has_more` says whether there are more, and `after` with the last trace id of a page gives the next ' +
          'one. With `group_by`, events are added up, the latest day first, then the dearest. `Accept: text/csv` ' +
          'gives a table. A parameter that is not known is refused.',
        querystring: UsageQuery,
        response: { 200: Answer },
      },
      // The schema of two kinds of list has to be tried on each row, which takes seconds for ten thousand of them. The
      // rows are our own, field by field.
      serializerCompiler: () => JSON.stringify,
    },
    async ({ caller, query, headers, db }, reply) => {
      refuseUnknown(query, UsageQuery)
      const question = usageQuestion(query)
      const as_csv = prefers(headers.accept, 'text/csv', 'application/json')
      reply.header('vary', 'accept')
      if (as_csv) reply.header('content-disposition', 'attachment; filename="usage.csv"')
      const page = await pageAsked(usageStore(db), caller.project_id, question)
      return sendPage(reply, page, as_csv ? csvTable(columnsOf(question)) : listEnvelope<object>(JSON.stringify))
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
          'rank) are exact in steps of minutes and over at most 6 hours, of up to 100,000 requests. Of more, and ' +
          'over longer ranges, they come from histograms and are within 3.2 %. The first and the last step hold only ' +
          'what lies between `from` and `to`.',
        querystring: TimelineQuery,
        response: { 200: UsageTimeline },
      },
    },
    async ({ caller, query, db }) => {
      refuseUnknown(query, TimelineQuery)
      const { data, overall } = await usageTimeline(db).steps(caller.project_id, timelineQuestion(query))
      return { ...list(data), overall }
    },
  )

  await app.register(outcomeRoutes)
}

const outcomeRoutes: Routes = async (app) => {
  app.get(
    '/v2/usage/outcomes',
    {
      config: watch,
      schema: {
        tags,
        summary: 'How generations ended and how long they took, by group',
        description:
          'What failed most first: up to 100 groups that had failures, and those that `name` asks for. Counts are ' +
          'exact; percentiles come from histograms and are within 3.2 %.',
        querystring: OutcomeQuery,
        response: { 200: listOf(UsageOutcome) },
      },
    },
    async ({ caller, query, db }) => {
      refuseUnknown(query, OutcomeQuery)
      return list(await outcomeStore(db).outcomes(caller.project_id, outcomeQuestion(query)))
    },
  )
}

/** A page where a limit or `before` is given, else all of it (R70). */
async function pageAsked(usage: UsageStore, project_id: string, question: UsageQuestion): Promise<Page<object>> {
  const { filter, limit } = question
  if (isGrouped(question))
    return limit === undefined
      ? cutAt(limit, usage.groupedAll(project_id, filter, question))
      : inSlices(await usage.grouped(project_id, question))
  const { after, before } = await placeAsked(usage, project_id, question)
  // Read oldest first, and told newest first.
  if (before) return inSlices(await usage.list(project_id, question, { before }))
  return cutAt(limit, usage.listAll(project_id, filter, after, limit))
}

async function placeAsked({ place }: UsageStore, project_id: string, { after, before }: UsageQuestion): Promise<From> {
  if (after !== undefined) return { after: placed('after', await place(project_id, after)) }
  if (before !== undefined) return { before: placed('before', await place(project_id, before)) }
  return {}
}
