// What replicas tell each other: after a beat of each, both know where a prompt is and what is on its way.
import { afterEach, expect, test } from 'vitest'
import { Sought } from './cache-belief.ts'
import { type PlaceFacts, type Placement, placement } from './placement.ts'
import { type Exchange, sharedBelief } from './shared-belief.ts'

const A: PlaceFacts = { target_id: 'a', model: 'm', cache_tokens: undefined, tokens_per_s: undefined, slots_used: 0 }
const prompt = (project_id = 'p') => ({
  project_id,
  sought: new Sought([
    { hash: 'one', tokens: 1_000 },
    { hash: 'two', tokens: 2_000 },
  ]),
  tokens: 2_000,
})

/** A list that all say to and hear from; `away` as a store that is not there. */
function board(): Exchange & { away: boolean; said: string[] } {
  const said: string[] = []
  return {
    said,
    away: false,
    async exchange(text, since) {
      if (this.away) return undefined
      const heard = since === '' ? [] : said.slice(Number(since))
      const last = String(said.length)
      if (text !== '') said.push(text)
      return { heard, last }
    },
  }
}

const standing = (places: Placement) => places.standings(prompt(), [A], 0)[0]
const stopping: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stopping.splice(0)) await stop()
})

function replicas(on: Exchange) {
  return ['r1', 'r2'].map((name) => {
    const places = placement()
    const { beat, stop } = sharedBelief(places, on, name)
    stopping.push(stop)
    return { places, beat }
  }) as [Replica, Replica]
}
interface Replica {
  places: Placement
  beat(): Promise<void>
}

test('R84 what one replica has sent, another knows after a beat; and what is on its way, until it is not', async () => {
  const [one, two] = replicas(board())
  for (const { beat } of [one, two]) await beat()
  standing(two.places)
  const prefill = one.places.sent(prompt(), A, 0)
  for (const { beat } of [one, two]) await beat()
  expect(standing(two.places)).toMatchObject({ held_tokens: 2_000, in_flight_tokens: 2_000 })
  one.places.ended(prefill, 0)
  for (const { beat } of [one, two]) await beat()
  expect(standing(two.places)).toMatchObject({ held_tokens: 2_000, in_flight_tokens: 0 })
  expect(standing(one.places)).toMatchObject({ held_tokens: 2_000, in_flight_tokens: 0 })
})

test('R50 with the store away each goes on with its own; what is heard later counts again', async () => {
  const on = board()
  const [one, two] = replicas(on)
  for (const { beat } of [one, two]) await beat()
  on.away = true
  one.places.ended(one.places.sent(prompt(), A, 0), 0)
  for (const { beat } of [one, two]) await beat()
  expect([standing(one.places)?.held_tokens, standing(two.places)?.held_tokens]).toEqual([2_000, 0])
  on.away = false
  one.places.ended(one.places.sent(prompt(), A, 0), 0)
  for (const { beat } of [one, two]) await beat()
  expect(standing(two.places)?.held_tokens).toBe(2_000)
})

test('R84 a replica that is gone has nothing on its way any more', async () => {
  const [one, two] = replicas(board())
  for (const { beat } of [one, two]) await beat()
  standing(two.places)
  one.places.sent(prompt(), A, 0)
  for (const { beat } of [one, two]) await beat()
  expect(standing(two.places)?.in_flight_tokens).toBe(2_000)
  for (let at = 0; at < 200; at++) await two.beat()
  expect(standing(two.places)?.in_flight_tokens).toBe(0)
})

test('R84 what another version says, or nobody does, changes nothing', async () => {
  const on = board()
  const [one] = replicas(on)
  await one.beat()
  on.said.push('{"v":2}', 'not JSON', '{"v":1}')
  await one.beat()
  expect([standing(one.places)?.held_tokens, one.places.size()]).toEqual([0, 0])
})

test('R84 what was told while the store was away is told again: nothing stays on its way for good', async () => {
  const on = board()
  const [one, two] = replicas(on)
  for (const { beat } of [one, two]) await beat()
  const prefill = one.places.sent(prompt(), A, 0)
  for (const { beat } of [one, two]) await beat()
  one.places.ended(prefill, 0)
  on.away = true
  await one.beat()
  on.away = false
  for (let at = 0; at < 30; at++) for (const { beat } of [one, two]) await beat()
  expect(standing(two.places)).toMatchObject({ held_tokens: 2_000, in_flight_tokens: 0 })
})

test('R84 who begins later hears of all that is on its way, also where it has sent nothing itself', async () => {
  const on = board()
  const [one] = replicas(on)
  await one.beat()
  one.places.sent(prompt(), A, 0)
  await one.beat()
  const [, two] = replicas(on)
  for (let at = 0; at < 30; at++) for (const { beat } of [two, one]) await beat()
  await two.beat()
  expect(standing(two.places)?.in_flight_tokens).toBe(2_000)
})

test('R78, R84 a message has a bound in bytes, of which each project has a share', async () => {
  const on = board()
  const [one, two] = replicas(on)
  for (const { beat } of [one, two]) await beat()
  one.places.sent(prompt(), A, 0)
  const chain = Array.from({ length: 100 }, (_, at) => ({ hash: `${'h'.repeat(20)}${at}`, tokens: (at + 1) * 1_000 }))
  for (let at = 0; at < 250; at++) {
    const target = { ...A, target_id: `cluster:${at}`, model: 'm'.repeat(250) }
    one.places.sent({ project_id: 'greedy', sought: new Sought(chain), tokens: 100_000 }, target, 0)
  }
  for (const { beat } of [one, two]) await beat()
  expect(Math.max(...on.said.map((text) => Buffer.byteLength(text)))).toBeLessThan(65_536)
  expect(standing(two.places)).toMatchObject({ held_tokens: 2_000, in_flight_tokens: 2_000 })
})
