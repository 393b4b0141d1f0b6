// R52: what a cluster last told of its load, its caches and its models. All of it is optional.
import type { ClusterTelemetry } from '../../api/cluster-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Stat, Stats } from '../../parts/card.tsx'
import { latency, size, wholePercent } from '../../parts/measures.ts'
import { ShareMeter } from '../../parts/share-meter.tsx'

type Load = NonNullable<ClusterTelemetry['load']>
type CacheTier = NonNullable<ClusterTelemetry['cache_tiers']>[number]

/** What there is of several figures, with a mark where one is missing; undefined where none is there. */
function joined(figures: readonly (number | undefined)[], format: (value: number) => string): string | undefined {
  if (figures.every((one) => one === undefined)) return undefined
  return figures.map((one) => (one === undefined ? '–' : format(one))).join(' / ')
}

interface Fact {
  label: string
  text: string | undefined
}

export function loadFacts({ load = {}, capacity = {} }: ClusterTelemetry): Fact[] {
  return [
    { label: 'Running / waiting', text: joined([load.running, load.waiting], count) },
    { label: 'First token, p50 / p95', text: joined([load.ttft_p50_ms, load.ttft_p95_ms], latency) },
    { label: 'Between tokens, p50', text: joined([load.itl_p50_ms], latency) },
    { label: 'Prefill', text: joined([load.prefill_tokens_per_s], (rate) => `${count(Math.round(rate))} tokens/s`) },
    { label: 'Replicas / wanted', text: joined([capacity.replicas_ready, capacity.replicas_desired], count) },
    { label: 'GPUs', text: gpus(capacity) },
    { label: 'Preemptions', text: joined([load.preemptions], count) },
  ]
}

function gpus({ gpu_count, gpu_type }: NonNullable<ClusterTelemetry['capacity']>): string | undefined {
  if (gpu_count === undefined) return gpu_type
  return gpu_type === undefined ? count(gpu_count) : `${count(gpu_count)} × ${gpu_type}`
}

export function LoadStats({ telemetry, limit }: { telemetry: ClusterTelemetry; limit?: number }) {
  const facts = loadFacts(telemetry).filter(({ text }) => text !== undefined)
  if (facts.length === 0) return null
  return (
    <Stats>
      {facts.slice(0, limit).map(({ label, text }) => (
        <Stat key={label} label={label}>
          {text}
        </Stat>
      ))}
    </Stats>
  )
}

const METERS: readonly [keyof Load, string][] = [
  ['kv_utilization', 'KV cache in use'],
  ['prefix_cache_hit_rate', 'Prefix hits, GPU'],
  ['external_prefix_cache_hit_rate', 'Prefix hits, tiers'],
]

interface CacheMetersProps {
  telemetry: ClusterTelemetry
  /** The hits of each tier too. */
  detailed?: boolean
}

export function CacheMeters({ telemetry: { load = {}, cache_tiers = [] }, detailed = false }: CacheMetersProps) {
  const shares = METERS.flatMap(([field, label]) => {
    const share = load[field]
    return share === undefined ? [] : [{ label, share }]
  })
  const tiers = cache_tiers.flatMap((tier) => tierMeter(tier, detailed) ?? [])
  if (shares.length + tiers.length === 0) return null
  return (
    <div className="meters">
      {[...shares, ...tiers].map((meter) => (
        <ShareMeter key={meter.label} {...meter} />
      ))}
    </div>
  )
}

function tierMeter({ name, used_bytes, capacity_bytes, utilization, hit_rate }: CacheTier, detailed: boolean) {
  const full = used_bytes !== undefined && capacity_bytes ? used_bytes / capacity_bytes : utilization
  if (full === undefined) return undefined
  const of = used_bytes !== undefined && capacity_bytes ? `of ${size(capacity_bytes)}` : 'busy'
  return {
    label: name,
    share: full,
    detail: hit_rate === undefined || !detailed ? of : `${of}, ${wholePercent(hit_rate)} hits`,
  }
}

const SHOWN_MODELS = 3

interface ServedModelsProps {
  models: ClusterTelemetry['models'] | undefined
  endpoint: string | null
}

/** R52: a cluster that tells none is asked for its list, where it can be. */
export function ServedModels({ models, endpoint }: ServedModelsProps) {
  if (!models) return <span className="muted">{endpoint === null ? 'not reported' : 'as its endpoint lists them'}</span>
  if (models.length === 0) return <span className="muted">none</span>
  const more = models.length - SHOWN_MODELS
  return (
    <>
      {models.slice(0, SHOWN_MODELS).map(({ id }) => (
        <code key={id} className="chip">
          {id}
        </code>
      ))}
      {more > 0 && <span className="muted">and {count(more)} more</span>}
    </>
  )
}
