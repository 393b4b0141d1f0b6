// GET /v2/usage/reuse: what caches saved, and where reuse is lost.
import type { Clock } from '../core/clock.ts'
import type { Routes } from '../http/routes.ts'
import type { Db } from '../storage/db.ts'
import { bundleUse } from './bundle-use-store.ts'
import { BUNDLES_MAX, type PrefillRates, ReuseQuery, ReuseSummary, reuseSpan, reuseSummary } from './reuse-summary.ts'
import { refuseUnknown, usageFilter } from './usage-query.ts'
import { usageStore } from './usage-store.ts'

const GROUP_BY = ['model', 'provider', 'profile', 'cluster_id'] as const
const GROUPS_MAX = 1_000

interface Needs {
  clock: Clock
  /** What prefill takes on these clusters, as observed. */
  ratesOf(db: Db, project_id: string, cluster_ids: readonly string[]): Promise<PrefillRates>
}

export const reuseRoutes: Routes<Needs> = async (app, { clock, ratesOf }) => {
  app.get(
    '/v2/usage/reuse',
    {
      config: { scope: 'read', class: 'read', while_suspended: true },
      schema: {
        tags: ['Usage'],
        summary: 'What caches saved, and where reuse is lost',
        description:
          'Tokens that were sent before, how many of them caches had, and what that saved: money at list prices with ' +
          'managed providers, GPU-seconds of prefill on own clusters, by the rate that was observed there. Each line ' +
          'names the request that lists its events; so does each bundle that was used. Calls of replay runs are ' +
          'not counted. At most 90 days; the last seven unless told.',
        querystring: ReuseQuery,
        response: { 200: ReuseSummary },
      },
    },
    async ({ caller: { project_id }, query, db }) => {
      refuseUnknown(query, ReuseQuery)
      const { from_ms, to_ms } = reuseSpan(query, clock.now())
      const filter = usageFilter({ replays: 'exclude' }, from_ms, to_ms)
      const question = { filter, group_by: GROUP_BY, limit: GROUPS_MAX }
      const { data: groups } = await usageStore(db).grouped(project_id, question)
      const clusters = new Set(groups.flatMap(({ cluster_id }) => cluster_id ?? []))
      const rates = await ratesOf(db, project_id, [...clusters])
      const bundles = await bundleUse(db, project_id, { from_ms, to_ms }, BUNDLES_MAX)
      return reuseSummary({ from_ms, to_ms, groups, bundles, rates })
    },
  )
}
