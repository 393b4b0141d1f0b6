// §4.9: POST /v2/byoc/hicache-plan, and the estimate that leads to it. Pure, so any valid key may ask (R3).
import type { Routes } from '../http/routes.ts'
import { estimateCache } from './cache-estimate.ts'
import { CacheEstimate, CacheEstimateRequest } from './cache-estimate-shapes.ts'
import { CachePlan, CachePlanRequest, planCache } from './cache-plan.ts'
import { CacheFigures, cacheFigures } from './figures-table.ts'

const config = { scope: 'read', class: 'read' } as const
const tags = ['Cache planning']

export const cachePlanRoutes: Routes = async (app) => {
  app.post(
    '/v2/byoc/hicache-plan',
    {
      config,
      schema: {
        tags,
        summary: 'Plan a cache tier',
        description: 'Whether fetching a cached prefix from one of the tiers beats recomputing it. Stores nothing.',
        body: CachePlanRequest,
        response: { 200: CachePlan },
      },
    },
    async ({ body }) => planCache(body.expected_recompute_ms, body.tiers),
  )

  app.post(
    '/v2/byoc/hicache-estimate',
    {
      config,
      schema: {
        tags,
        summary: 'Estimate what cache tiers cost',
        description:
          'Derives the costs that `POST /v2/byoc/hicache-plan` takes from model, GPU, prefix length and bandwidths, ' +
          'and plans with them. Figures that are not given come from the tables of `GET /v2/byoc/hicache-figures`; ' +
          '`basis` says which are assumptions. Stores nothing.',
        body: CacheEstimateRequest,
        response: { 200: CacheEstimate },
      },
    },
    async ({ body }) => estimateCache(body),
  )

  app.get(
    '/v2/byoc/hicache-figures',
    {
      config,
      schema: {
        tags,
        summary: 'The tables behind the estimate',
        description: 'Models, GPUs and tiers that an estimate knows, with the figures it uses for them.',
        response: { 200: CacheFigures },
      },
    },
    async () => cacheFigures(),
  )
}
