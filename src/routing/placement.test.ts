// What is on its way to targets, how fast they read, and what their answers teach.
import { expect, test } from 'vitest'
import { Sought } from './cache-belief.ts'
import { type PlaceFacts, type Placement, type Prompt, placement } from './placement.ts'

const facts = (target_id: string, more: Partial<PlaceFacts> = {}): PlaceFacts => ({
  ...{ target_id, model: 'm', cache_tokens: undefined, tokens_per_s: undefined, slots_used: 0 },
  ...more,
})
const A = facts('a')
const B = facts('b')

/** A prompt of blocks of a thousand tokens. */
function promptOf(name: string, blocks = 10, project_id = 'p'): Prompt {
  const chain = Array.from({ length: blocks }, (_, at) => ({ hash: `${name} ${at}`, tokens: (at + 1) * 1_000 }))
  return { project_id, sought: new Sought(chain), tokens: blocks * 1_000 }
}

const held = (places: Placement, name: string, now = 0) =>
  places.standings(promptOf(name), [A, B], now).map(({ held_tokens }) => held_tokens)

function served(places: Placement, name: string, cached: number, target = A): void {
  const prefill = places.sent(promptOf(name), target, 0)
  places.ended(prefill, 0)
  places.answered(prefill, { input: 10_000, cached })
}

test('R84 what is on its way counts without what the cache holds, until its first token or its end', () => {
  const places = placement()
  const ahead = () => places.standings(promptOf('x'), [A, B], 0).map(({ in_flight_tokens }) => in_flight_tokens)
  const first = places.sent(promptOf('talk'), A, 0)
  expect(ahead()).toEqual([10_000, 0])
  const second = places.sent(promptOf('talk', 12), A, 0)
  expect(ahead()).toEqual([12_000, 0])
  places.ended(first, 5)
  places.ended(first, 6)
  expect(ahead()).toEqual([2_000, 0])
  places.ended(second, 9)
  expect(ahead()).toEqual([0, 0])
})

test('R84 what a target can have read of the oldest is not counted, where its rate is known', () => {
  const places = placement()
  const fast = facts('a', { tokens_per_s: 10_000 })
  places.sent(promptOf('talk'), fast, 0)
  const ahead = (now: number) => places.standings(promptOf('x'), [fast], now)[0]?.in_flight_tokens
  expect([ahead(0), ahead(250), ahead(5_000)]).toEqual([10_000, 7_500, 0])
})

test('R84 the rate is learnt from first tokens: what was ahead, and its own', () => {
  const places = placement()
  const rate = () => places.standings(promptOf('x'), [A], 0)[0]?.tokens_per_s
  for (let at = 0; at < 20; at++) {
    const prefill = places.sent(promptOf(`talk ${at}`), A, at * 1_000)
    places.timed(prefill, at * 1_000 + (at === 10 ? 60_000 : 500)) // one of them hung
    places.ended(prefill, at * 1_000 + 500)
    if (at < 4) expect(rate()).toBeUndefined()
  }
  expect(rate()).toBeGreaterThan(18_000)
  expect(rate()).toBeLessThan(20_001)
})

test('R84 a target that misses twice in a row what it should hold holds nothing that was sent before it', () => {
  const places = placement()
  for (const name of ['one', 'two', 'three', 'four']) served(places, name, 0)
  served(places, 'four', 9_000)
  expect(held(places, 'one')).toEqual([10_000, 0])
  served(places, 'two', 0)
  expect(held(places, 'one')).toEqual([10_000, 0])
  served(places, 'three', 0)
  expect([held(places, 'one'), held(places, 'three')]).toEqual([
    [0, 0],
    [10_000, 0],
  ])
})

test('R84 a hit in between, or an upstream that never tells of cached tokens, forgets nothing', () => {
  const places = placement()
  for (const name of ['one', 'two', 'three']) served(places, name, 0)
  for (const name of ['one', 'two', 'three']) served(places, name, 0)
  expect(held(places, 'one')).toEqual([10_000, 0])
  served(places, 'one', 9_000)
  served(places, 'two', 0)
  served(places, 'three', 9_000)
  served(places, 'two', 0)
  expect(held(places, 'one')).toEqual([10_000, 0])
})

test('R84 what is still being read is not held against the target', () => {
  const places = placement()
  served(places, 'talk', 0)
  served(places, 'talk', 9_000)
  places.sent(promptOf('new'), A, 0) // not read yet
  for (let at = 0; at < 3; at++) served(places, 'new', 0)
  expect(held(places, 'talk')).toEqual([10_000, 0])
})

test('R84 a target that failed or was restarted is forgotten, and no other', () => {
  const places = placement()
  served(places, 'talk', 0)
  served(places, 'talk', 0, B)
  places.forget('a')
  expect(held(places, 'talk')).toEqual([0, 10_000])
})

test('R84 what is reported of a cache bounds what is believed of it', () => {
  const places = placement()
  const small = facts('a', { cache_tokens: 4_000 })
  places.ended(places.sent(promptOf('talk'), small, 0), 0)
  expect(places.standings(promptOf('talk'), [small], 0)[0]?.held_tokens).toBe(4_000)
})

test('R78, R84 whoever only asks how targets stand, for however many, makes nobody forget what is believed', () => {
  const places = placement(undefined, { per_project: 6, in_all: 10 })
  served(places, 'talk', 0)
  const asked = promptOf('talk', 10, 'other')
  for (let at = 0; at < 40; at++) places.standings(asked, [facts(`c${at}`)], 0)
  expect(held(places, 'talk')).toEqual([10_000, 0])
})

test('R78, R84 of too many places those of the project that has the most give way, and no other’s', () => {
  const places = placement(undefined, { per_project: 6, in_all: 10 })
  const send = (project_id: string, target_id: string) =>
    places.ended(places.sent(promptOf('talk', 10, project_id), facts(target_id), 0), 0)
  const holds = (project_id: string, target_id: string) =>
    places.standings(promptOf('talk', 10, project_id), [facts(target_id)], 0)[0]?.held_tokens === 10_000
  for (let at = 0; at < 4; at++) send('p', `mine${at}`)
  for (let at = 0; at < 100; at++) send('other', `c${at}`)
  for (let at = 0; at < 4; at++) expect(holds('p', `mine${at}`)).toBe(true)
  expect([holds('other', 'c99'), holds('other', 'c98'), holds('other', 'c9')]).toEqual([true, true, false])
  for (let at = 0; at < 2; at++) send('third', `t${at}`) // the others have ten of ten
  expect([holds('p', 'mine0'), holds('third', 't0'), holds('third', 't1')]).toEqual([true, true, true])
})

test('R78, R84 a target that had given way, and is sent to again, is found again', () => {
  const places = placement(undefined, { per_project: 2, in_all: 2 })
  for (const target of ['a', 'b', 'c', 'a', 'b', 'c', 'a'])
    places.ended(places.sent(promptOf('talk'), facts(target), 0), 0)
  expect(held(places, 'talk')[0]).toBe(10_000)
  for (let at = 0; at < 4; at++) places.ended(places.sent(promptOf('more'), A, 0), 0)
  expect([held(places, 'talk')[0], held(places, 'more')[0]]).toEqual([10_000, 10_000])
})
