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
  max_concurrency: number | undefined
  /** What it says it speaks beside chat. */
  protocols?: readonly string[] | undefined
  /** By model: how many tokens its caches have room for, where it reports that. */
  cache_tokens: ReadonlyMap<string, number>
  tokens_per_s: number | undefined
  /** Of its latest report: one that is lower than the one before is of an agent that was started anew. */
  sequence: number | undefined
  /** Telemetry names an endpoint picker. */
  has_picker: boolean
}

/** R52: by model, the clusters that serve it, in their order. */
export type Serving = ReadonlyMap<string, readonly ClusterFacts[]>

const NAMES_MAX = 100_000 // R52: of all clusters of a project together
const STEP_NAMES = 2_000

/** In steps (R77): a thousand clusters may name a thousand models each. Where names are too many, the first count. */
export function* servingOf(
  all: Iterable<{ cluster: ClusterFacts; models: readonly string[] }>,
  names_max = NAMES_MAX,
): Generator<void, Serving> {
  const serving = new Map<string, ClusterFacts[]>()
  let looked_at = 0
  for (const { cluster, models } of all)
    for (const model of models) {
      const serve_it = serving.get(model)
      if (!serve_it && serving.size < names_max) serving.set(model, [cluster])
      else if (serve_it && serve_it.at(-1) !== cluster) serve_it.push(cluster)
      if (++looked_at % STEP_NAMES === 0) yield
    }
  return serving
}

/** Of a model that is not among them: it may be one of those that were too many. */
export const maybeServed = (serving: Serving): boolean => serving.size >= NAMES_MAX

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
    reads: { cache_tokens: cluster.cache_tokens.get(model), tokens_per_s: cluster.tokens_per_s },
  }
}

/** What of a cluster's telemetry tells how it reads prompts. */
interface ReportedReading {
  models?: readonly { id: string; kv_bytes_per_token?: number }[]
  cache_tiers?: readonly { capacity_bytes?: number }[]
  load?: { prefill_tokens_per_s?: number }
  sequence?: number
}

/** A cluster that reports no rate, or that it stands still, is as fast as is observed. */
export function readingOf(telemetry: ReportedReading | undefined) {
  const { models = [], cache_tiers = [], load, sequence } = telemetry ?? {}
  const bytes = cache_tiers.reduce((sum, { capacity_bytes = 0 }) => sum + capacity_bytes, 0)
  const cache_tokens = new Map<string, number>()
  for (const { id, kv_bytes_per_token } of models)
    if (bytes > 0 && kv_bytes_per_token) cache_tokens.set(id, Math.floor(bytes / kv_bytes_per_token))
  return { cache_tokens, tokens_per_s: load?.prefill_tokens_per_s || undefined, sequence }
}

/** Its caches are empty: it was away, or was started anew. */
export const wasRestarted = (before: ClusterFacts, now: ClusterFacts): boolean =>
  (before.status === 'active' && now.status !== 'active' && now.status !== 'draining') ||
  (now.sequence !== undefined && before.sequence !== undefined && now.sequence < before.sequence)
