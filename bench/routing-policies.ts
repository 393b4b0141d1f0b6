// Rules that choose a cluster for the simulation: the product's own, and those it is measured against.
import type { Link } from '../src/reuse/prefix-chain.ts'
import { Sought } from '../src/routing/cache-belief.ts'
import { type PlaceFacts, type Prompt, placement } from '../src/routing/placement.ts'
import type { Prefill } from '../src/routing/places.ts'
import { ranked } from '../src/routing/prefix-score.ts'
import { BLOCK_TOKENS, type SimulatedCluster, TOKENS_PER_S, type TraceRequest } from './routing-model.ts'

export interface Policy {
  /** What is no part of the decision: first tokens that have come meanwhile, and the hashes of the prompt. */
  before?(request: TraceRequest, now_ms: number): void
  choose(request: TraceRequest, clusters: readonly SimulatedCluster[], now_ms: number): number
  /** What the cluster told: when its first token came, and how much of it was cached. */
  answered?(told: { cached: number; first_token_ms: number }): void
}

export function roundRobin(): Policy {
  let next = 0
  return { choose: (_request, clusters) => next++ % clusters.length }
}

/**
 * Knows exactly how long each has still to read: more than any router does. Of those that are idle, the first, as in
 * published simulations; or the one that has been idle for longest, which spreads calls better.
 */
export function leastLoaded({ longest_idle = false } = {}): Policy {
  return {
    choose(_request, clusters, now_ms) {
      const since_ms = longest_idle ? Number.NEGATIVE_INFINITY : now_ms
      const loads = clusters.map(({ free_at_ms }) => Math.max(since_ms, free_at_ms))
      return loads.indexOf(Math.min(...loads))
    },
  }
}

// The defaults of SGLang's router, policy `cache_aware`.
const CACHE_THRESHOLD = 0.3
const BALANCE_ABS = 64
const BALANCE_REL = 1.5

/**
 * SGLang's published rule: where loads differ by too much, the shortest queue; else the worker whose tree has the
 * longest prefix, where it is long enough; else the one whose tree is the smallest. Its trees are unbounded here, which
 * is to its advantage: it forgets by size on a timer.
 */
export function sglangCacheAware(cache_tokens: number): Policy {
  const trees: Map<number, number>[] = []
  let round = 0
  return {
    choose({ hash_ids }, clusters, now_ms) {
      while (trees.length < clusters.length) trees.push(new Map())
      const loads = clusters.map((one) => one.running(now_ms))
      const [most, least] = [Math.max(...loads), Math.min(...loads)]
      const at =
        most - least > BALANCE_ABS && most > least * BALANCE_REL ? loads.indexOf(least) : byTree(trees, hash_ids)
      round++
      const tree = trees[at] as Map<number, number>
      for (const id of hash_ids.toReversed()) {
        tree.delete(id)
        tree.set(id, round)
      }
      for (const id of tree.keys()) {
        if (tree.size * BLOCK_TOKENS <= cache_tokens) break
        tree.delete(id)
      }
      return at
    },
  }
}

function byTree(trees: readonly Map<number, number>[], hash_ids: readonly number[]): number {
  const matched = trees.map((tree) => {
    let blocks = 0
    for (const id of hash_ids) {
      if (!tree.has(id)) break
      blocks++
    }
    return blocks
  })
  const best = matched.indexOf(Math.max(...matched))
  if ((matched[best] ?? 0) / hash_ids.length > CACHE_THRESHOLD) return best
  const sizes = trees.map(({ size }) => size)
  return sizes.indexOf(Math.min(...sizes))
}

export interface ProductConditions {
  clusters: number
  cache_tokens: number
  /** This part of what it believes is wrong: links that it does not know of, or takes for another cluster's. */
  wrong_share?: number
  random?: () => number
}

/** As the service routes: it knows what it has sent, when first tokens came, and how many tokens were cached. */
export function product({
  clusters: count,
  cache_tokens,
  wrong_share = 0,
  random = () => 1,
}: ProductConditions): Policy {
  const places = placement({ per_project: 1_000_000, in_all: 1_000_000 })
  const facts: PlaceFacts[] = Array.from({ length: count }, (_, at) => ({
    target_id: `cluster:${at}`,
    model: 'm',
    cache_tokens,
    tokens_per_s: TOKENS_PER_S,
    slots_used: 0,
  }))
  const under_way: { prefill: Prefill; input: number; cached: number; at_ms: number }[][] = facts.map(() => [])
  let prompt: Prompt = { project_id: 'p', sought: new Sought([]), tokens: 0 }
  let last: { prefill: Prefill; input: number; cluster: number } | undefined

  /** First tokens that have come meanwhile. */
  function hear(now_ms: number): void {
    for (const waiting of under_way)
      while (waiting.length > 0 && (waiting[0]?.at_ms ?? 0) <= now_ms) {
        const { prefill, input, cached, at_ms } = waiting.shift() as (typeof waiting)[0]
        places.ended(prefill, at_ms)
        places.timed(prefill, at_ms)
        places.answered(prefill, { input, cached })
      }
  }

  return {
    before(request, now_ms) {
      hear(now_ms)
      prompt = { project_id: 'p', sought: new Sought(chainOf(request)), tokens: request.input_length }
    },
    choose(request, _clusters, now_ms) {
      const { chain } = prompt.sought
      const standings = places.standings(prompt, facts, now_ms)
      const cluster = ranked(standings, 'prefer', chain.at(-1)?.hash ?? '')[0] as number
      const believed = wrong_share > 0 ? new Sought(chain.filter(() => random() >= wrong_share / 2)) : prompt.sought
      const prefill = places.sent({ ...prompt, sought: believed }, facts[cluster] as PlaceFacts, now_ms)
      if (wrong_share > 0) {
        const wrong = chain.filter(() => random() < wrong_share / 2)
        const other = facts[Math.floor(random() * count)] as PlaceFacts
        if (wrong.length > 0) places.ended(places.sent({ ...prompt, sought: new Sought(wrong) }, other, now_ms), now_ms)
      }
      last = { prefill, input: request.input_length, cluster }
      return cluster
    },
    answered({ cached, first_token_ms }) {
      if (last)
        under_way[last.cluster]?.push({ prefill: last.prefill, input: last.input, cached, at_ms: first_token_ms })
    },
  }
}

const chainOf = ({ hash_ids, input_length }: TraceRequest): Link[] =>
  hash_ids.map((id, at) => ({ hash: String(id), tokens: Math.min((at + 1) * BLOCK_TOKENS, input_length) }))
