// What is counted by name stays bounded, whoever chooses the names, and what the operator lists is always there.
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { readScrape, sumOf } from '../../test/support/scrape.ts'
import { type Bounds, labelsOf } from './counted-routes.ts'
import { type CountedCall, NO_MONEY } from './generation-cell.ts'
import { GenerationCounts } from './generation-counts.ts'

const BOUNDS: Bounds = { places: 4, waiting_of_one: 3, waiting: 10, rank_every_ms: 1_000 }
const TOTAL = 'switchyard_generations_total'
const ATTEMPTS = 'switchyard_attempts_total'

const CALL: CountedCall = {
  ...{ project_id: 'one', mode: 'live', ending: 'completed', stream: false, admission: 'admitted', queue_ms: 0 },
  ...{ ttft_ms: 5, received_at: 0, repeated_tokens_est: 0, waived_micros: 0 },
  tokens: { input: 1, cached: 0, written: 0, output: 1, reasoning: 0 },
}

function counting(bounds = BOUNDS) {
  const registry = new Registry()
  let now = 0
  const counts = new GenerationCounts(registry, () => now, bounds)
  counts.listed((provider) => provider === 'listed')
  const call = (provider: string, model: string, project_id = 'one', times = 1) => {
    const target = { provider, model, profile: 'byoc_native' }
    for (let n = 0; n < times; n++) counts.ended(target, Object.assign({}, CALL, { project_id }), NO_MONEY, now)
  }
  const scrape = async () => readScrape(await registry.metrics())
  const names = async () =>
    (await scrape()).filter(({ name }) => name === TOTAL).map(({ labels }) => `${labels.provider}/${labels.model}`)
  const later = () => {
    now += BOUNDS.rank_every_ms
  }
  return { counts, registry, call, scrape, names, later }
}

test('§operations what nobody lists has so many places; the rest are counted together, and none is lost', async () => {
  const { call, scrape, names } = counting()
  for (let n = 0; n < 20; n++) call('cluster', `model-${n}`)
  call('listed', 'gpt')
  expect(await names()).toEqual([...[0, 1, 2, 3].map((n) => `cluster/model-${n}`), 'listed/gpt', 'other/other'])
  const all = await scrape()
  expect([sumOf(all, TOTAL), sumOf(all, TOTAL, { provider: 'other' })]).toEqual([21, 16])
})

test('§operations whoever is busier takes the place, once what was counted has been read', async () => {
  const { call, names, scrape, later } = counting()
  for (const model of ['a', 'b', 'c', 'd']) call('x', model)
  call('x', 'busy', 'one', 9)
  later()
  expect(await names()).toEqual(['x/a', 'x/b', 'x/c', 'x/d', 'other/other']) // all that was counted is told
  call('x', 'busy')
  expect(await names()).toEqual(['x/a', 'x/b', 'x/c', 'x/busy', 'other/other'])
  const all = await scrape()
  // Nothing is told a second time under another name: rates of all together stay right.
  expect([sumOf(all, TOTAL, { model: 'busy' }), sumOf(all, TOTAL, { provider: 'other' })]).toEqual([1, 9])
})

test('§operations a tenant with a thousand names evicts neither what is listed nor the busiest of another', async () => {
  const { call, names, later } = counting()
  const flood = () => {
    for (let n = 0; n < 1_000; n++) call('hostile', `name-${n}`, 'hostile', 5)
  }
  flood()
  for (let round = 0; round < 3; round++) {
    call('listed', 'gpt', 'good')
    call('own', 'llama', 'good', 2)
    call('own', 'qwen', 'good')
    later()
    await names()
    flood()
  }
  call('listed', 'gpt', 'good')
  call('own', 'llama', 'good')
  call('own', 'qwen', 'good')
  const told = await names()
  expect(told).toEqual(expect.arrayContaining(['listed/gpt', 'own/llama', 'own/qwen', 'other/other']))
  expect(told.filter((name) => name.startsWith('hostile'))).toHaveLength(2)
})

test('§operations however many names come, memory and a scrape stay as large', async () => {
  const { call, scrape, later } = counting()
  const sizes: number[] = []
  for (let round = 0; round < 4; round++) {
    for (let n = 0; n < 2_000; n++) call(`cluster-${round}-${n}`, 'm', `project-${n % 50}`)
    later()
    sizes.push((await scrape()).length)
  }
  expect(Math.max(...sizes)).toBeLessThanOrEqual(sizes[0] as number)
})

test('§operations names that would be told alike are one series, and none breaks a scrape', async () => {
  const { call, scrape } = counting()
  const long = 'x'.repeat(300)
  for (const model of [`${long}a`, `${long}b`, 'a"b\\c', 'a\nb', 'a\u0000b', 'a\ud800b', 'a\ud801b']) call('c', model)
  const all = await scrape()
  expect(sumOf(all, TOTAL)).toBe(7)
  expect(sumOf(all, TOTAL, { model: 'x'.repeat(100) })).toBe(2)
  expect(labelsOf({ provider: 'p', model: 'a\nb\u0000', profile: 'byok' }).model).toBe('a_b_')
})

test('§operations attempts are counted by what came of them, in words that are known beforehand', async () => {
  const { counts, scrape } = counting()
  const target = { provider: 'p', model: 'm', profile: 'managed_provider' }
  const failures = ['status 500', 'status 529', 'rate limited', 'connect', 'client_left', 'something new']
  for (const failure of failures) counts.attempted(target, { failure }, 'one')
  counts.attempted(target, { status: 200 }, 'one')
  counts.attempted(target, { status: 400 }, 'one')
  const told = (await scrape()).filter(({ name }) => name === ATTEMPTS)
  expect(Object.fromEntries(told.map(({ labels, value }) => [labels.result, value]))).toEqual({
    ...{ answered: 1, refused: 1, rate_limited: 1, status_5xx: 2, connect: 1, client_left: 1, other: 1 },
  })
})

test('§operations tokens, money and times of a call are told to the last of them', async () => {
  const { counts, scrape } = counting()
  const call = Object.assign({}, CALL, {
    ...{ stream: true, ttft_ms: 260, received_at: 1_000, admission: 'queued', queue_ms: 40, ending: 'client_left' },
    ...{ repeated_tokens_est: 90, waived_micros: 7, mode: 'emergency_fallback' },
    tokens: { input: 100, cached: 60, written: 10, output: 5, reasoning: 2 },
  })
  const money = { charged_micros: 30, direct_cost_micros: 50, written_off_micros: 3, overage_micros: 4 }
  counts.ended({ provider: 'p', model: 'm', profile: 'byok' }, call as CountedCall, money, 2_300)
  const all = await scrape()
  const labels = { provider: 'p', model: 'm', profile: 'byok', mode: 'emergency_fallback', outcome: 'client_left' }
  const of = (name: string, more = {}) => sumOf(all, `switchyard_generation${name}`, { ...labels, ...more })
  const kinds = (name: string, names: string[]) => names.map((kind) => of(name, { kind }))
  expect(kinds('_tokens_total', ['input', 'cached', 'written', 'output', 'reasoning', 'repeated', 'missed'])).toEqual([
    ...[100, 60, 10, 5, 2, 90, 30],
  ])
  expect(kinds('_micros_total', ['charged', 'direct', 'saved', 'waived', 'written_off', 'overage'])).toEqual([
    ...[30, 50, 20, 7, 3, 4],
  ])
  expect([of('s_queued_total'), of('_queue_seconds_total')]).toEqual([1, 0.04])
  const first = (le: string) => of('_first_token_seconds_bucket', { le })
  expect([first('0.25'), first('0.5'), first('+Inf'), of('_first_token_seconds_sum')]).toEqual([0, 1, 1, 0.26])
  const whole = (le: string) => of('_seconds_bucket', { le })
  expect([whole('1.28'), whole('2.56'), of('_seconds_count'), of('_seconds_sum')]).toEqual([0, 1, 1, 1.3])
})
