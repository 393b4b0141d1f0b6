// GET /v2/requests as the pages use it.
import type { Static } from 'typebox'
import type { ListedRequest, RequestPage } from '../../src/usage/listed-request.ts'
import type { RequestQuery } from '../../src/usage/request-query.ts'
import { get } from './api-client.ts'
import { asked } from './usage-calls.ts'

export type { ListedRequest }
export type RequestAsked = Static<typeof RequestQuery>
export type FoundPage = Static<typeof RequestPage>

export const listRequests = (query: RequestAsked, signal?: AbortSignal) =>
  get<FoundPage>(`/v2/requests?${asked(query)}`, signal)
