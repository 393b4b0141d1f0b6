// Which of several targets gets a call, by what it would have to wait there: prompts on their way there that are not in
// its cache, and what of its own prompt is not in that cache. Pure; what is believed is cache-belief.ts's.

/**
 * A token that is read anew costs more than its own time: it pushes somebody's prefix out of the cache and delays
 * whoever comes next (decision 0240, with the figures).
 */
export const UNCACHED_WEIGHT = 5

export type ReusePreference = 'prefer' | 'require' | 'avoid'

/** How a target stands for one call. */
export interface Standing {
  target_id: string
  /** Tokens of prompts on their way there whose first token has not come yet, without what its cache holds. */
  in_flight_tokens: number
  /** Of this prompt: what it is believed to hold, and what it would have to read. */
  held_tokens: number
  uncached_tokens: number
  /** How fast it reads. Undefined where nobody knows: then it counts as fast as the others. */
  tokens_per_s: number | undefined
  /** By which targets that stand alike are told apart: `lotOf` its id. */
  lot: number
  /** Its slots in use, as a part of all; from 1 on a call would wait for one. */
  slots_used: number
}

/** Smaller is better: seconds where the rate is known, and in the same proportion where it is not. */
export const scoreOf = ({ in_flight_tokens, uncached_tokens }: Standing, tokens_per_s: number) =>
  (in_flight_tokens + UNCACHED_WEIGHT * uncached_tokens) / tokens_per_s

/** Until its first token, were the call sent there now. Undefined where nobody knows how fast it reads. */
export const expectedMs = ({ in_flight_tokens, uncached_tokens, tokens_per_s }: Standing): number | undefined =>
  tokens_per_s === undefined ? undefined : Math.round(((in_flight_tokens + uncached_tokens) / tokens_per_s) * 1_000)

/** Up to so many are put in order by insertion: for few, a sort with a comparison costs several times as much. */
const FEW = 32

/**
 * Best first, as places in the list. `seed` is what equal calls have in common: of targets that stand alike, all
 * replicas take the same one without having to talk. R84: what is required comes before any load; what is to be
 * avoided is where the least of it is.
 */
export function ranked(standings: readonly Standing[], preference: ReusePreference, seed: string): number[] {
  const usual = usualRate(standings)
  const lot = lotOf(seed)
  const order: number[] = []
  const scores: number[] = []
  for (let at = 0; at < standings.length; at++) {
    const standing = standings[at] as Standing
    scores.push(scoreOf(standing, standing.tokens_per_s ?? usual))
    order.push(at)
  }
  if (order.length > FEW) return order.sort(orderOfTwo)
  for (let from = 1; from < order.length; from++) {
    let to = from
    for (; to > 0 && orderOfTwo(from, order[to - 1] as number) < 0; to--) order[to] = order[to - 1] as number
    order[to] = from
  }
  return order

  function orderOfTwo(one: number, other: number): number {
    const this_one = standings[one] as Standing
    const that_one = standings[other] as Standing
    const by_rule = byRule(this_one, that_one, preference, (scores[one] as number) - (scores[other] as number))
    return by_rule || drawn(lot, that_one.lot) - drawn(lot, this_one.lot)
  }
}

/** Below 0 where the first of the two comes first. */
function byRule(one: Standing, other: Standing, preference: ReusePreference, score_less: number): number {
  if (preference === 'require' && one.held_tokens !== other.held_tokens) return other.held_tokens - one.held_tokens
  const is_full = one.slots_used >= 1
  if (is_full !== other.slots_used >= 1) return is_full ? 1 : -1
  if (preference === 'avoid' && one.held_tokens !== other.held_tokens) return one.held_tokens - other.held_tokens
  return score_less || one.slots_used - other.slots_used
}

/** Of those whose rate is not known: the mean of the others'. */
function usualRate(standings: readonly Standing[]): number {
  let sum = 0
  let known = 0
  for (const { tokens_per_s } of standings) {
    if (tokens_per_s === undefined) continue
    sum += tokens_per_s
    known++
  }
  return known === 0 ? 1 : sum / known
}

/** A number for a text (FNV-1a). */
export function lotOf(text: string): number {
  let lot = 0x811c9dc5
  for (let at = 0; at < text.length; at++) lot = Math.imul(lot ^ text.charCodeAt(at), 0x01000193)
  return lot
}

/** Rendezvous: of several targets, the highest draws, and whoever asks for the same draws the same. */
function drawn(seed: number, target: number): number {
  let mixed = Math.imul(seed ^ target, 0x27d4eb2f)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
  return (mixed ^ (mixed >>> 13)) >>> 0
}
