// One cluster at a glance: how it is, since when, what it serves and how hard it works.
import { useCallback } from 'react'
import { type Cluster, clusterTelemetry } from '../../api/cluster-calls.ts'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { Link } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { CacheMeters, LoadStats, ServedModels } from './cluster-load.tsx'
import { ClusterBadge, LastHeartbeat } from './cluster-status.tsx'
import { DayStrip, useTransitions } from './day-strip.tsx'

const POLL_MS = 15_000
const STATS_SHOWN = 4

export const useTelemetry = (id: string) =>
  useResource(
    useCallback((signal: AbortSignal) => clusterTelemetry(id, signal), [id]),
    { poll_ms: POLL_MS },
  )

export function ClusterCard({ cluster }: { cluster: Cluster }) {
  const { id, name, region, status, runtime, kv_cache, orchestrator } = cluster
  const { state } = useTelemetry(id)
  const transitions = useTransitions(id)
  return (
    <li className="card cluster-card" data-old={status === 'down' || undefined}>
      <header className="card-header">
        <h2>
          <Link to={`/clusters/${id}`}>{name}</Link>
        </h2>
        <ClusterBadge status={status} />
      </header>
      <p className="muted">{[region, runtime, kv_cache, orchestrator].join(' · ')}</p>
      <dl className="facts">
        <div>
          <dt>Heartbeat</dt>
          <dd>
            <LastHeartbeat cluster={cluster} />
          </dd>
        </div>
        <div>
          <dt>Models</dt>
          <dd>
            {state.kind === 'ready' ? <ServedModels models={state.value.models} endpoint={cluster.endpoint} /> : '…'}
          </dd>
        </div>
      </dl>
      {state.kind === 'failed' && <p className="muted">Its telemetry could not be loaded: {state.error.message}</p>}
      {state.kind === 'ready' && (
        <>
          {status === 'down' && state.value.reported_at !== null && (
            <p className="told-before">
              As it was <TimeAgo at={state.value.reported_at} />:
            </p>
          )}
          <LoadStats telemetry={state.value} limit={STATS_SHOWN} />
          <CacheMeters telemetry={state.value} />
        </>
      )}
      <DayStrip cluster={cluster} transitions={transitions} />
    </li>
  )
}
