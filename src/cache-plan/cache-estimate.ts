// §4.9: what tiers would cost, derived from model, GPU, prefix length and bandwidths; then the planner's own decision
// on those costs. Pure: stores nothing, holds no GPU. Recompute is linear layers plus attention, which grows by the
// square of the length.
import { label } from '../core/shapes.ts'
import { breakEvenOf, type Lengths, PREFIX_TOKENS_MIN, winningLengths } from './break-even.ts'
import { type CacheEstimate, UTILIZATION_MAX, type WholeRequest } from './cache-estimate-shapes.ts'
import { planCache, type Tier } from './cache-plan.ts'
import { type Deployment, deploymentOf } from './deployment.ts'
import { AS_OF } from './hardware-figures.ts'
import { type TierCosts, tierCosts } from './tier-costs.ts'

const CURVE_POINTS = 37
const CURVE_TOKENS_MIN = 131_072 // the curve reaches at least this far
const LOADS = Array.from({ length: 20 }, (_, step) => step / 20) // 0 to 0.95

export function estimateCache(asked: WholeRequest): CacheEstimate {
  const { prefix_tokens } = asked
  const deployment = deploymentOf(asked)
  const tiers = asked.tiers.map((tier, at) => ({
    name: label(`tiers[${at}].name`, tier.name),
    ...tierCosts(tier, at, deployment),
  }))
  const expected_recompute_ms = micro(recomputeMs(deployment, prefix_tokens))
  const costs = tiers.map((tier) => costsAt(tier, prefix_tokens))
  // The plan is made of the very figures that are told, so that asking the planner with them gives the same.
  const plan = planCache(expected_recompute_ms, costs)
  return {
    object: 'hicache_estimate',
    as_of: AS_OF,
    prefix_tokens,
    kv_bytes: kvBytes(deployment, prefix_tokens),
    expected_recompute_ms,
    basis: asked.prefill_tokens_per_s === undefined ? 'derived' : 'given',
    recompute_margin_pct: deployment.margin_pct,
    observed: null,
    figures: {
      ...deployment.figures,
      prefill_tokens_per_s: Math.round((prefix_tokens / recomputeMs(deployment, prefix_tokens)) * 1_000),
    },
    tiers: tiers.map((tier, at) => {
      const verdict = plan.tiers[at] ?? { name: tier.name, total_ms: 0, beats_recompute: false, saved_ms: 0 }
      const wins = winningLengths(lengthsOf(deployment, tier))
      return {
        ...(costs[at] as Tier),
        ...verdict,
        break_even_tokens: breakEvenOf(wins),
        wins,
        hit_rate_min: hitRateMin(verdict.saved_ms, costs[at]?.lookup_ms ?? 0),
        basis: tier.basis,
      }
    }),
    plan_request: { expected_recompute_ms, tiers: costs },
    plan,
    curve: curveOf(deployment, tiers, prefix_tokens),
    load_curve: loadCurveOf(deployment, tiers),
  }
}

interface NamedTier extends TierCosts {
  name: string
}

/** Microseconds are finer than anybody can know. */
const micro = (ms: number) => Math.round(ms * 1_000) / 1_000

export function recomputeMs({ fixed_ms, ms_per_token, ms_per_pair }: Deployment, tokens: number): number {
  return fixed_ms + ms_per_token * tokens + ms_per_pair * tokens * tokens
}

const kvBytes = ({ figures }: Deployment, tokens: number) =>
  figures.kv_bytes_per_token * tokens + figures.fixed_kv_bytes

function costsAt({ name, costs, utilization }: NamedTier, tokens: number): Tier {
  const { lookup_ms, transfer_ms, decompression_ms, queue_delay_ms } = costs(tokens, utilization)
  return {
    name,
    lookup_ms: micro(lookup_ms),
    transfer_ms: micro(transfer_ms),
    decompression_ms: micro(decompression_ms),
    queue_delay_ms: micro(queue_delay_ms),
  }
}

function totalAt({ costs }: TierCosts, tokens: number, utilization: number): number {
  const { lookup_ms, transfer_ms, decompression_ms, queue_delay_ms } = costs(tokens, utilization)
  return lookup_ms + transfer_ms + decompression_ms + queue_delay_ms
}

function lengthsOf(deployment: Deployment, tier: TierCosts, utilization = tier.utilization): Lengths {
  const { ms_per_token, ms_per_pair } = deployment
  // Between whole chunks a fetch grows in a straight line, so two of them tell its slope.
  const [near, far] = [tier.chunk_tokens * 1_024, tier.chunk_tokens * 2_048]
  const slope = (totalAt(tier, far, utilization) - totalAt(tier, near, utilization)) / (far - near)
  return {
    gainAt: (tokens) => recomputeMs(deployment, tokens) - totalAt(tier, tokens, utilization),
    // Where recompute begins to grow faster than the fetch: before it the gain falls, behind it the gain rises.
    turning_tokens: turningOf(slope - ms_per_token, ms_per_pair),
  }
}

const turningOf = (falls_by: number, ms_per_pair: number) =>
  ms_per_pair > 0 ? falls_by / (2 * ms_per_pair) : falls_by > 0 ? Number.POSITIVE_INFINITY : 0

/** A look-up is paid for each time, a hit saves now and then: it pays off where hits are at least this frequent. */
const hitRateMin = (saved_ms: number, lookup_ms: number) => (saved_ms > 0 ? lookup_ms / (saved_ms + lookup_ms) : null)

function curveOf(deployment: Deployment, tiers: readonly NamedTier[], asked_tokens: number): CacheEstimate['curve'] {
  const longest = Math.max(CURVE_TOKENS_MIN, asked_tokens)
  const factor = (longest / PREFIX_TOKENS_MIN) ** (1 / (CURVE_POINTS - 1))
  const prefix_tokens = Array.from({ length: CURVE_POINTS }, (_, at) => Math.round(PREFIX_TOKENS_MIN * factor ** at))
  return {
    prefix_tokens,
    recompute_ms: prefix_tokens.map((tokens) => micro(recomputeMs(deployment, tokens))),
    tiers: tiers.map((tier) => ({
      name: tier.name,
      total_ms: prefix_tokens.map((tokens) => micro(totalAt(tier, tokens, tier.utilization))),
    })),
  }
}

function loadCurveOf(deployment: Deployment, tiers: readonly NamedTier[]): CacheEstimate['load_curve'] {
  const utilization = LOADS.filter((load) => load <= UTILIZATION_MAX)
  return {
    utilization,
    tiers: tiers.map((tier) => ({
      name: tier.name,
      break_even_tokens: utilization.map((load) => breakEvenOf(winningLengths(lengthsOf(deployment, tier, load)))),
    })),
  }
}
