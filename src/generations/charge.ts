// R42, R43: what a call may cost before it runs, and what it did cost afterwards, by the pricing of its target. Pure.

import type { TokenCounts } from '../answers/token-counts.ts'
import { costOf, outputFor, type Price, unitsCost, worstCase } from '../models/price.ts'
import type { Target } from '../routing/target.ts'
import type { Asked } from './call.ts'
import { leastOutput } from './lowered-limit.ts'

export interface Estimate {
  micros: number
  /** Set where the upstream must be told a lower output limit than it would use. */
  clamp_output_to: number | undefined
}

/** The most that this call can cost there. */
export function worstCost(asked: Asked, { pricing, max_output_tokens }: Target): number {
  if (pricing.kind === 'fee') return pricing.micros
  if (pricing.kind === 'unpriced') return 0
  const price = dearest(asked, pricing.price)
  const of_tokens = worstCase(price, asked.input_bound, outputBound(asked, max_output_tokens))
  const micros = of_tokens + (asked.media ? unitsCost(price, asked.media.needs.units) : searchCost(asked, price))
  return Math.min(micros, Number.MAX_SAFE_INTEGER)
}

const searchCost = ({ searches = 0 }: Asked, { web_search = 0 }: Price) => searches * web_search

/** R76: what is written for an hour costs more than what is written for five minutes. */
function dearest({ long_cache }: Asked, price: Price): Price {
  const { cache_write_1h: hour, long } = price
  if (!long_cache || hour === undefined) return price
  if (!long) return { ...price, cache_write: hour }
  return {
    ...price,
    cache_write: hour,
    long: { ...long, cache_write: long.cache_write_1h ?? Math.max(hour, long.cache_write) },
  }
}

const outputBound = ({ output_limit, choices }: Asked, max_output_tokens: number) =>
  output_limit ?? max_output_tokens * choices

/**
 * R43: where the whole does not fit but a shorter answer would. For callers that set no limit themselves, and for keys
 * whose own limits may be lowered too (R76).
 */
export function clampedTo(
  asked: Asked,
  target: Target,
  available_micros: number,
  may_lower = false,
): Estimate | undefined {
  const { pricing, max_output_tokens } = target
  const { output_limit, choices } = asked
  if (pricing.kind !== 'tokens' || asked.kind === 'embeddings' || asked.media) return undefined
  if (output_limit !== undefined && !may_lower) return undefined
  const price = dearest(asked, pricing.price)
  const searched = searchCost(asked, price)
  const affordable = Math.floor(outputFor(price, asked.input_bound, available_micros - searched) / choices)
  const most = output_limit === undefined ? max_output_tokens : Math.floor(output_limit / choices)
  const output = Math.min(affordable, most) // there may be money again by now, but no longer answers
  if (output < leastOutput(asked)) return undefined
  const micros = worstCase(price, asked.input_bound, output * choices) + searched
  return { micros, clamp_output_to: output }
}

export interface Charge {
  cost_micros: number
  direct_cost_micros: number
}

/** `covered` is how many of the input tokens a subscription's allowance takes, at its discount. */
export function chargeFor({ pricing, subscription }: Target, tokens: TokenCounts, covered: number): Charge {
  if (pricing.kind === 'fee') return { cost_micros: pricing.micros, direct_cost_micros: pricing.micros }
  if (pricing.kind === 'unpriced') return { cost_micros: 0, direct_cost_micros: 0 }
  const { actual_micros, direct_micros } = costOf(pricing.price, tokens)
  if (!subscription || covered === 0) return { cost_micros: actual_micros, direct_cost_micros: direct_micros }
  const input_micros = costOf(pricing.price, { ...tokens, output: 0 }).actual_micros
  const off =
    (BigInt(input_micros) * BigInt(covered) * BigInt(subscription.input_discount_pct)) / (BigInt(tokens.input) * 100n)
  return { cost_micros: actual_micros - Number(off), direct_cost_micros: direct_micros }
}
