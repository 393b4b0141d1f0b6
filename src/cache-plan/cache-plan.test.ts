// §4.9, R14: the planner in numbers.
import { expect, test } from 'vitest'
import { Refusal } from '../core/refusal.ts'
import { type CachePlan, planCache, type Tier } from './cache-plan.ts'

type Costs = [lookup: number, transfer: number, decompression: number, queue: number]
type Plan = (expected_recompute_ms: number, tiers: readonly Tier[]) => CachePlan

const tier = (name: string, [lookup_ms, transfer_ms, decompression_ms, queue_delay_ms]: Costs): Tier => ({
  name,
  lookup_ms,
  transfer_ms,
  decompression_ms,
  queue_delay_ms,
})

interface Row {
  case: string
  recompute: number
  tiers: [string, Costs][]
  totals: number[]
  beats: boolean[]
  fetch?: string
}

const ROWS: Row[] = [
  { case: '§4.9 one that wins', recompute: 100, tiers: [['a', [1, 2, 3, 4]]], totals: [10], beats: [true], fetch: 'a' },
  { case: '§4.9 one that loses', recompute: 9, tiers: [['a', [1, 2, 3, 4]]], totals: [10], beats: [false] },
  { case: 'T-92 a draw', recompute: 10, tiers: [['a', [1, 2, 3, 4]]], totals: [10], beats: [false] },
  {
    case: '§4.9 the cheapest of those that win, not the first',
    recompute: 50,
    tiers: [
      ['slow', [10, 10, 10, 10]],
      ['fast', [1, 1, 1, 1]],
      ['lost', [100, 0, 0, 0]],
    ],
    totals: [40, 4, 100],
    beats: [true, true, false],
    fetch: 'fast',
  },
  {
    case: 'T-93 equal totals: the first in request order',
    recompute: 50,
    tiers: [
      ['first', [4, 3, 2, 1]],
      ['second', [1, 2, 3, 4]],
    ],
    totals: [10, 10],
    beats: [true, true],
    fetch: 'first',
  },
  {
    case: 'T-93 one name twice',
    recompute: 50,
    tiers: [
      ['same', [9, 0, 0, 0]],
      ['same', [1, 0, 0, 0]],
    ],
    totals: [9, 1],
    beats: [true, true],
    fetch: 'same',
  },
  {
    case: 'T-94 floats, in the stated order',
    recompute: 1,
    tiers: [
      ['up', [0.1, 0.2, 0.3, 0.4]],
      ['down', [0.4, 0.3, 0.2, 0.1]],
    ],
    totals: [1, 0.9999999999999999],
    beats: [false, true],
    fetch: 'down',
  },
  { case: 'T-95 negative costs', recompute: 0, tiers: [['a', [-1, 0, 0, 0]]], totals: [-1], beats: [true], fetch: 'a' },
  { case: 'T-95 negative recompute', recompute: -5, tiers: [['a', [0, 0, 0, 0]]], totals: [0], beats: [false] },
  { case: 'T-95 minus zero', recompute: 0, tiers: [['a', [-0, -0, -0, -0]]], totals: [-0], beats: [false] },
  {
    case: 'T-89 sixteen tiers',
    recompute: 8.5,
    tiers: Array.from({ length: 16 }, (_, n): [string, Costs] => [`t${n}`, [16 - n, 0, 0, 0]]),
    totals: Array.from({ length: 16 }, (_, n) => 16 - n),
    beats: Array.from({ length: 16 }, (_, n) => 16 - n < 8.5),
    fetch: 't15',
  },
]

function expected({ recompute, tiers, totals, beats, fetch }: Row): CachePlan {
  const verdicts = tiers.map(([name], at) => {
    const total_ms = totals[at] as number
    return { name, total_ms, beats_recompute: beats[at] as boolean, saved_ms: recompute - total_ms }
  })
  // Of tiers that share a name, the one that was meant is the cheapest.
  const best = verdicts.filter(({ name }) => name === fetch).sort((a, b) => a.total_ms - b.total_ms)[0]
  return {
    object: 'hicache_plan',
    expected_recompute_ms: recompute,
    decision: best ? { decision: 'fetch', tier: best.name, saved_ms: best.saved_ms } : { decision: 'recompute' },
    tiers: verdicts,
    recommendation: best ? 'activate_tier' : 'recompute_only',
  }
}

const answer = (plan: Plan, row: Row) =>
  plan(
    row.recompute,
    row.tiers.map(([name, costs]) => tier(name, costs)),
  )

const failing = (plan: Plan) =>
  ROWS.filter((row) => JSON.stringify(answer(plan, row)) !== JSON.stringify(expected(row))).map((row) => row.case)

test.each(ROWS)('$case', (row) => {
  expect(answer(planCache, row)).toEqual(expected(row))
})

test.each<[string, number, Costs]>([
  ['costs that add up to Infinity', 1, [1e308, 1e308, 1e308, 1e308]],
  ['costs that add up to minus Infinity', 1, [-1e308, -1e308, 0, 0]],
  ['a saving that overflows', 1.7e308, [-1.7e308, 0, 0, 0]],
  ['an infinite cost', 1, [Infinity, 0, 0, 0]],
  ['an infinite recompute', Infinity, [0, 0, 0, 0]],
])('T-91 %s is refused, and the tier is named', (_case, recompute, costs) => {
  const asked = () => planCache(recompute, [tier('good', [0, 0, 0, 0]), tier('bad', costs)].slice(-1))
  expect(asked).toThrow(Refusal)
  expect(asked).toThrow("'tiers[0]'")
})

test('R14 a saving that overflows is not told to be a sum that does', () => {
  expect(() => planCache(1.7e308, [tier('far', [-1.7e308, 0, 0, 0])])).toThrow("'expected_recompute_ms' less the costs")
})

test('R8 a tier without a visible name is refused', () => {
  expect(() => planCache(1, [tier('good', [0, 0, 0, 0]), tier(' ', [0, 0, 0, 0])])).toThrow("'tiers[1].name'")
})

test('R14 planted: a draw that wins, another order of adding, a later tier on a tie: each is caught', () => {
  expect(failing(planCache)).toEqual([])
  const remade = (total: (t: Tier) => number, beats: (r: number, t: number) => boolean, tie: boolean): Plan => {
    return (recompute, tiers) => {
      const verdicts = tiers.map((one) => {
        const total_ms = total(one)
        const saved_ms = recompute - total_ms
        return { name: one.name, total_ms, beats_recompute: beats(recompute, total_ms), saved_ms }
      })
      const best = verdicts
        .filter((one) => one.beats_recompute)
        .reduce<(typeof verdicts)[number] | undefined>(
          (b, n) => (!b || (tie ? n.total_ms <= b.total_ms : n.total_ms < b.total_ms) ? n : b),
          undefined,
        )
      const decision = best
        ? { decision: 'fetch' as const, tier: best.name, saved_ms: best.saved_ms }
        : { decision: 'recompute' as const }
      const recommendation = best ? 'activate_tier' : 'recompute_only'
      return { object: 'hicache_plan', expected_recompute_ms: recompute, decision, tiers: verdicts, recommendation }
    }
  }
  const forward = (t: Tier) => t.lookup_ms + t.transfer_ms + t.decompression_ms + t.queue_delay_ms
  const backward = (t: Tier) => t.queue_delay_ms + t.decompression_ms + t.transfer_ms + t.lookup_ms
  const above = (recompute: number, total: number) => recompute > total
  expect(failing(remade(forward, above, false))).toEqual([])
  expect(failing(remade(forward, (recompute, total) => recompute >= total, false))).toContain('T-92 a draw')
  expect(failing(remade(backward, above, false))).toContain('T-94 floats, in the stated order')
  expect(failing(remade(forward, above, true))).toContain('T-93 equal totals: the first in request order')
})
