// §4.9: an estimate for a cluster of the project's own: the recompute cost as calls showed it, tiers and GPUs as its
// telemetry tells them, and the tables for the rest. Pure.
import type { Telemetry } from '../clusters/cluster-telemetry.ts'
import { Refusal } from '../core/refusal.ts'
import { estimateCache } from './cache-estimate.ts'
import {
  type CacheEstimate,
  type CacheEstimateRequest,
  type TierAsked,
  UTILIZATION_MAX,
  type WholeRequest,
} from './cache-estimate-shapes.ts'
import { GPUS, MODELS, TIER_KINDS } from './hardware-figures.ts'
import { lineOf, type ObservedPrefill } from './prefill-fit.ts'

/** Without a cluster nothing was observed: what is asked for must be there. */
export function estimateFor(asked: CacheEstimateRequest): CacheEstimate {
  return estimateCache(whole(asked))
}

export function estimateObserved(
  asked: CacheEstimateRequest,
  telemetry: Telemetry | undefined,
  observed: ObservedPrefill,
): CacheEstimate {
  const line = asked.prefill_tokens_per_s === undefined ? lineOf(observed) : undefined
  const told = withTelemetry(asked, telemetry)
  const request: CacheEstimateRequest = line
    ? { ...told, prefill_tokens_per_s: 1_000 / line.ms_per_token, fixed_prefill_ms: line.fixed_ms }
    : told
  const estimate = estimateCache(whole(request))
  const { tiers, ...rest } = estimate
  return {
    ...rest,
    basis: line ? 'observed' : estimate.basis,
    recompute_margin_pct: line ? (observed.margin_pct ?? estimate.recompute_margin_pct) : estimate.recompute_margin_pct,
    observed,
    tiers: asked.tiers ? tiers : tiers.map(fromTelemetry),
  }
}

const fromTelemetry = (tier: CacheEstimate['tiers'][number]) => ({
  ...tier,
  basis: {
    lookup: heard(tier.basis.lookup),
    transfer: heard(tier.basis.transfer),
    decompression: tier.basis.decompression,
    queue_delay: heard(tier.basis.queue_delay),
  },
})

/** What stands in the request because telemetry told it was not given by whoever asked. */
const heard = (basis: CacheEstimate['tiers'][number]['basis']['lookup']) => (basis === 'given' ? 'observed' : basis)

/** What the request leaves out, as the cluster reports it. */
function withTelemetry(asked: CacheEstimateRequest, telemetry: Telemetry | undefined): CacheEstimateRequest {
  const { model, model_figures, gpu, tiers, ...rest } = asked
  const served = telemetry?.models?.find(({ id }) => id === model)
  const in_tables = MODELS.some(({ id }) => id === model)
  const kv_bytes_per_token = model_figures?.kv_bytes_per_token ?? served?.kv_bytes_per_token
  const { gpu_type, gpu_count } = telemetry?.capacity ?? {}
  const known_gpu = GPUS.find(({ type }) => type === gpu_type?.toLowerCase())?.type
  return {
    ...rest,
    ...(model !== undefined && in_tables && { model }),
    ...((model_figures || kv_bytes_per_token) && {
      model_figures: { ...model_figures, ...(kv_bytes_per_token && { kv_bytes_per_token }) },
    }),
    gpu: gpu ?? { ...(known_gpu && { type: known_gpu }), ...(gpu_count && { count: gpu_count }) },
    ...(tiers ? { tiers } : tiersOf(telemetry)),
  }
}

function tiersOf(telemetry: Telemetry | undefined): { tiers?: TierAsked[] } {
  const told = (telemetry?.cache_tiers ?? []).filter(({ name, read_gbps }) => read_gbps || kindNamed(name))
  const tiers = told.map(({ name, read_gbps, lookup_ms, queue_delay_ms, utilization }) => ({
    name,
    kind: kindNamed(name) ?? ('host_ram' as const),
    ...(read_gbps && { gigabytes_per_s: read_gbps, first_byte_ms: 0 }),
    ...(lookup_ms !== undefined && { lookup_ms }),
    ...(queue_delay_ms !== undefined && { queue_base_ms: queue_delay_ms, utilization: 0 }),
    ...(queue_delay_ms === undefined &&
      utilization !== undefined && { utilization: Math.min(UTILIZATION_MAX, utilization) }),
  }))
  return tiers.length > 0 ? { tiers } : {}
}

const kindNamed = (name: string) => TIER_KINDS.find((kind) => kind === name)

function whole(asked: CacheEstimateRequest): WholeRequest {
  const { gpu, tiers } = asked
  if (!gpu) throw missing('gpu')
  if (!tiers || tiers.length === 0) throw missing('tiers')
  return { ...asked, gpu, tiers }
}

const missing = (field: string) =>
  new Refusal('invalid_request', `'${field}' must be given where no cluster that reports it is named by 'cluster_id'.`)
