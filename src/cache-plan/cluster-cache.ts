// GET /v2/byoc/clusters/{id}/cache: what a cluster's cache saved and missed, for whom, and what the planner advises. By
// hashes, bundles, sessions and counts; nothing of what was said. Pure.
import { type Static, Type } from 'typebox'
import type { Telemetry } from '../clusters/cluster-telemetry.ts'
import { rfc3339 } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { orNull, time } from '../core/shapes.ts'
import type { CacheEstimate } from './cache-estimate-shapes.ts'
import { type ObservedCall, samplesOf } from './observed-call.ts'
import { estimateObserved } from './observed-estimate.ts'
import { fitPrefill, lineOf, ObservedPrefill } from './prefill-fit.ts'

const LISTED_MAX = 10

const tokens = (description: string) => Type.Integer({ minimum: 0, description })
const Missing = {
  events: Type.Integer(),
  missed_tokens: tokens('Sent before, and not in the cache, estimated.'),
  example_trace_id: Type.String({ description: 'The latest of its calls that missed.' }),
}

export const ClusterCache = Type.Object(
  {
    id: Type.String({ description: 'The cluster’s id.' }),
    object: Type.Literal('byoc_cluster.cache'),
    from: time(),
    events: Type.Integer({ description: 'Completed calls that were looked at: the latest 2,000 at most.' }),
    input_tokens: tokens('Of all of them.'),
    cached_tokens: tokens('Found in the cache, as the cluster tells.'),
    repeated_tokens_est: tokens('Sent before, estimated.'),
    missed_tokens: tokens('Sent before, and not in the cache, estimated.'),
    reuse_share: orNull(Type.Number({ description: 'Cached, as a part of what was sent before.' })),
    gpu_seconds_saved: orNull(Type.Number({ description: 'Prefill that was not computed, by the observed rate.' })),
    gpu_seconds_missed: orNull(Type.Number({ description: 'Prefill that was computed again, by the observed rate.' })),
    models: Type.Array(
      Type.Object({
        model: Type.String(),
        events: Type.Integer(),
        cached_tokens: Type.Integer(),
        missed_tokens: Type.Integer(),
        observed: ObservedPrefill,
      }),
    ),
    prefixes: Type.Array(Type.Object({ prefix_hash: Type.String(), ...Missing }), {
      description: 'Calls that begin alike (tools and instructions), by a keyed hash: those that miss most.',
    }),
    bundles: Type.Array(Type.Object({ bundle_id: Type.String(), ...Missing }), {
      description: 'Those whose calls miss most, deleted ones too.',
    }),
    sessions: Type.Array(Type.Object({ session_id: Type.String(), ...Missing }), {
      description: 'Those that miss most.',
    }),
    advice: Type.Object({
      recommendation: orNull(Type.Enum(['activate_tier', 'recompute_only'])),
      prefix_tokens: orNull(Type.Integer({ description: 'What calls miss, in the middle.' })),
      tier: orNull(Type.String()),
      saved_ms: orNull(Type.Number({ description: 'For each such call.' })),
      sentence: Type.String(),
    }),
  },
  { title: 'ClusterCache' },
)
export type ClusterCache = Static<typeof ClusterCache>

export interface SeenCluster {
  id: string
  telemetry: Telemetry | undefined
  calls: readonly ObservedCall[]
  from_ms: number
}

export function clusterCache({ id, telemetry, calls, from_ms }: SeenCluster): ClusterCache {
  const models = [...grouped(calls, ({ model }) => model)].map(([model, own]) => ({
    model,
    events: own.length,
    cached_tokens: sum(own, 'cached_tokens'),
    missed_tokens: sum(own, 'missed_reuse_tokens'),
    observed: fitPrefill(samplesOf(own), undefined),
  }))
  const repeated = sum(calls, 'repeated_tokens_est')
  const cached = sum(calls, 'cached_tokens')
  return {
    id,
    object: 'byoc_cluster.cache',
    from: rfc3339(from_ms),
    events: calls.length,
    input_tokens: sum(calls, 'input_tokens'),
    cached_tokens: cached,
    repeated_tokens_est: repeated,
    missed_tokens: sum(calls, 'missed_reuse_tokens'),
    reuse_share: repeated === 0 ? null : Math.min(1, Math.round((cached / repeated) * 1_000) / 1_000),
    gpu_seconds_saved: secondsOf(models, 'cached_tokens'),
    gpu_seconds_missed: secondsOf(models, 'missed_tokens'),
    models,
    prefixes: missing(calls, ({ prefix_hash }) => prefix_hash).map(([prefix_hash, told]) => ({ prefix_hash, ...told })),
    bundles: missing(calls, ({ bundle_id }) => bundle_id).map(([bundle_id, told]) => ({ bundle_id, ...told })),
    sessions: missing(calls, ({ session_id }) => session_id).map(([session_id, told]) => ({ session_id, ...told })),
    advice: adviceOn(calls, telemetry, models),
  }
}

type Modelled = ClusterCache['models'][number]

/** Null where no model's rate is known: a figure that nobody saw is none. */
function secondsOf(models: readonly Modelled[], field: 'cached_tokens' | 'missed_tokens'): number | null {
  const known = models.flatMap((one) => {
    const line = lineOf(one.observed)
    return line ? (one[field] * line.ms_per_token) / 1_000 : []
  })
  return known.length === 0 ? null : Math.round(known.reduce((total, one) => total + one, 0) * 10) / 10
}

function missing(calls: readonly ObservedCall[], by: (call: ObservedCall) => string | null) {
  const missed = calls.filter((call) => call.missed_reuse_tokens > 0 && by(call) !== null)
  return [...grouped(missed, (call) => by(call) ?? '')]
    .map(([name, own]) => {
      const example_trace_id = own[0]?.trace_id ?? ''
      return [name, { events: own.length, missed_tokens: sum(own, 'missed_reuse_tokens'), example_trace_id }] as const
    })
    .sort(([, one], [, other]) => other.missed_tokens - one.missed_tokens)
    .slice(0, LISTED_MAX)
}

const NOTHING = { recommendation: null, prefix_tokens: null, tier: null, saved_ms: null }

function adviceOn(
  calls: readonly ObservedCall[],
  telemetry: Telemetry | undefined,
  models: readonly Modelled[],
): ClusterCache['advice'] {
  const missed = calls.map((call) => call.missed_reuse_tokens).filter((one) => one > 0)
  if (missed.length === 0) return { ...NOTHING, sentence: 'Nothing that was sent before was missed.' }
  const prefix_tokens = missed.sort((a, b) => a - b)[Math.floor(missed.length / 2)] ?? 1
  const [busiest] = [...models].sort((a, b) => b.missed_tokens - a.missed_tokens)
  const estimate = busiest && estimated(busiest, prefix_tokens, telemetry)
  if (!estimate || estimate instanceof Refusal)
    return {
      ...NOTHING,
      prefix_tokens,
      sentence: `The planner needs more: ${estimate?.message ?? 'no calls were seen.'}`,
    }
  const { tier, saved_ms: saved } = estimate.plan.decision
  if (tier === undefined || saved === undefined)
    return {
      ...{ ...NOTHING, recommendation: 'recompute_only' as const, prefix_tokens },
      sentence: `Of ${busiest.model}, recomputing ${prefix_tokens} tokens is sooner than any tier it reports.`,
    }
  const saved_ms = Math.round(saved)
  return {
    ...{ recommendation: 'activate_tier' as const, prefix_tokens, tier, saved_ms },
    sentence: `Of ${busiest.model}, fetching ${prefix_tokens} tokens from ${tier} saves ${saved_ms} ms a call.`,
  }
}

/** What the cluster does not report, and the tables do not know, is told as the estimate tells it. */
function estimated(
  { model, observed }: Modelled,
  prefix_tokens: number,
  telemetry: Telemetry | undefined,
): CacheEstimate | Refusal {
  try {
    return estimateObserved({ model, prefix_tokens }, telemetry, observed)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

function grouped(calls: readonly ObservedCall[], by: (call: ObservedCall) => string): Map<string, ObservedCall[]> {
  const groups = new Map<string, ObservedCall[]>()
  for (const call of calls) {
    const name = by(call)
    const own = groups.get(name)
    if (own) own.push(call)
    else groups.set(name, [call])
  }
  return groups
}

type Counted = 'input_tokens' | 'cached_tokens' | 'repeated_tokens_est' | 'missed_reuse_tokens'
const sum = (calls: readonly ObservedCall[], field: Counted) => calls.reduce((total, call) => total + call[field], 0)
