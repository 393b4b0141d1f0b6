// Changes of clusters' statuses at rest, written in the transaction of the change. A heartbeat that only repeats the
// status writes nothing.
import { rfc3339 } from '../core/clock.ts'
import { nextSequence } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import { type ClusterTransition, KEPT_MS, TOLD_MAX, TOLD_MS } from './cluster-transition.ts'

const SWEEP_MAX = 1_000 // bounds how long one statement holds the store

interface Change extends Pick<ClusterTransition, 'from' | 'to' | 'why'> {
  id: string
  project_id: string
}

type Row = Pick<ClusterTransition, 'cluster_id' | 'from' | 'to' | 'why'> & { at_ms: number }

export type TransitionStore = ReturnType<typeof transitionStore>

export function transitionStore(db: Db) {
  return {
    async record({ id, project_id, from, to, why }: Change, now: number): Promise<void> {
      if (from === to) return
      await db.rows(sql`
        INSERT INTO cluster_transition (sequence, cluster_id, project_id, from_status, to_status, why, at_ms)
        VALUES (${nextSequence(now)}, ${id}, ${project_id}, ${from}, ${to}, ${why}, ${now})`)
    },

    /** Of the last day, newest first, one more than is told. Undefined where the project never had this cluster. */
    async list(project_id: string, cluster_id: string, now: number): Promise<ClusterTransition[] | undefined> {
      const rows = await db.rows<Row>(sql`
        SELECT cluster_id, from_status AS "from", to_status AS "to", why, at_ms FROM cluster_transition
        WHERE project_id = ${project_id} AND cluster_id = ${cluster_id} AND at_ms > ${now - TOLD_MS}
        ORDER BY sequence DESC LIMIT ${TOLD_MAX + 1}`)
      if (rows.length === 0 && !(await isKnown(project_id, cluster_id))) return undefined
      return rows.map(({ at_ms, ...row }) => ({ object: 'byoc_cluster.transition', ...row, at: rfc3339(at_ms) }))
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

  async function isKnown(project_id: string, cluster_id: string): Promise<boolean> {
    const rows = await db.rows(sql`
      SELECT id FROM byoc_cluster WHERE project_id = ${project_id} AND id = ${cluster_id}`)
    return rows.length > 0
  }
}
