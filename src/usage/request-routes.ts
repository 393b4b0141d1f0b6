// R80: GET /v2/requests: every generation of a project in one list, completed, failed and refused.
import { rfc3339 } from '../core/clock.ts'
import type { Routes } from '../http/routes.ts'
import type { Db } from '../storage/db.ts'
import { asksForEvents, asksForRefusals, RequestPage } from './listed-request.ts'
import { type RefusedReader, refusedRequests } from './refused-requests.ts'
import { cursorOf, RequestQuery, requestQuestion } from './request-query.ts'
import { searchRequests } from './request-search.ts'
import { requestStore } from './request-store.ts'
import { inOwnLane } from './usage-list-store.ts'
import { refuseUnknown } from './usage-query.ts'

interface Needs {
  /** Refused generations, with those that are in no store yet. */
  refusedOn(db: Db): RefusedReader
  /** What people call keys, by their ids. */
  keyNamesOn(db: Db): (project_id: string, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>
}

export const requestRoutes: Routes<Needs> = async (app, { refusedOn, keyNamesOn }) => {
  app.get(
    '/v2/requests',
    {
      config: { scope: 'read', class: 'read', while_suspended: true },
      schema: {
        tags: ['Usage'],
        summary: 'Every generation, newest first: completed, failed and refused',
        description:
          'What failed, for whom, and why, in one list. One answer looks at a bounded number of requests: it may ' +
          'hold fewer than `limit`, or none, and still have a `next`; `searched_from` says how far back it looked. ' +
          'Refusals are kept as for `GET /v2/traces/{trace_id}`. A parameter that is not known is refused.',
        querystring: RequestQuery,
        response: { 200: RequestPage },
      },
    },
    async ({ caller: { project_id }, query, db }) => {
      refuseUnknown(query, RequestQuery)
      const { filter, below, limit } = requestQuestion(query)
      const sources = [
        ...(asksForEvents(filter) ? [requestStore(inOwnLane(db, project_id), project_id, filter)] : []),
        ...(asksForRefusals(filter) ? [refusedRequests(refusedOn(db), project_id, filter)] : []),
      ]
      const { data, next } = await searchRequests(sources, { below, from_ms: filter.from_ms }, limit)
      const names = await keyNamesOn(db)(
        project_id,
        data.map(({ key_id }) => key_id),
      )
      return {
        object: 'list' as const,
        data: data.map((one) => ({ ...one, key_name: names.get(one.key_id) ?? null })),
        has_more: next !== undefined,
        next: next ? cursorOf(next) : null,
        searched_from: next ? rfc3339(next.at_ms) : null,
      }
    },
  )
}
