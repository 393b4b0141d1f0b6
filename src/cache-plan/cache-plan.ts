// §4.9, R14: fetch a cached prefix from a tier, or recompute it. Pure: stores nothing, holds no GPU.
import { type Static, Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'
import { Label, label } from '../core/shapes.ts'

export const TIERS_MAX = 16 // §8
const Milliseconds = (description: string) => Type.Number({ description: `${description}, ms.` })

export const Tier = Type.Object({
  name: Label('Tier label, for example gpu_hbm, host_ram, local_nvme, remote.'),
  lookup_ms: Milliseconds('Index and lookup cost'),
  transfer_ms: Milliseconds('Transfer cost to the GPU'),
  decompression_ms: Milliseconds('Decompression cost'),
  queue_delay_ms: Milliseconds('Queue delay under load'),
})
export type Tier = Static<typeof Tier>

export const CachePlanRequest = Type.Object(
  {
    expected_recompute_ms: Milliseconds('Expected GPU cost to recompute the prefix'),
    tiers: Type.Array(Tier, { minItems: 1, maxItems: TIERS_MAX }),
  },
  { title: 'CachePlanRequest' },
)

export const TierVerdict = Type.Object({
  name: Type.String(),
  total_ms: Type.Number({ description: 'Sum of the four costs.' }),
  beats_recompute: Type.Boolean(),
  saved_ms: Type.Number({ description: 'Negative when the fetch loses.' }),
})
export type TierVerdict = Static<typeof TierVerdict>

export const Decision = Type.Object({
  decision: Type.Enum(['fetch', 'recompute']),
  tier: Type.Optional(Type.String()),
  saved_ms: Type.Optional(Type.Number()),
})
export type Decision = { decision: 'fetch'; tier: string; saved_ms: number } | { decision: 'recompute' }

export const CachePlan = Type.Object(
  {
    object: Type.Literal('hicache_plan'),
    expected_recompute_ms: Type.Number(),
    decision: Decision,
    tiers: Type.Array(TierVerdict),
    recommendation: Type.Enum(['activate_tier', 'recompute_only']),
  },
  { title: 'CachePlan' },
)
export type CachePlan = Omit<Static<typeof CachePlan>, 'decision'> & { decision: Decision }

export function planCache(expected_recompute_ms: number, tiers: readonly Tier[]): CachePlan {
  const verdicts = tiers.map((tier, index) => weigh(tier, index, expected_recompute_ms))
  const decision = decide(verdicts)
  return {
    object: 'hicache_plan',
    expected_recompute_ms,
    decision,
    tiers: verdicts,
    recommendation: decision.decision === 'fetch' ? 'activate_tier' : 'recompute_only',
  }
}

function weigh(tier: Tier, index: number, expected_recompute_ms: number): TierVerdict {
  const name = label(`tiers[${index}].name`, tier.name)
  const total_ms = tier.lookup_ms + tier.transfer_ms + tier.decompression_ms + tier.queue_delay_ms
  const saved_ms = expected_recompute_ms - total_ms
  // Finite costs can still add up to Infinity, which JSON would turn into null.
  if (!Number.isFinite(total_ms)) throw notFinite(`'tiers[${index}]' has costs whose sum`)
  if (!Number.isFinite(saved_ms)) throw notFinite(`'expected_recompute_ms' less the costs of 'tiers[${index}]'`)
  return { name, total_ms, beats_recompute: expected_recompute_ms > total_ms, saved_ms }
}

const notFinite = (what: string) => new Refusal('invalid_request', `${what} is not a finite number.`)

/** The cheapest tier that beats recompute. A tie goes to the earlier tier, so plans are stable. */
function decide(verdicts: readonly TierVerdict[]): Decision {
  let best: TierVerdict | undefined
  for (const verdict of verdicts)
    if (verdict.beats_recompute && (!best || verdict.total_ms < best.total_ms)) best = verdict
  return best ? { decision: 'fetch', tier: best.name, saved_ms: best.saved_ms } : { decision: 'recompute' }
}
