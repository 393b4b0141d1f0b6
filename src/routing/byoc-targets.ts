// BYOC clusters as places to go (§1, R40, R52): which serve a model, which must not be dialled, and in what order.
import { SUSPECT_MS } from '../clusters/cluster.ts'
import { SECOND_MS } from '../core/clock.ts'
import type { Gateway } from './gateway.ts'
import type { Target } from './target.ts'

const DEFAULT_CONCURRENCY = 256
const DEFAULT_OUTPUT_TOKENS = 32_768
const TIMEOUTS = { first_byte_ms: 300_000, idle_ms: 60_000, total_ms: 900_000 }

export interface ClusterFacts {
  id: string
  name: string
  region: string
  status: string
  orchestrator: string
  endpoint: string | null
  last_heartbeat_ms: number | undefined
  models: readonly string[]
  max_concurrency: number | undefined
  /** What it says it speaks beside chat. */
  protocols?: readonly string[] | undefined
  /** Telemetry names an endpoint picker. */
  has_picker: boolean
}

export const servesModel = ({ models }: ClusterFacts, model: string) => models.includes(model)

/** Why nothing may go to this cluster now; undefined where it may. */
export function reasonAgainstCluster({ status, endpoint }: ClusterFacts): string | undefined {
  if (status !== 'active') return `the cluster is ${status}`
  if (endpoint === null) return 'the cluster has no endpoint to dial'
  return undefined
}

export const SILENT = `the cluster has not reported for ${SUSPECT_MS / SECOND_MS} seconds`

export const isSuspect = ({ last_heartbeat_ms = 0 }: ClusterFacts, now: number) => now - last_heartbeat_ms > SUSPECT_MS

export function clusterTarget(cluster: ClusterFacts, model: string, { fees }: Gateway): Target {
  const throughPicker = cluster.orchestrator === 'llm-d' || cluster.has_picker
  return {
    id: `cluster:${cluster.id}`,
    profile: throughPicker ? 'byoc_epp' : 'byoc_native',
    provider: cluster.name,
    model,
    region: cluster.region,
    pricing: { kind: 'fee', micros: fees.byoc_micros },
    max_output_tokens: DEFAULT_OUTPUT_TOKENS,
    cluster_id: cluster.id,
    credential_id: undefined,
    subscription: undefined,
    dialling: {
      protocol: 'openai',
      base_url: cluster.endpoint ?? '',
      secret: { kind: 'none' },
      customer_address: true,
      responses_native: cluster.protocols?.includes('responses') ?? false,
      messages_native: cluster.protocols?.includes('messages') ?? false,
      max_concurrency: Math.max(1, cluster.max_concurrency ?? DEFAULT_CONCURRENCY), // for none: one by one
      timeouts: TIMEOUTS,
    },
  }
}
