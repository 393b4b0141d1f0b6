// GET /v2/refusals: how many requests were refused, by kind, over time.
import type { Clock } from '../core/clock.ts'
import type { Routes } from '../http/routes.ts'
import { RefusalQuery, RefusalSeries, refusalQuestion, seriesOf } from './refusal-kind.ts'
import { refusalStore } from './refusal-store.ts'
import type { RefusalTally } from './refusal-tally.ts'

export const refusalRoutes: Routes<{ clock: Clock; tally: RefusalTally }> = async (app, { clock, tally }) => {
  app.get(
    '/v2/refusals',
    {
      config: { scope: 'read', class: 'read' },
      schema: {
        tags: ['Usage'],
        summary: 'Refused requests over time, by kind',
        description:
          'Of requests with a valid key or session, but for GETs of people who signed in. Counts of other replicas ' +
          'come a few seconds late, and those seconds are lost where one crashes. Kept for 90 days.',
        querystring: RefusalQuery,
        response: { 200: RefusalSeries },
      },
    },
    async ({ caller, query, db }) => {
      const question = refusalQuestion(query, clock.now())
      const written = await refusalStore(db).list(caller.project_id, question)
      return seriesOf(question, [...written, ...tally.pendingOf(caller.project_id)])
    },
  )
}
