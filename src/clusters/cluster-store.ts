// Clusters at rest. Every query names the project, so no caller can reach another project's cluster (§5.8). Whatever
// could change a route raises the project's routing epoch in the same transaction.
import { rfc3339 } from '../core/clock.ts'
import { nextSequence } from '../core/ids.ts'
import { nextTurn } from '../core/turns.ts'
import { clusterPace, paceTurned } from '../notifications/happening.ts'
import { BATCH_ROWS, LARGE_BATCH_ROWS, mapped, newestFirst, type Place } from '../storage/batches.ts'
import { type Db, sql, type Tx } from '../storage/db.ts'
import { raiseRoutingEpochLast } from '../storage/routing-epoch.ts'
import { tellLast } from '../storage/telling.ts'
import { type Cluster, type ReportedStatus, SILENCE_MS } from './cluster.ts'
import { sampleOf } from './cluster-load.ts'
import type { Telemetry } from './cluster-telemetry.ts'
import { loadStore } from './load-store.ts'
import { recordTransition } from './transition-store.ts'

type Status = Cluster['status']
type Row = Omit<Cluster, 'object' | 'autoscaling'> & {
  autoscaling: string
  sequence: number
  telemetry: string | null
  served_models: string | null
  previous_status: Status | null
  is_slow: number
}

function fromRow(read: Row): Cluster {
  const {
    sequence: _sequence,
    telemetry: _telemetry,
    served_models: _served,
    previous_status: _previous,
    is_slow: _slow,
    ...row
  } = read
  const { autoscaling } = row
  return { object: 'byoc_cluster', ...row, autoscaling: JSON.parse(autoscaling) }
}

const telemetryFrom = (row: Pick<Row, 'telemetry'>): Telemetry | undefined =>
  row.telemetry === null ? undefined : JSON.parse(row.telemetry)

const reportedFrom = (row: Row): ReportedCluster => ({
  cluster: fromRow(row),
  telemetry: telemetryFrom(row),
  served_models: row.served_models === null ? undefined : JSON.parse(row.served_models),
})

export interface Report {
  status: ReportedStatus
  /** Undefined where the heartbeat told nothing more: what was told before then still stands. */
  telemetry?: Telemetry | undefined
}

export interface ReportedCluster {
  cluster: Cluster
  telemetry: Telemetry | undefined
  /** What it served when it last did. */
  served_models: string[] | undefined
}

/** One that leaves may have unloaded its models by then: what it served is still told by the report before. */
function servedIn(status: ReportedStatus, telemetry: Telemetry | undefined): string | null {
  const models = telemetry?.models?.map((model) => model.id)
  return models && (status === 'active' || models.length > 0) ? JSON.stringify(models) : null
}

export type ClusterStore = ReturnType<typeof clusterStore>

export function clusterStore(db: Db) {
  return {
    async insert(c: Cluster, now: number): Promise<void> {
      await db.transaction(async (tx) => {
        await tx.rows(sql`
          INSERT INTO byoc_cluster (id, project_id, name, region, status, runtime, kv_cache, orchestrator, endpoint,
                                    autoscaling, created_at, sequence, updated_at, last_heartbeat_at)
          VALUES (${c.id}, ${c.project_id}, ${c.name}, ${c.region}, ${c.status}, ${c.runtime}, ${c.kv_cache},
                  ${c.orchestrator}, ${c.endpoint}, ${JSON.stringify(c.autoscaling)}, ${c.created_at},
                  ${nextSequence(now)}, ${c.updated_at}, ${c.last_heartbeat_at})`)
        await recordTransition(tx, { from: null, to: c.status, why: 'register', ...c }, now)
        await raiseRoutingEpochLast(tx, c.project_id)
      })
    },

    /** All of them, newest first. */
    list: (project_id: string) =>
      mapped(
        newestFirst(({ sequence, id }) =>
          db.rows<Row>(sql`
            SELECT id, project_id, name, region, status, runtime, kv_cache, orchestrator, endpoint, autoscaling,
                   created_at, updated_at, last_heartbeat_at, sequence
            FROM byoc_cluster WHERE project_id = ${project_id} AND (sequence, id) < (${sequence}, ${id})
            ORDER BY sequence DESC, id DESC LIMIT ${BATCH_ROWS}`),
        ),
        fromRow,
      ),

    /** For whoever routes: each cluster with what it last told of itself. R77: others have turns in between. */
    async listReported(project_id: string): Promise<ReportedCluster[]> {
      const reported: ReportedCluster[] = []
      const below = ({ sequence, id }: Place) =>
        db.rows<Row>(sql`
          SELECT * FROM byoc_cluster WHERE project_id = ${project_id} AND (sequence, id) < (${sequence}, ${id})
          ORDER BY sequence DESC, id DESC LIMIT ${LARGE_BATCH_ROWS}`)
      for await (const rows of newestFirst(below, LARGE_BATCH_ROWS)) {
        reported.push(...rows.map(reportedFrom))
        if (rows.length === LARGE_BATCH_ROWS) await nextTurn()
      }
      return reported
    },

    async find(project_id: string, id: string): Promise<Cluster | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT * FROM byoc_cluster WHERE project_id = ${project_id} AND id = ${id}`)
      return row && fromRow(row)
    },

    /** Undefined where there is no such cluster; without `telemetry` where it has told nothing yet. */
    async findTelemetry(project_id: string, id: string): Promise<{ telemetry: Telemetry | undefined } | undefined> {
      const [row] = await db.rows<Pick<Row, 'telemetry'>>(sql`
        SELECT telemetry FROM byoc_cluster WHERE project_id = ${project_id} AND id = ${id}`)
      return row && { telemetry: telemetryFrom(row) }
    },

    /** R13: applied as reported, from any state. An update, never an upsert: a deleted cluster stays deleted. */
    async recordHeartbeat(
      project_id: string,
      id: string,
      { status, telemetry }: Report,
      now: number,
    ): Promise<Cluster | undefined> {
      const at = rfc3339(now)
      const told = telemetry === undefined ? null : JSON.stringify(telemetry)
      const served = servedIn(status, telemetry)
      return db.transaction(async (tx) => {
        const [row] = await tx.rows<Row>(sql`
          UPDATE byoc_cluster
          SET previous_status = status, status = ${status}, updated_at = ${at},
              telemetry = COALESCE(${told}, telemetry), served_models = COALESCE(${served}, served_models),
              last_heartbeat_at = CASE WHEN last_heartbeat_at > ${at} THEN last_heartbeat_at ELSE ${at} END
          WHERE project_id = ${project_id} AND id = ${id}
          RETURNING *`)
        if (!row) return undefined
        const { name, previous_status: from } = row
        await recordTransition(tx, { id, project_id, name, from, to: status, why: 'heartbeat' }, now)
        await notePace(tx, row, telemetry, now)
        const sample = sampleOf(telemetry, now)
        if (sample) await loadStore(tx).note(project_id, id, sample)
        await raiseRoutingEpochLast(tx, project_id)
        return fromRow(row)
      })
    },

    /** R52: what it listed when it was asked. */
    async noteServed(project_id: string, id: string, models: readonly string[]): Promise<void> {
      await db.rows(sql`
        UPDATE byoc_cluster SET served_models = ${JSON.stringify(models)}
        WHERE project_id = ${project_id} AND id = ${id}`)
    },

    async remove(project_id: string, id: string, now: number): Promise<boolean> {
      return db.transaction(async (tx) => {
        const [removed] = await tx.rows<{ status: Status; name: string }>(sql`
          DELETE FROM byoc_cluster WHERE project_id = ${project_id} AND id = ${id} RETURNING status, name`)
        if (!removed) return false
        const { status: from, name } = removed
        const gone = { id, project_id, name, from, to: 'deregistered', why: 'deregister' } as const
        await recordTransition(tx, gone, now)
        await raiseRoutingEpochLast(tx, project_id)
        return true
      })
    },

    /** R13: the silent go down, in every project at once. Returns whom it took down. */
    async sweepSilent(now: number): Promise<{ id: string; project_id: string }[]> {
      return db.transaction(async (tx) => {
        const swept = await tx.rows<Swept>(sql`
          UPDATE byoc_cluster SET previous_status = status, status = 'down', updated_at = ${rfc3339(now)}
          WHERE status IN ('active', 'draining') AND last_heartbeat_at <= ${rfc3339(now - SILENCE_MS)}
          RETURNING id, project_id, name, previous_status`)
        // In one order everywhere: two replicas that sweep at once must not wait for each other.
        swept.sort((a, b) => (a.project_id < b.project_id ? -1 : 1))
        for (const [at, { id, project_id, name, previous_status: from }] of swept.entries()) {
          await recordTransition(tx, { id, project_id, name, from, to: 'down', why: 'sweep' }, now)
          if (swept[at + 1]?.project_id !== project_id) await raiseRoutingEpochLast(tx, project_id)
        }
        return swept
      })
    },
  }
}

interface Swept {
  id: string
  project_id: string
  name: string
  previous_status: Status
}

/** Whether it has become slow, or is so no longer: told, and remembered for the next report. */
async function notePace(tx: Tx, row: Row, telemetry: Telemetry | undefined, now: number): Promise<void> {
  const ttft_p95_ms = telemetry?.load?.ttft_p95_ms
  if (ttft_p95_ms === undefined) return
  const { target_ttft_ms } = JSON.parse(row.autoscaling) as Cluster['autoscaling']
  const turned = paceTurned(row.is_slow === 1, ttft_p95_ms, target_ttft_ms)
  if (turned === undefined) return
  await tx.rows(sql`
    UPDATE byoc_cluster SET is_slow = ${turned === 'slow' ? 1 : 0}
    WHERE project_id = ${row.project_id} AND id = ${row.id}`)
  await tellLast(tx, clusterPace(row, { turned, ttft_p95_ms, target_ttft_ms }), now)
}

/** R70: how many a project has. */
export const clustersPresent = (project_id: string) => sql`
  SELECT COUNT(*) AS present FROM byoc_cluster WHERE project_id = ${project_id}`
