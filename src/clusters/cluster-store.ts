// Clusters at rest. Every query names the project, so no caller can reach another project's cluster (§5.8).
import { rfc3339 } from '../core/clock.ts'
import { nextSequence } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import { type Cluster, type ReportedStatus, SILENCE_MS } from './cluster.ts'

type Row = Omit<Cluster, 'object' | 'autoscaling'> & { autoscaling: string; sequence: number }

const fromRow = ({ sequence: _, autoscaling, ...row }: Row): Cluster => ({
  ...row,
  object: 'byoc_cluster',
  autoscaling: JSON.parse(autoscaling),
})

export type ClusterStore = ReturnType<typeof clusterStore>

export function clusterStore(db: Db) {
  return {
    async insert(c: Cluster, now: number): Promise<void> {
      await db.rows(sql`
        INSERT INTO byoc_cluster (id, project_id, name, region, status, runtime, kv_cache, orchestrator, endpoint,
                                  autoscaling, created_at, sequence, updated_at, last_heartbeat_at)
        VALUES (${c.id}, ${c.project_id}, ${c.name}, ${c.region}, ${c.status}, ${c.runtime}, ${c.kv_cache},
                ${c.orchestrator}, ${c.endpoint}, ${JSON.stringify(c.autoscaling)}, ${c.created_at},
                ${nextSequence(now)}, ${c.updated_at}, ${c.last_heartbeat_at})`)
    },

    async list(project_id: string): Promise<Cluster[]> {
      const rows = await db.rows<Row>(sql`
        SELECT * FROM byoc_cluster WHERE project_id = ${project_id} ORDER BY sequence DESC`)
      return rows.map(fromRow)
    },

    async find(project_id: string, id: string): Promise<Cluster | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT * FROM byoc_cluster WHERE project_id = ${project_id} AND id = ${id}`)
      return row && fromRow(row)
    },

    /** R13: applied as reported, from any state. An update, never an upsert: a deleted cluster stays deleted. */
    async recordHeartbeat(
      project_id: string,
      id: string,
      status: ReportedStatus,
      now: number,
    ): Promise<Cluster | undefined> {
      const at = rfc3339(now)
      const [row] = await db.rows<Row>(sql`
        UPDATE byoc_cluster
        SET status = ${status}, updated_at = ${at},
            last_heartbeat_at = CASE WHEN last_heartbeat_at > ${at} THEN last_heartbeat_at ELSE ${at} END
        WHERE project_id = ${project_id} AND id = ${id}
        RETURNING *`)
      return row && fromRow(row)
    },

    async remove(project_id: string, id: string): Promise<boolean> {
      const removed = await db.rows(sql`
        DELETE FROM byoc_cluster WHERE project_id = ${project_id} AND id = ${id} RETURNING id`)
      return removed.length === 1
    },

    /** R13: the silent go down, in every project at once. Returns whom it took down. */
    async sweepSilent(now: number): Promise<{ id: string; project_id: string }[]> {
      return db.rows(sql`
        UPDATE byoc_cluster SET status = 'down', updated_at = ${rfc3339(now)}
        WHERE status IN ('active', 'draining') AND last_heartbeat_at <= ${rfc3339(now - SILENCE_MS)}
        RETURNING id, project_id`)
    },
  }
}
