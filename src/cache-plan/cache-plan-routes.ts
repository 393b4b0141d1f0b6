// §4.9: POST /v2/byoc/hicache-plan, and the estimate that leads to it. Pure, but for what was observed on a cluster of
// the project's own, so any valid key may ask (R3).
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { storable } from '../core/shapes.ts'
import { found, type Routes } from '../http/routes.ts'
import { CacheEstimate, CacheEstimateRequest } from './cache-estimate-shapes.ts'
import { CachePlan, CachePlanRequest, planCache } from './cache-plan.ts'
import { ClusterCache, clusterCache } from './cluster-cache.ts'
import { CacheFigures, cacheFigures } from './figures-table.ts'
import { samplesOf } from './observed-call.ts'
import { estimateFor, estimateObserved } from './observed-estimate.ts'
import { observedStore, SEEN_MS } from './observed-store.ts'
import { fitPrefill } from './prefill-fit.ts'

const config = { scope: 'read', class: 'read' } as const
const tags = ['Cache planning']

export const cachePlanRoutes: Routes<{ clock: Clock }> = async (app, { clock }) => {
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
          '`basis` says which are assumptions. With `cluster_id`, the recompute time is fitted from the calls of the ' +
          'last seven days there (`observed`). Stores nothing.',
        body: CacheEstimateRequest,
        response: { 200: CacheEstimate },
      },
    },
    async ({ caller, body, db }) => {
      const { cluster_id, model, prefix_tokens } = body
      if (cluster_id === undefined) return estimateFor(body)
      storable('cluster_id', cluster_id)
      const store = observedStore(db)
      const { telemetry } = found(await store.cluster(caller.project_id, cluster_id), 'cluster', cluster_id)
      const calls = await store.calls(caller.project_id, cluster_id, { since_ms: clock.now() - SEEN_MS })
      const own = calls.filter((call) => call.model === model)
      return estimateObserved(body, telemetry, fitPrefill(samplesOf(own), prefix_tokens))
    },
  )

  app.get(
    '/v2/byoc/clusters/:cluster_id/cache',
    {
      config,
      schema: {
        tags,
        summary: 'What a cluster’s cache saved and missed',
        description:
          'Over the completed calls of the last seven days, the latest 2,000 at most: reuse that was had and missed, ' +
          'which prefixes (by keyed hash), bundles and sessions miss most, how long a prefill takes there, and what ' +
          'the planner would advise.',
        params: Type.Object({ cluster_id: Type.String({ description: 'Begins `byc_`.' }) }),
        response: { 200: ClusterCache },
      },
    },
    async ({ caller, params: { cluster_id: id }, db }) => {
      const store = observedStore(db)
      const { telemetry } = found(await store.cluster(caller.project_id, id), 'cluster', id)
      const from_ms = clock.now() - SEEN_MS
      const calls = await store.calls(caller.project_id, id, { since_ms: from_ms })
      return clusterCache({ id, telemetry, calls, from_ms })
    },
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
