// What a BYOC cluster is (§2.3), how one is registered (§4.5) and what it may report (§3.1, R13).
import { type Static, Type } from 'typebox'
import { rfc3339, SECOND_MS } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { Label, label, orNull, storable, time } from '../core/shapes.ts'
import { WebAddress, webAddress } from '../core/web-address.ts'

/** R13: an active or draining cluster that is silent for this long is taken for down. */
export const SILENCE_MS = 90 * SECOND_MS
/** Three heartbeats missed: still up as far as anyone knows, but only where nothing fresher is. */
export const SUSPECT_MS = 45 * SECOND_MS

const LANE_MAX = 128 // R8
const INTEGER_MAX = 2_147_483_647

const Count = (minimum: number, description: string) => Type.Integer({ minimum, maximum: INTEGER_MAX, description })

export const Autoscaling = Type.Object({
  min_replicas: Count(0, 'At most max_replicas.'),
  max_replicas: Count(1, 'Above 0.'),
  target_ttft_ms: Count(1, 'Time to first token that the autoscaler holds, ms.'),
})
export type Autoscaling = Static<typeof Autoscaling>

export const ReportedStatus = Type.Enum(['active', 'draining', 'down'])
export type ReportedStatus = Static<typeof ReportedStatus>

export const Cluster = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `byc_`.' }),
    object: Type.Literal('byoc_cluster'),
    project_id: Type.String(),
    name: Type.String(),
    region: Type.String(),
    status: Type.Enum(['registering', 'active', 'draining', 'down']),
    runtime: Type.String(),
    kv_cache: Type.String(),
    orchestrator: Type.String(),
    endpoint: orNull(Type.String()),
    autoscaling: Autoscaling,
    created_at: time(),
    updated_at: time(),
    last_heartbeat_at: orNull(time()),
  },
  { title: 'Cluster' },
)
export type Cluster = Static<typeof Cluster>

export const DeregisteredCluster = Type.Object(
  { id: Type.String(), object: Type.Literal('byoc_cluster.deregistered'), deleted: Type.Literal(true) },
  { title: 'DeregisteredCluster' },
)

export const NewCluster = Type.Object(
  {
    name: Label('What people call it.'),
    region: Label('Where it runs.'),
    runtime: Type.Optional(Label('Runtime lane. Default `vllm`.', LANE_MAX)),
    kv_cache: Type.Optional(Label('KV-cache layer. Default `lmcache`.', LANE_MAX)),
    orchestrator: Type.Optional(Label('Orchestrator. Default `llm-d`.', LANE_MAX)),
    endpoint: Type.Optional(orNull(WebAddress('http or https address of the data plane.'))),
    autoscaling: Type.Optional(Autoscaling),
  },
  { title: 'NewCluster' },
)
export type NewCluster = Static<typeof NewCluster>

const DEFAULT_AUTOSCALING: Autoscaling = { min_replicas: 1, max_replicas: 4, target_ttft_ms: 500 } // §4.5

export function registerCluster(project_id: string, asked: NewCluster, now: number): Cluster {
  const { runtime = 'vllm', kv_cache = 'lmcache', orchestrator = 'llm-d', endpoint = null } = asked
  const at = rfc3339(now)
  return {
    id: newId('byc'),
    object: 'byoc_cluster',
    project_id,
    name: label('name', asked.name),
    region: label('region', asked.region),
    status: 'registering',
    runtime: storable('runtime', runtime),
    kv_cache: storable('kv_cache', kv_cache),
    orchestrator: storable('orchestrator', orchestrator),
    endpoint: endpoint === null ? null : webAddress('endpoint', endpoint),
    autoscaling: checkAutoscaling(asked.autoscaling ?? DEFAULT_AUTOSCALING),
    created_at: at,
    updated_at: at,
    last_heartbeat_at: null,
  }
}

function checkAutoscaling({ min_replicas, max_replicas, target_ttft_ms }: Autoscaling): Autoscaling {
  if (min_replicas > max_replicas)
    throw new Refusal('invalid_request', "'autoscaling.min_replicas' must not exceed 'autoscaling.max_replicas'.")
  return { min_replicas, max_replicas, target_ttft_ms }
}
