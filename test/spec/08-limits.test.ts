// §8.1: the three layers over HTTP, in the order of R15; what a refusal says, and what it leaves untouched.
import { describe, expect, test } from 'vitest'
import type { Counters } from '../../src/counters/counters.ts'
import { from, limitSettings, REFUSED, refusalOf, startLimited } from '../support/limit-scene.ts'
import { startService } from '../support/service.ts'

const KEYS = '/v2/api-keys'
const CLUSTERS = '/v2/byoc/clusters' // of which there are none: the quickest answer there is
const CHAT = '/v1/chat/completions'
const chat = { model: 'any', messages: [{ role: 'user', content: 'hello' }] }

describe('§8.1.1 the edge', () => {
  test('§8.1.1 everything of an address counts, whatever it asked for and was answered', async () => {
    const { as, get, clock } = await startLimited({ edge: { read_per_minute: 3 } })
    const first = [await as().get(KEYS), await as().get('/nowhere'), await get(KEYS)]
    expect(first.map(({ status }) => status)).toEqual([401, 404, 200])
    for (const answer of [await as().get(KEYS), await as().get('/nowhere'), await get(KEYS)]) {
      expect(refusalOf(answer)).toMatchObject({ ...REFUSED, retry_after_s: 61 })
      expect(refusalOf(answer).message).toContain("the edge layer's limit read_per_minute (3)")
    }
    clock.advance(60_999)
    expect(refusalOf(await get(KEYS))).toMatchObject({ ...REFUSED, retry_after_s: 1 })
    clock.advance(1)
    expect((await get(KEYS)).status).toBe(200)
  })

  test('§8.1.1 addresses count apart; T-72 those of one /64 do not', async () => {
    const { get } = await startLimited({ edge: { read_per_minute: 1 } })
    const statuses = []
    for (const address of ['203.0.113.1', '203.0.113.1', '203.0.113.2', '2001:db8::1', '2001:db8::2', '2001:db8:0:1::'])
      statuses.push((await get(KEYS, from(address))).status)
    expect(statuses).toEqual([200, 429, 200, 200, 429, 200])
  })

  test('T-71 without a listed proxy, ten forged values are one address', async () => {
    const settings = limitSettings({ edge: { read_per_minute: 2 } })
    const { get } = await startService({ parts: { settings: { ...settings, trusted_proxies: [] } } })
    const statuses = []
    for (let n = 0; n < 10; n++) statuses.push((await get(KEYS, from(`203.0.113.${n}`))).status)
    expect(statuses).toEqual([200, 200, ...Array(8).fill(429)])
  })

  test('§8.1 classes count apart, and pages and probes apart from both', async () => {
    const { get, post, as } = await startLimited({ edge: { read_per_minute: 1, inference_per_minute: 1 } })
    expect([await get(KEYS), await get(KEYS)].map(({ status }) => status)).toEqual([200, 429])
    expect((await as().get('/healthz')).status).toBe(200)
    const generations = [await post(CHAT, chat), await post(CHAT, chat)]
    expect(generations.map(({ status }) => status)).toEqual([200, 429])
    expect(refusalOf(generations[1] as never).message).toContain("the edge layer's limit inference_per_minute (1)")
    expect([await as().get('/readyz'), await as().get('/healthz')].map(({ status }) => status)).toEqual([429, 429])
  })
})

describe('R15 the order of refusals', () => {
  test('R15 edge, then 401, then 403, then the rate, then idempotency and 400', async () => {
    const { as, keyWith, clock } = await startLimited({ edge: { read_per_minute: 5 }, key: { requests_per_minute: 1 } })
    const reader = as(await keyWith('read'))
    const admin = as(await keyWith('admin'))
    const keyed = { 'agent-idempotency-key': 'x y' }
    expect((await as().post(KEYS, {}, keyed)).status).toBe(401)
    expect((await reader.post(KEYS, {}, keyed)).status).toBe(403)
    expect((await reader.get(KEYS)).status).toBe(200) // the 403 was not counted for the key
    expect((await admin.post(KEYS, {}, keyed)).status).toBe(400)
    expect(refusalOf(await admin.post(KEYS, {}, keyed)).message).toContain('key layer')
    expect((await as().post(KEYS, {}, keyed)).status).toBe(401)
    expect(refusalOf(await admin.post(KEYS, {}, keyed)).message).toContain('edge layer')
    clock.advance(61_000)
    expect((await reader.post(KEYS, {}, keyed)).status).toBe(403)
  })

  test('R24 a replay costs a request; beyond the rate it is refused, and given again later', async () => {
    const { post, clock } = await startLimited({ key: { requests_per_minute: 2 } })
    const keyed = { 'agent-idempotency-key': 'once' }
    const made = await post(KEYS, { name: 'ci' }, keyed)
    expect(await post(KEYS, { name: 'ci' }, keyed)).toMatchObject({ status: 200, body: made.body })
    expect(refusalOf(await post(KEYS, { name: 'ci' }, keyed))).toMatchObject(REFUSED)
    clock.advance(61_000)
    const again = await post(KEYS, { name: 'ci' }, keyed)
    expect([again.body, again.headers['agent-idempotent-replay']]).toEqual([made.body, 'true'])
  })

  test('§8.1 a refusal stores nothing', async () => {
    const { post, storingNothing } = await startLimited({ key: { requests_per_minute: 1 } })
    await post(KEYS, { name: 'ci' })
    const keyed = { 'agent-idempotency-key': 'k' }
    expect((await storingNothing(() => post(KEYS, { name: 'ci' }, keyed))).status).toBe(429)
  })
})

describe('§8.1.2, §8.1.3 key and project', () => {
  test('§8.1.3 the rate of the key is the first to refuse, and keys count apart', async () => {
    const { get, as, keyWith } = await startLimited({ key: { requests_per_minute: 2 } })
    const other = as(await keyWith('read'))
    expect([await get(KEYS), await get(KEYS), await other.get(KEYS)].map(({ status }) => status)).toEqual([
      200, 200, 200,
    ])
    const refused = refusalOf(await get(KEYS))
    expect(refused).toMatchObject({ ...REFUSED, retry_after_s: 61 })
    expect(refused.message).toContain("the key layer's limit requests_per_minute (2)")
  })

  test('§8.1.3 all keys of a project share its rate, and projects count apart', async () => {
    const service = await startLimited({ project: { requests_per_minute: 2 } })
    const other = service.as(await service.keyWith('read'))
    const stranger = await service.newProject()
    expect([await service.get(KEYS), await other.get(KEYS)].map(({ status }) => status)).toEqual([200, 200])
    const refused = refusalOf(await service.get(KEYS))
    expect(refused).toMatchObject({ ...REFUSED, retry_after_s: 61 })
    expect(refused.message).toContain("the project layer's limit requests_per_minute (2)")
    expect((await stranger.get(KEYS)).status).toBe(200)
  })

  test('T-61 T-62 F8 a hundred refused clients wait as long as they are told, and pass; a second earlier none does', async () => {
    const { get, clock, keyWith, as } = await startLimited({ key: { requests_per_minute: 2 } })
    let told = 0
    for (let n = 0; n < 100; n++) {
      const one = as(await keyWith('read'))
      for (let call = 0; call < 2; call++) {
        expect((await one.get(CLUSTERS)).status).toBe(200)
        clock.advance((n * 7_919 + call * 104_729) % 15_000)
      }
      const refused = await one.get(CLUSTERS)
      const { retry_after_s } = refusalOf(refused)
      if (refused.status === 200) continue // the first had passed out of the minute by then
      told++
      expect(refused.headers.ratelimit).toBe(`"key-requests";r=0;t=${retry_after_s}`)
      clock.advance((retry_after_s - 1) * 1_000)
      expect((await one.get(CLUSTERS)).status).toBe(429)
      clock.advance(1_000)
      expect((await one.get(CLUSTERS)).status).toBe(200)
    }
    expect(told).toBeGreaterThan(90)
    expect((await get(KEYS)).status).toBe(200)
  })

  test('R49 T-67 T-68 what one layer refuses is counted by none', async () => {
    const { get, used, project, key_id } = await startLimited({ key: { requests_per_minute: 1 } })
    for (let n = 0; n < 20; n++) await get(KEYS, from('203.0.113.7'))
    expect({
      edge: await used('edge', 'read_per_minute', '203.0.113.7'),
      key: await used('key', 'requests_per_minute', key_id),
      project: await used('project', 'requests_per_minute', project.id),
    }).toEqual({ edge: 1, key: 1, project: 1 })
  })

  test('0351 what is decided together has one home, and whatever is counted always the same', async () => {
    const homes = new Map<string, Set<string>>()
    const noted = (cell: string, home: string) => homes.set(cell, (homes.get(cell) ?? new Set()).add(home))
    const noting = (counters: Counters): Counters => ({
      ...counters,
      take(asks, now, leases = []) {
        for (const one of asks) noted(`${one.layer} ${one.name} ${one.subject}`, one.home)
        expect(new Set([...asks, ...leases.map(({ lease }) => lease)].map(({ home }) => home)).size).toBe(1)
        return counters.take(asks, now, leases)
      },
      correct(corrections) {
        for (const one of corrections) noted(`${one.layer} ${one.name} ${one.subject}`, one.home)
        return counters.correct(corrections)
      },
    })
    const { get, post, as, newProject } = await startLimited({ key: { requests_per_minute: 3 } }, noting)
    const other = await newProject()
    const { body: child } = await post(KEYS, { name: 'child', budget_usd: 1 }, from('203.0.113.7'))
    for (let n = 0; n < 5; n++) {
      for (const ask of [get, other.get, as(child.key).get]) await ask(KEYS, from(`203.0.113.${n}`))
      await post('/v1/chat/completions', { model: 'none', messages: [] }, from('203.0.113.7'))
    }
    expect(homes.size).toBeGreaterThan(10)
    expect([...homes].filter(([, some]) => some.size > 1)).toEqual([])
  })

  test('§8.1.1 401 and 403 count at the edge, and for nobody else', async () => {
    const { as, keyWith, used, project } = await startLimited({})
    await as('svc_live_wrong').get(KEYS, from('203.0.113.7'))
    await as(await keyWith('read')).post(KEYS, { name: 'ci' }, from('203.0.113.7'))
    expect(await used('edge', 'read_per_minute', '203.0.113.7')).toBe(2)
    expect(await used('project', 'requests_per_minute', project.id)).toBe(0)
  })
})
