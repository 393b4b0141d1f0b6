// The last day of a cluster as one strip of colours, and in words.
import { useCallback } from 'react'
import { type Cluster, type ClusterTransition, clusterTransitions } from '../../api/cluster-calls.ts'
import { lasting } from '../../parts/measures.ts'
import { useNow } from '../../state/browser-clock.ts'
import { type Resource, useResource } from '../../state/resource.ts'
import { DAY_MS, statusSpans, timeIn } from './status-spans.ts'

const POLL_MS = 30_000

export function useTransitions(id: string) {
  return useResource<readonly ClusterTransition[]>(
    useCallback((signal: AbortSignal) => clusterTransitions(id, signal), [id]),
    { poll_ms: POLL_MS },
  )
}

interface DayStripProps {
  cluster: Cluster
  transitions: Resource<readonly ClusterTransition[]>
}

export function DayStrip({ cluster, transitions: { state } }: DayStripProps) {
  const now = useNow()
  if (state.kind === 'loading') return <div className="strip strip-waiting" aria-hidden="true" />
  if (state.kind === 'failed') return <p className="muted">Its last day could not be loaded.</p>
  const spans = statusSpans(state.value, cluster.status, now)
  const words = timeIn(spans).filter(({ status }) => status !== 'absent')
  return (
    <div className="day">
      <div className="strip" aria-hidden="true">
        {spans.map(({ status, from_ms, to_ms }) => (
          <span
            key={from_ms}
            className="strip-part"
            data-status={status}
            style={{ flexGrow: (to_ms - from_ms) / DAY_MS }}
            title={`${status} for ${lasting(to_ms - from_ms)}`}
          />
        ))}
      </div>
      <p className="day-words">
        <span>Last day:</span> {words.map(({ status, ms }) => `${status} ${lasting(ms)}`).join(', ')}
      </p>
    </div>
  )
}
