// R84: which of several clusters, by what is on its way there and what it holds.
import { expect, test } from 'vitest'
import { expectedMs, lotOf, type ReusePreference, ranked, type Standing } from './prefix-score.ts'

const standing = (target_id: string, more: Partial<Standing> = {}): Standing => ({
  target_id,
  in_flight_tokens: 0,
  held_tokens: 0,
  uncached_tokens: 1_000,
  tokens_per_s: undefined,
  slots_used: 0,
  lot: lotOf(target_id),
  ...more,
})

const order = (standings: Standing[], preference: ReusePreference = 'prefer', seed = 'seed') =>
  ranked(standings, preference, seed).map((at) => standings[at]?.target_id)

const cold = (id: string, more: Partial<Standing> = {}) => standing(id, { uncached_tokens: 10_000, ...more })
const warm = (id: string, more: Partial<Standing> = {}) =>
  standing(id, { held_tokens: 8_000, uncached_tokens: 2_000, ...more })

test.each<[string, Standing[], string]>([
  ['idle, the prefix wins', [cold('a'), warm('b')], 'b'],
  ['nearly idle, it still does', [cold('a'), warm('b', { in_flight_tokens: 500 })], 'b'],
  [
    'it wins over a queue of less than five times what is saved',
    [cold('a'), warm('b', { in_flight_tokens: 39_000 })],
    'b',
  ],
  ['and over no longer one', [cold('a'), warm('b', { in_flight_tokens: 41_000 })], 'a'],
  ['without a prefix, the shortest queue', [cold('a', { in_flight_tokens: 10 }), cold('b')], 'b'],
  [
    'twice as fast, twice the queue is as good',
    [
      cold('a', { tokens_per_s: 10_000, in_flight_tokens: 9_000 }),
      cold('b', { tokens_per_s: 20_000, in_flight_tokens: 60_000 }),
    ],
    'b',
  ],
  ['no free slot: only where nobody else has one', [cold('a'), warm('b', { slots_used: 1 })], 'a'],
  [
    'alike but for slots: the one with more of them',
    [cold('a', { slots_used: 0.5 }), cold('b', { slots_used: 0.1 })],
    'b',
  ],
])('R84 %s', (_what, standings, first) => {
  expect(order(standings)[0]).toBe(first)
})

test('R84 require: where the most of it is, whatever the queue; avoid: where the least of it is', () => {
  const busy = warm('b', { in_flight_tokens: 1_000_000, slots_used: 1 })
  expect(order([cold('a'), busy], 'require')).toEqual(['b', 'a'])
  expect(order([warm('b'), cold('a', { in_flight_tokens: 1_000_000 })], 'avoid')).toEqual(['a', 'b'])
})

test('R84 those that stand alike are drawn by the seed: the same for all, in any order, and spread over seeds', () => {
  const ids = ['a', 'b', 'c', 'd']
  const forwards = ids.map((id) => standing(id))
  expect(order(forwards)).toEqual(order(forwards.toReversed()))
  const firsts = Array.from({ length: 400 }, (_, at) => order(forwards, 'prefer', `seed ${at}`)[0])
  for (const id of ids) expect(firsts.filter((first) => first === id).length).toBeGreaterThan(60)
})

test('R84 a target of unknown rate counts as fast as the others; what is expected is told where the rate is known', () => {
  const known = cold('a', { tokens_per_s: 20_000, in_flight_tokens: 10_000 })
  expect(order([known, cold('b')])[0]).toBe('b')
  expect([expectedMs(known), expectedMs(cold('b'))]).toEqual([1_000, undefined])
})

test('R78, R84 a thousand are put in order as two are, and not each weighed against each', () => {
  let weighed = 0
  const counted = (at: number): Standing => ({
    ...standing(`c${at}`, { in_flight_tokens: 1_000 - at }),
    get slots_used() {
      weighed++
      return 0
    },
  })
  const many = Array.from({ length: 1_000 }, (_, at) => counted(at))
  expect(order(many)).toEqual(many.map(({ target_id }) => target_id).toReversed())
  expect(weighed).toBeLessThan(100_000)
})
