// The routing bench over a trace made from a seed: conversations that grow and interleave, behind one system prompt.
import { expect, test } from 'vitest'
import { seeded } from './routing.ts'
import type { TraceRequest } from './routing-model.ts'
import { BLOCK_TOKENS } from './routing-model.ts'
import { leastLoaded, product, roundRobin, sglangCacheAware } from './routing-policies.ts'
import { infiniteHitShare, run } from './routing-run.ts'

const CONVERSATIONS = 60
const REQUESTS = 800

function madeTrace(seed: number): TraceRequest[] {
  const random = seeded(seed)
  let next_id = 1
  const talks = Array.from({ length: CONVERSATIONS }, () => [0, 1, 2, 3])
  return Array.from({ length: REQUESTS }, (_, at) => {
    const talk = talks[Math.floor(random() * CONVERSATIONS)] as number[]
    for (let blocks = 1 + Math.floor(random() * 4); blocks > 0; blocks--) talk.push(next_id++ + 100)
    if (talk.length > 80) talk.length = 4
    return { timestamp: at * 100, input_length: talk.length * BLOCK_TOKENS - 100, hash_ids: [...talk] }
  })
}

const trace = madeTrace(7)
const conditions = { clusters: 4, cache_tokens: 1_024_000, load: 0.9 }

test('R84 more is found in caches, and first tokens come sooner, than by load alone', () => {
  const least = run(trace, leastLoaded({ longest_idle: true }), conditions)
  const own = run(trace, product(conditions), conditions)
  expect(own.hit_share).toBeGreaterThan(1.2 * least.hit_share)
  expect(own.hit_share).toBeGreaterThan(0.85 * infiniteHitShare(trace))
  expect(own.p90).toBeLessThan(least.p90)
  expect(own.chosen).toHaveLength(REQUESTS)
})

test('R84 so it is with a belief that is wrong in a tenth of its links, and with a restart in the middle', () => {
  const wrong = product({ ...conditions, wrong_share: 0.1, random: seeded(1) })
  const least = run(trace, leastLoaded({ longest_idle: true }), { ...conditions, restart: true })
  for (const result of [
    run(trace, wrong, conditions),
    run(trace, product(conditions), { ...conditions, restart: true }),
  ]) {
    expect(result.hit_share).toBeGreaterThan(least.hit_share)
    expect(result.p90).toBeLessThan(least.p90)
  }
})

test('R84 the same trace and seed give the same choices, by every policy', () => {
  for (const policy of [roundRobin, leastLoaded, () => sglangCacheAware(1_024_000), () => product(conditions)])
    expect(run(trace, policy(), conditions).chosen).toEqual(run(trace, policy(), conditions).chosen)
})
