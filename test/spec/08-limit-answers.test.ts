// §8.1: what answers say about rates, limits of a key's own, layers in shadow, and what is counted of refusals.
import type { FastifyRequest } from 'fastify'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/core/caller.ts'
import { buildFastify } from '../../src/http/fastify.ts'
import { rateLimits } from '../../src/start/rate-limits.ts'
import { metrics } from '../../src/telemetry/metrics.ts'
import { heldClock } from '../support/clock.ts'
import { from, late, limitSettings, REFUSED, refusalOf, startLimited } from '../support/limit-scene.ts'

const KEYS = '/v2/api-keys'
const CHAT = '/v1/chat/completions'
const chat = { model: 'any', messages: [{ role: 'user', content: 'hello' }] }

const ratesIn = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /^(x-)?ratelimit/.test(name)))

describe('T-62 what answers say', () => {
  const limits = {
    key: { requests_per_minute: 5, tokens_per_minute: 9_000, concurrent_streams: 2 },
    project: { requests_per_minute: 20, admin_per_minute: 4 },
  }

  test('T-62 every authenticated answer tells the policy, and the limit with the least left', async () => {
    const { get, del, clock } = await startLimited(limits)
    expect(ratesIn((await get(KEYS)).headers)).toEqual({
      'ratelimit-policy': '"key-requests";q=5;w=60, "project-requests";q=20;w=60',
      ratelimit: '"key-requests";r=4;t=61',
    })
    clock.advance(20_000)
    expect((await del(`${KEYS}/key_unknown`)).headers.ratelimit).toBe('"key-requests";r=3;t=41')
  })

  test('T-62 where the project has less left, it is what is told', async () => {
    const service = await startLimited({ key: { requests_per_minute: 5 }, project: { requests_per_minute: 6 } })
    const other = service.as(await service.keyWith('read'))
    for (let n = 0; n < 4; n++) await service.get(KEYS)
    expect((await other.get(KEYS)).headers.ratelimit).toBe('"project-requests";r=1;t=61')
  })

  test('T-62 an answer that was not counted tells of them too, and uses none', async () => {
    const { as, keyWith } = await startLimited(limits)
    const reader = as(await keyWith('read'))
    await reader.get(KEYS)
    for (let n = 0; n < 3; n++) {
      const refused = await reader.post(KEYS, { name: 'ci' })
      expect([refused.status, refused.headers.ratelimit]).toEqual([403, '"key-requests";r=4;t=61'])
    }
  })

  test('T-62 who is not let in is told nothing', async () => {
    const { as } = await startLimited(limits)
    for (const path of [KEYS, '/nowhere', '/healthz']) expect(ratesIn((await as().get(path)).headers)).toEqual({})
  })

  test('§8.1 /v1 tells what the clients of OpenAI read, for requests and for tokens', async () => {
    const { get, post, clock } = await startLimited(limits)
    expect(ratesIn((await get('/v1/models')).headers)).toMatchObject({
      'x-ratelimit-limit-requests': '5',
      'x-ratelimit-remaining-requests': '4',
      'x-ratelimit-reset-requests': '61s',
      'x-ratelimit-limit-tokens': '9000',
      'x-ratelimit-remaining-tokens': '9000',
      'x-ratelimit-reset-tokens': '0s',
    })
    clock.advance(1_000)
    const estimate = Math.ceil(JSON.stringify(chat).length / 4) + 1_000
    const generated = await post(CHAT, chat)
    expect(ratesIn(generated.headers)).toMatchObject({
      'ratelimit-policy': '"key-requests";q=5;w=60, "key-tokens";q=9000;w=60;qu="tokens", "project-requests";q=20;w=60',
      'x-ratelimit-remaining-requests': '3',
      'x-ratelimit-reset-requests': '60s',
      'x-ratelimit-remaining-tokens': String(9_000 - estimate),
      'x-ratelimit-reset-tokens': '61s',
    })
    const { total_tokens } = generated.body.usage
    expect((await get('/v1/models')).headers['x-ratelimit-remaining-tokens']).toBe(String(9_000 - total_tokens))
  })

  test('T-62 a refusal names the same instant everywhere', async () => {
    const { get, clock } = await startLimited(limits)
    for (let n = 0; n < 5; n++) await get('/v1/models')
    clock.advance(12_345)
    const { headers } = await get('/v1/models')
    expect(headers).toMatchObject({
      'retry-after': '49',
      ratelimit: '"key-requests";r=0;t=49',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '49s',
    })
  })

  test('T-62 a replay tells of the rates as they are now', async () => {
    const { post } = await startLimited(limits)
    const keyed = { 'agent-idempotency-key': 'a' }
    await post(KEYS, { name: 'ci' }, keyed)
    expect((await post(KEYS, { name: 'ci' }, keyed)).headers.ratelimit).toBe('"key-requests";r=3;t=61')
  })
})

describe('§8.1 limits of a key’s own', () => {
  const path = (id: string) => `${KEYS}/${id}/limits`
  const unbounded = { max_parallel_requests: null }
  const none = {
    requests_per_minute: null,
    tokens_per_minute: null,
    concurrent_streams: null,
    ...unbounded,
    models: null,
  }
  const common = { requests_per_minute: 50, tokens_per_minute: 1_000_000, concurrent_streams: 9 }

  test('§8.1 given, shown, left alone, cleared; and the key itself looks as ever', async () => {
    const { get, post, key_id } = await startLimited({ key: common })
    const before = (await get(KEYS)).body.data[0]
    const shown = { object: 'api_key.limits', key_id, ...none, effective: { ...common, ...unbounded } }
    expect((await get(path(key_id))).body).toEqual(shown)

    const own = { requests_per_minute: 7, tokens_per_minute: 500 }
    const given = { ...shown, ...own, effective: { ...common, ...unbounded, ...own } }
    expect((await post(path(key_id), own)).body).toEqual(given)
    expect((await post(path(key_id), {})).body).toEqual(given)
    expect((await post(path(key_id), { unknown: 1 })).body).toEqual(given)
    const streams = { concurrent_streams: 3, requests_per_minute: null }
    expect((await post(path(key_id), streams)).body).toEqual({
      ...given,
      ...streams,
      effective: { ...common, ...unbounded, tokens_per_minute: 500, concurrent_streams: 3 },
    })
    expect((await get(path(key_id))).body.tokens_per_minute).toBe(500)
    expect((await post(path(key_id), none)).body).toEqual(shown)
    const { last_used_at: _used, ...after } = (await get(KEYS)).body.data[0]
    expect(Object.keys(after).sort()).toEqual(
      Object.keys(before)
        .filter((field) => field !== 'last_used_at')
        .sort(),
    )
  })

  test('§8.1 hold from the next request on, in answers and in refusals, for this key alone', async () => {
    const { as, post, keyWith, get } = await startLimited({ key: common })
    const raw = await keyWith('read')
    const [{ id }] = (await get(KEYS)).body.data
    await post(path(id), { requests_per_minute: 2 })
    const [first, second, third] = [await as(raw).get(KEYS), await as(raw).get(KEYS), await as(raw).get(KEYS)]
    expect([first, second, third].map((answer) => answer?.status)).toEqual([200, 200, 429])
    expect(first?.headers['ratelimit-policy']).toContain('"key-requests";q=2;w=60')
    expect(refusalOf(third as never).message).toContain('requests_per_minute (2)')
    await post(path(id), { requests_per_minute: null })
    expect((await as(raw).get(KEYS)).status).toBe(200)
  })

  test.each([
    ['nothing', { requests_per_minute: 0 }],
    ['less than nothing', { tokens_per_minute: -1 }],
    ['a fraction', { concurrent_streams: 1.5 }],
    ['a text', { requests_per_minute: '5' }],
    ['more than counts hold', { tokens_per_minute: 1_000_000_001 }],
    ['a list', [1]],
  ])('400 on %s, and nothing is stored', async (_case, body) => {
    const { post, storingNothing, key_id } = await startLimited({})
    expect((await storingNothing(() => post(path(key_id), body))).status).toBe(400)
  })

  test('403 without the scope, and 404 on another project’s key', async () => {
    const { as, keyWith, key_id, newProject, storingNothing } = await startLimited({})
    const reader = as(await keyWith('read'))
    expect((await storingNothing(() => reader.post(path(key_id), none))).status).toBe(403)
    expect((await reader.get(path(key_id))).status).toBe(200)
    const stranger = await newProject()
    expect((await storingNothing(() => stranger.post(path(key_id), { requests_per_minute: 1 }))).status).toBe(404)
    expect((await stranger.get(path(key_id))).status).toBe(404)
  })
})

describe('§8.1 shadow', () => {
  test('§8.1 a layer in shadow refuses nothing, counts everything, and logs a line a second at most', async () => {
    const { get, counted, log, clock } = await startLimited({
      key: { requests_per_minute: 2 },
      edge: { read_per_minute: 5 },
      shadow: ['key', 'edge'],
    })
    const statuses = []
    for (let n = 0; n < 10; n++) statuses.push((await get(KEYS, from('203.0.113.7'))).status)
    expect(statuses).toEqual(Array(10).fill(200))
    expect(await counted('switchyard_limit_shadow_refusals_total')).toEqual({
      'key requests_per_minute': 8,
      'edge read_per_minute': 5,
    })
    expect(await counted('switchyard_limit_refusals_total')).toEqual({})
    const lines = () => log.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes('shadow'))
    expect(lines().map(({ layer, limit, times }) => [layer, limit, times])).toEqual([
      ['key', 'requests_per_minute', 1],
      ['edge', 'read_per_minute', 1],
    ])
    clock.advance(1_000)
    await get(KEYS, from('203.0.113.7'))
    expect(lines().at(-1)).toMatchObject({ layer: 'key', times: 8 })
  })

  test('§8.1 the layers that are not in shadow refuse as ever', async () => {
    const { get, counted } = await startLimited({
      key: { requests_per_minute: 1 },
      project: { requests_per_minute: 2 },
      shadow: ['key'],
    })
    expect([await get(KEYS), await get(KEYS), await get(KEYS)].map(({ status }) => status)).toEqual([200, 200, 429])
    expect(await counted('switchyard_limit_refusals_total')).toEqual({ 'project requests_per_minute': 1 })
  })
})

test('R50 counters that answer later are waited for, on every way', async () => {
  const { get, post, as, keyWith, used, key_id } = await startLimited(
    { edge: { read_per_minute: 6 }, key: { requests_per_minute: 3, tokens_per_minute: 2_000 } },
    late,
  )
  expect((await as(await keyWith('read')).post(KEYS, {})).headers.ratelimit).toBe('"key-requests";r=3;t=0')
  expect((await post(CHAT, chat)).status).toBe(200)
  expect(refusalOf(await post(CHAT, { ...chat, max_tokens: 1_990 })).message).toContain('tokens_per_minute (2000)')
  expect(await used('key', 'requests_per_minute', key_id)).toBe(1) // the refused one was given back
  expect([await get(KEYS), await get(KEYS), await get(KEYS)].map(({ status }) => status)).toEqual([200, 200, 429])
})

test('R50 counters that break against their promise are a fault, and nobody waits for ever', async () => {
  const { get } = await startLimited({}, (counters) => ({ ...counters, take: () => Promise.reject(new Error('away')) }))
  expect((await get(KEYS)).status).toBe(500)
})

test('§8.1 refusals are counted by layer and limit', async () => {
  const { get, as, counted } = await startLimited({ edge: { read_per_minute: 3 }, key: { requests_per_minute: 2 } })
  for (let n = 0; n < 5; n++) await get(KEYS)
  for (let n = 0; n < 4; n++) await as().get('/nowhere')
  // The key refused three, which the edge then had not counted: it let one stranger through, and refused three.
  expect(await counted('switchyard_limit_refusals_total')).toEqual({
    'key requests_per_minute': 3,
    'edge read_per_minute': 3,
  })
})

test('§8.1.1 bulk jobs are limited by project, whatever the address and the key', async () => {
  const clock = heldClock()
  const app = buildFastify(pino({ level: 'silent' }))
  const settings = limitSettings({ project: { admin_per_minute: 2 } })
  const limits = rateLimits(app, { clock, logger: app.log, settings, metrics: metrics() })
  app.addHook('onRequest', limits.edge)
  await app.register(async (api) => {
    api.decorateRequest('caller')
    api.addHook('onRequest', async (request: FastifyRequest) => {
      const { 'x-key': key_id, 'x-project': project_id } = request.headers
      request.caller = { key_id, project_id } as Caller
    })
    api.addHook('onRequest', limits.requests)
    api.post('/v2/purge-jobs', { config: { scope: 'admin', class: 'admin' } }, async () => ({}))
    api.get('/v2/other', { config: { scope: 'read', class: 'read' } }, async () => ({}))
  })
  const call = async (key: string, project: string, address: string, url = '/v2/purge-jobs' as string) =>
    app.inject({
      method: url === '/v2/other' ? 'GET' : 'POST',
      url,
      headers: { 'x-key': key, 'x-project': project, 'x-forwarded-for': address },
    })

  const first = await call('a', 'p', '203.0.113.1')
  expect(first.headers['ratelimit-policy']).toContain('"project-admin";q=2;w=60')
  expect(first.headers.ratelimit).toBe('"project-admin";r=1;t=61')
  expect((await call('b', 'p', '203.0.113.2')).statusCode).toBe(200)
  const refused = await call('c', 'p', '203.0.113.3')
  expect({ status: refused.statusCode, ...refused.json().error, retry: refused.headers['retry-after'] }).toMatchObject({
    ...REFUSED,
    message: "This would exceed the project layer's limit admin_per_minute (2). Retry after 61 s.",
    retry: '61',
  })
  expect((await call('c', 'p', '203.0.113.3', '/v2/other')).statusCode).toBe(200)
  expect((await call('d', 'another', '203.0.113.3')).statusCode).toBe(200)
  clock.advance(61_000)
  expect((await call('c', 'p', '203.0.113.3')).statusCode).toBe(200)
})
