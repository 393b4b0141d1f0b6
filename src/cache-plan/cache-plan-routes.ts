// §4.9: POST /v2/byoc/hicache-plan. Pure, so any valid key may ask (R3).
import type { Routes } from '../http/routes.ts'
import { CachePlan, CachePlanRequest, planCache } from './cache-plan.ts'

export const cachePlanRoutes: Routes = async (app) => {
  app.post(
    '/v2/byoc/hicache-plan',
    {
      config: { scope: 'read', class: 'read' },
      schema: {
        tags: ['Cache planning'],
        summary: 'Plan a cache tier',
        description: 'Whether fetching a cached prefix from one of the tiers beats recomputing it. Stores nothing.',
        body: CachePlanRequest,
        response: { 200: CachePlan },
      },
    },
    async ({ body }) => planCache(body.expected_recompute_ms, body.tiers),
  )
}
