// Changes of clusters' statuses at rest, written in the transaction of the change. A heartbeat that only repeats the
// status writes nothing.
import { rfc3339 } from '../core/clock.ts'
import { nextSequence } from '../core/ids.ts'
import { clusterTurned } from '../notifications/happening.ts'
import { BATCH_ROWS, inBatches, mapped } from '../storage/batches.ts'
import { type Db, sql, type Tx, together } from '../storage/db.ts'
import { tellLast } from '../storage/telling.ts'
import { type ClusterTransition, KEPT_MS, TOLD_MS } from './cluster-transition.ts'

const SWEEP_MAX = 1_000 // bounds how long one statement holds the store

interface Change extends Pick<ClusterTransition, 'from' | 'to' | 'why'> {
  id: string
  project_id: string
  name: string
}

type Row = Pick<ClusterTransition, 'cluster_id' | 'from' | 'to' | 'why'> & { at_ms: number; sequence: number }

/** In the transaction of the change. What is told of it comes last there, with the project's row. */
export async function recordTransition(tx: Tx, change: Change, now: number): Promise<void> {
  const { id, project_id, name, from, to, why } = change
  if (from === to) return
  const written = tx.rows(sql`
    INSERT INTO cluster_transition (sequence, cluster_id, project_id, from_status, to_status, why, at_ms)
    VALUES (${nextSequence(now)}, ${id}, ${project_id}, ${from}, ${to}, ${why}, ${now})`)
  const event = clusterTurned({ id, project_id, name }, { from, to, why })
  await together(event ? [written, tellLast(tx, event, now)] : [written])
}

export function transitionStore(db: Db) {
  return {
    /** All of the last day, newest first. */
    list: (project_id: string, cluster_id: string, now: number) =>
      mapped(
        inBatches({ sequence: Number.MAX_SAFE_INTEGER }, ({ sequence }) =>
          db.rows<Row>(sql`
            SELECT sequence, cluster_id, from_status AS "from", to_status AS "to", why, at_ms FROM cluster_transition
            WHERE project_id = ${project_id} AND cluster_id = ${cluster_id} AND at_ms > ${now - TOLD_MS}
              AND sequence < ${sequence}
            ORDER BY sequence DESC LIMIT ${BATCH_ROWS}`),
        ),
        transitionFrom,
      ),

    /** Whether the project has this cluster, or had it within the last day. */
    async isKnown(project_id: string, cluster_id: string, now: number): Promise<boolean> {
      const rows = await db.rows(sql`
        SELECT 1 AS known WHERE EXISTS (
            SELECT 1 FROM byoc_cluster WHERE project_id = ${project_id} AND id = ${cluster_id})
          OR EXISTS (
            SELECT 1 FROM cluster_transition
            WHERE project_id = ${project_id} AND cluster_id = ${cluster_id} AND at_ms > ${now - TOLD_MS})`)
      return rows.length > 0
    },

    /** True while there may be more. */
    async sweep(now: number): Promise<boolean> {
      const swept = await db.rows(sql`
        DELETE FROM cluster_transition WHERE sequence IN (
          SELECT sequence FROM cluster_transition WHERE at_ms <= ${now - KEPT_MS} ORDER BY at_ms LIMIT ${SWEEP_MAX})
          AND at_ms <= ${now - KEPT_MS}
        RETURNING sequence`)
      return swept.length >= SWEEP_MAX
    },
  }
}

const transitionFrom = ({ at_ms, sequence: _sequence, ...row }: Row): ClusterTransition => ({
  object: 'byoc_cluster.transition',
  ...row,
  at: rfc3339(at_ms),
})
