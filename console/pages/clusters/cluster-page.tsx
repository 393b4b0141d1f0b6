// One cluster: what it is, what it last told, how its status came about, and how it is kept alive, drained, taken out.
import { type ReactNode, useCallback, useState } from 'react'
import { type Cluster, findCluster } from '../../api/cluster-calls.ts'
import { Button } from '../../parts/button.tsx'
import { Card, Stat, Stats } from '../../parts/card.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { latency } from '../../parts/measures.ts'
import { PageHeader } from '../../parts/page-header.tsx'
import { SubjectPage } from '../../parts/subject-page.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { navigate } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { useTelemetry } from './cluster-card.tsx'
import { ClusterBadge, LastHeartbeat } from './cluster-status.tsx'
import { DayCard, HeartbeatCard, TelemetryCard } from './cluster-story.tsx'
import { DeregisterDialog } from './deregister-dialog.tsx'
import { LoadHistory } from './load-history.tsx'

const POLL_MS = 5_000
const UP = { to: '/clusters', label: 'Clusters' }

export default function ClusterPage({ id = '' }: { id?: string }) {
  const cluster = useResource(
    useCallback((signal) => findCluster(id, signal), [id]),
    { poll_ms: POLL_MS },
  )
  return (
    <SubjectPage title="Cluster" what="The cluster" up={UP} resource={cluster}>
      {(known, stale) => <Found cluster={known}>{stale}</Found>}
    </SubjectPage>
  )
}

function Found({ cluster, children }: { cluster: Cluster; children: ReactNode }) {
  const telemetry = useTelemetry(cluster.id)
  const [leaving, setLeaving] = useState(false)
  const may_manage = useMay('admin')
  return (
    <>
      <PageHeader
        title={cluster.name}
        up={UP}
        lead={<Identity cluster={cluster} />}
        actions={
          may_manage && (
            <Button look="danger" onClick={() => setLeaving(true)}>
              Deregister
            </Button>
          )
        }
      />
      {children}
      {cluster.last_heartbeat_at === null && <HeartbeatCard cluster={cluster} />}
      <Facts cluster={cluster} />
      <TelemetryCard telemetry={telemetry} />
      {cluster.last_heartbeat_at !== null && <LoadHistory cluster_id={cluster.id} />}
      <DayCard cluster={cluster} />
      {cluster.last_heartbeat_at !== null && <HeartbeatCard cluster={cluster} />}
      {leaving && (
        <DeregisterDialog
          cluster={cluster}
          telemetry={telemetry.state.kind === 'ready' ? telemetry.state.value : undefined}
          onClose={() => setLeaving(false)}
          onGone={() => navigate('/clusters')}
        />
      )}
    </>
  )
}

const Identity = ({ cluster: { id, status } }: { cluster: Cluster }) => (
  <span className="row">
    <ClusterBadge status={status} />
    <code className="muted">{id}</code>
    <CopyButton text={id} what="cluster id" look="quiet" />
  </span>
)

function Facts({ cluster }: { cluster: Cluster }) {
  const { region, runtime, kv_cache, orchestrator, endpoint, autoscaling, created_at } = cluster
  const { min_replicas, max_replicas, target_ttft_ms } = autoscaling
  return (
    <Card title="What it is">
      <Stats>
        <Stat label="Last heartbeat">
          <LastHeartbeat cluster={cluster} />
        </Stat>
        <Stat label="Region">{region}</Stat>
        <Stat label="Made of">{[runtime, kv_cache, orchestrator].join(' · ')}</Stat>
        <Stat label="Autoscaling">
          {min_replicas} to {max_replicas} replicas, first token within {latency(target_ttft_ms)}
        </Stat>
        <Stat label="Registered">
          <TimeAgo at={created_at} />
        </Stat>
        <Stat label="Endpoint" wide>
          {endpoint === null ? <span className="late">none, so nothing is sent there</span> : <code>{endpoint}</code>}
        </Stat>
      </Stats>
    </Card>
  )
}
