// One policy over one trace of requests, on simulated clusters: how much was found in caches, and how long first tokens
// took.
import { median } from './figures.ts'
import { type SimulatedCluster as Cluster, SimulatedCluster, TOKENS_PER_S, type TraceRequest } from './routing-model.ts'
import type { Policy } from './routing-policies.ts'

export interface RunConditions {
  clusters: number
  cache_tokens: number
  /** How much is offered, as a part of what all clusters could read without caches. */
  load: number
  /** One of the clusters loses its cache in the middle. */
  restart?: boolean
}

export interface RunResult {
  hit_share: number
  /** Seconds to the first token. */
  p50: number
  p90: number
  p99: number
  /** The busiest cluster's tokens, over the mean. */
  skew: number
  /** The median: others may use the machine meanwhile. */
  us_per_decision: number
  chosen: number[]
}

export function run(trace: readonly TraceRequest[], policy: Policy, conditions: RunConditions): RunResult {
  const { clusters: count, cache_tokens, load, restart = false } = conditions
  const clusters: Cluster[] = Array.from({ length: count }, () => new SimulatedCluster(cache_tokens))
  const speed = speedFor(trace, load * count)
  const chosen: number[] = []
  const waits: number[] = []
  let hit = 0
  const spent_us: number[] = []
  trace.forEach((request, at) => {
    const now_ms = request.timestamp / speed
    if (restart && at === Math.floor(trace.length / 2)) clusters[0]?.restart()
    policy.before?.(request, now_ms)
    const started = performance.now()
    const k = policy.choose(request, clusters, now_ms)
    spent_us.push((performance.now() - started) * 1_000)
    const told = (clusters[k] as Cluster).take(request, now_ms)
    policy.answered?.(told)
    hit += told.cached
    chosen.push(k)
    waits.push((told.first_token_ms - now_ms) / 1_000)
  })
  waits.sort((a, b) => a - b)
  const rank = (share: number) => waits[Math.floor(waits.length * share)] ?? 0
  const total = totalTokens(trace)
  return {
    hit_share: hit / total,
    p50: rank(0.5),
    p90: rank(0.9),
    p99: rank(0.99),
    skew: Math.max(...clusters.map(({ tokens }) => tokens)) / (total / count),
    us_per_decision: median(spent_us),
    chosen,
  }
}

/** What one cache that forgets nothing would have had. */
export function infiniteHitShare(trace: readonly TraceRequest[]): number {
  const cluster = new SimulatedCluster(Number.MAX_SAFE_INTEGER)
  let hit = 0
  for (const request of trace) hit += cluster.take(request, 0).cached
  return hit / totalTokens(trace)
}

const totalTokens = (trace: readonly TraceRequest[]) => trace.reduce((sum, { input_length }) => sum + input_length, 0)

/** By how much arrivals are hurried, so that `clusters` of them would be as busy as they can be without caches. */
function speedFor(trace: readonly TraceRequest[], clusters: number): number {
  const seconds = (trace.at(-1)?.timestamp ?? 1) / 1_000
  return (clusters * TOKENS_PER_S) / (totalTokens(trace) / seconds)
}
