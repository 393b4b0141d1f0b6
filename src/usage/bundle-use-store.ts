// How often each bundle of a project was used between two times, and how much of those prompts caches had.

import { type Db, fixed, joined, type Sql, sql } from '../storage/db.ts'
import type { Reads } from '../storage/long-reads.ts'
import { bundleParts, usedBundles } from './bundled-events-store.ts'
import type { BundleUse } from './reuse-summary.ts'
import { listed } from './usage-filter-store.ts'
import { inOwnLane } from './usage-list-store.ts'
import { usageFilter } from './usage-query.ts'

interface Span {
  from_ms: number
  to_ms: number
}

const SUMMED = ['events', 'input_tokens', 'repeated_tokens_est', 'cached_tokens', 'missed_reuse_tokens'] as const

/** Of those that were used, the busiest first, so many at most. In parts that one statement may read. */
export async function bundleUse(db: Db, project_id: string, { from_ms, to_ms }: Span, most: number) {
  const own = inOwnLane(db, project_id)
  const filter = usageFilter({ replays: 'exclude' }, from_ms, to_ms)
  const uses = new Map<string, BundleUse>()
  for await (const names of usedBundles(own, project_id, { from: from_ms, to: to_ms })) {
    const there = await stillThere(own, project_id, names)
    if (there.length === 0) continue
    for await (const source of bundleParts(own, project_id, filter, there))
      for (const use of await own.rows<BundleUse>(summed(source))) {
        const sum = uses.get(use.bundle_id)
        if (sum) for (const name of SUMMED) sum[name] += use[name]
        else uses.set(use.bundle_id, use)
      }
  }
  const busiest = (one: BundleUse, other: BundleUse) =>
    other.events - one.events || (one.bundle_id < other.bundle_id ? -1 : 1)
  return [...uses.values()].sort(busiest).slice(0, most)
}

/** Those of deleted ones are told nowhere. */
async function stillThere(db: Reads, project_id: string, names: readonly string[]): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(
    joined(sql`SELECT id FROM bundle WHERE project_id = ${project_id} AND id IN `, listed(names)),
  )
  return rows.map(({ id }) => id)
}

const SUMS = SUMMED.map((name) => `CAST(SUM(${name === 'events' ? 1 : `e.${name}`}) AS BIGINT) AS ${name}`).join(', ')

const summed = (source: Sql): Sql => joined(fixed(`SELECT e.bundle_id, ${SUMS}`), source, sql` GROUP BY e.bundle_id`)
