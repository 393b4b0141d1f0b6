// §3.1: a cluster's status in one word, and how fresh what we know of it is.
import type { Cluster } from '../../api/cluster-calls.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { useNow } from '../../state/browser-clock.ts'

const TONES: Record<Cluster['status'], Tone> = { registering: 'calm', active: 'good', draining: 'warn', down: 'bad' }

export const ClusterBadge = ({ status }: { status: Cluster['status'] }) => <Badge tone={TONES[status]}>{status}</Badge>

/** Three heartbeats missed: requests now go there last. After 90 seconds it is down. */
const LATE_MS = 45_000

export const isLate = ({ status, last_heartbeat_at }: Cluster, now_ms: number) =>
  (status === 'active' || status === 'draining') &&
  last_heartbeat_at !== null &&
  now_ms - Date.parse(last_heartbeat_at) > LATE_MS

export function LastHeartbeat({ cluster }: { cluster: Cluster }) {
  const late = isLate(cluster, useNow())
  return (
    <span className={late ? 'late' : undefined}>
      <TimeAgo at={cluster.last_heartbeat_at} />
      {late && <strong> late</strong>}
    </span>
  )
}
