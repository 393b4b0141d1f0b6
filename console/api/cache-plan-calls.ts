// /v2/byoc/hicache-… as the planner uses it. They store nothing, so none of them needs an idempotency key.
import type { Static } from 'typebox'
import type { CacheEstimate, CacheEstimateRequest } from '../../src/cache-plan/cache-estimate-shapes.ts'
import type { CachePlan, CachePlanRequest, Tier } from '../../src/cache-plan/cache-plan.ts'
import type { CacheFigures } from '../../src/cache-plan/figures-table.ts'
import { get, post } from './api-client.ts'

export type { CacheEstimate, CacheEstimateRequest, CacheFigures, CachePlan, Tier }
export type PlanRequest = Static<typeof CachePlanRequest>

export const PLAN_PATH = '/v2/byoc/hicache-plan'
export const ESTIMATE_PATH = '/v2/byoc/hicache-estimate'

export const planCache = (body: PlanRequest) => post<CachePlan>(PLAN_PATH, body)
export const estimateCache = (body: CacheEstimateRequest) => post<CacheEstimate>(ESTIMATE_PATH, body)
export const cacheFigures = (signal?: AbortSignal) => get<CacheFigures>('/v2/byoc/hicache-figures', signal)
