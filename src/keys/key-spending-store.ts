// R65: what a key and its children were charged, out of roll-ups and of events that none has in it yet.
import { DAY_MS } from '../core/clock.ts'
import { joined, type Sql, sql } from '../storage/db.ts'
import { cubeName, cubeWith } from '../usage/usage-rollup.ts'

const BY_KEY = cubeName('day', cubeWith(['key_id']))

/**
 * What a key and its children were charged over whole days: out of roll-ups, and out of events that none has in it.
 * A busy key has a million events a month, and whoever settles waits meanwhile; besides, old ones may have been let go.
 */
export function spentSince(
  start_ms: number,
  end_ms: number,
  { project_id, id }: { project_id: string; id: string },
): Sql {
  const family = sql`(SELECT k.id FROM api_key k WHERE k.id = ${id} OR k.parent_id = ${id})`
  // Day by day, so that each look-up is by the whole key of the table, however many keys the project has.
  const days = Array.from({ length: (end_ms - start_ms) / DAY_MS }, (_, n) => start_ms + n * DAY_MS)
  return joined(
    sql`(SELECT CAST(COALESCE(SUM(r.charged_micros), 0) AS BIGINT) FROM usage_rollup r
         WHERE r.project_id = ${project_id} AND r.cube = ${BY_KEY} AND r.start_ms IN `,
    { text: ['(', ...days.slice(1).map(() => ', '), ')'], values: days },
    sql` AND r.key_id IN `,
    family,
    sql`) + (SELECT CAST(COALESCE(SUM(w.charged_micros), 0) AS BIGINT) FROM usage_to_roll w
         WHERE w.waiting_of = ${project_id} AND w.created_ms >= ${start_ms} AND w.created_ms < ${end_ms}
           AND w.key_id IN `,
    family,
    sql`) + (SELECT CAST(COALESCE(SUM(q.charged_micros), 0) AS BIGINT) FROM usage_quarantine q
         WHERE q.project_id = ${project_id} AND q.created_ms >= ${start_ms} AND q.created_ms < ${end_ms}
           AND q.key_id IN `,
    family,
    sql`)`,
  )
}
