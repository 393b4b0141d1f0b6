// R64 over HTTP: who may make a child key, what it may be, and how it ends.
import { describe, expect, test } from 'vitest'
import { rfc3339, SECOND_MS } from '../../src/core/clock.ts'
import { startLimited } from '../support/limit-scene.ts'
import { type TestProject, withService } from '../support/service.ts'

const KEYS = '/v2/api-keys'
const RUN = { name: 'run', limit_usd: 1, ttl_seconds: 60 }

withService((service) => {
  const now = () => service().clock.now()
  const make = async (home: TestProject, more: object = {}) => (await home.post(KEYS, { name: 'ci', ...more })).body
  const mint = (by: Pick<TestProject, 'post'>, id: string, more: object = {}) =>
    by.post(`${KEYS}/${id}/children`, { ...RUN, ...more })
  const held = async (home: TestProject) => (await home.get('/v2/project')).body.held_micros
  const works = async (raw: string) => (await service().as(raw).get(KEYS)).status

  describe('R64 making one', () => {
    test('R64 200: a key of the parent’s money and time, shown once, listed with its parent', async () => {
      const home = await service().newProject()
      const parent = await make(home)
      const { status, body } = await mint(home, parent.id)
      const { key, ...child } = body
      expect(status).toBe(200)
      expect(child).toMatchObject({
        object: 'api_key',
        parent_id: parent.id,
        name: 'run',
        scopes: ['inference'],
        status: 'active',
        budget_micros: 1_000_000,
        spent_micros: 0,
        expires_at: rfc3339(now() + 60 * SECOND_MS),
      })
      expect((await home.get(KEYS)).body.data[0]).toEqual(child)
      expect(await works(key)).toBe(200)
      expect(await held(home)).toBe(1_000_000)
    })

    test('R64 an inference key makes children of itself, of nobody else, and of no child', async () => {
      const home = await service().newProject()
      const [parent, other] = [await make(home), await make(home)]
      const orchestrator = service().as(parent.key)
      const child = (await mint(orchestrator, parent.id)).body
      expect(child.parent_id).toBe(parent.id)
      for (const id of [other.id, home.key_id, child.id, 'key_unknown'])
        expect((await service().storingNothing(() => mint(orchestrator, id))).status).toBe(403)
      for (const by of [service().as(child.key), home]) {
        const refused = await service().storingNothing(() => mint(by, child.id))
        expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining('child key')])
      }
      const reader = await make(home, { scopes: ['read'] })
      expect((await mint(service().as(reader.key), reader.id)).status).toBe(403)
    })

    test('R15 R64 the raw key of a child is replayed to whoever may make it, and to no other key', async () => {
      const home = await service().newProject()
      const [parent, other] = [await make(home), await make(home)]
      const again = { 'agent-idempotency-key': 'run-1' }
      const path = `${KEYS}/${parent.id}/children`
      const orchestrator = service().as(parent.key)
      const { key } = (await orchestrator.post(path, RUN, again)).body
      const refused = await service().as(other.key).post(path, RUN, again)
      expect([refused.status, refused.body.error.type]).toEqual([403, 'insufficient_scope'])
      expect(refused.headers['agent-idempotent-replay']).toBeUndefined()
      for (const by of [orchestrator, home]) expect((await by.post(path, RUN, again)).body.key).toBe(key)
    })

    test.each([
      ['no name', { name: undefined }],
      ['no limit', { limit_usd: undefined }],
      ['null for a limit', { limit_usd: null }],
      ['a limit that is too fine', { limit_usd: 1e-7 }],
      ['no lifetime', { ttl_seconds: undefined }],
      ['a lifetime of nothing', { ttl_seconds: 0 }],
      ['a lifetime that is too long', { ttl_seconds: 2_592_001 }],
      ['the admin scope', { scopes: ['admin'] }],
      ['no scopes', { scopes: [] }],
      ['an empty list of models', { allowed_models: [] }],
    ])('R64 400 on %s, and nothing is stored or held', async (_case, more) => {
      const home = await service().newProject()
      expect((await service().storingNothing(() => mint(home, home.key_id, more))).status).toBe(400)
    })

    test('R64 scopes and models are among the parent’s', async () => {
      const home = await service().newProject()
      const reader = await make(home, { scopes: ['read'] })
      expect((await mint(home, reader.id)).status).toBe(400)
      expect((await mint(home, reader.id, { scopes: ['read'] })).status).toBe(200)
      const narrow = await make(home, { allowed_models: ['gpt-4o*', 'fast'] })
      for (const allowed_models of [['gpt-4'], ['gpt-*'], ['fast*'], ['fast', 'slow']])
        expect((await mint(home, narrow.id, { allowed_models })).status).toBe(400)
      for (const allowed_models of [['gpt-4o*'], ['gpt-4o-mini', 'fast'], ['gpt-4o-*']])
        expect((await mint(home, narrow.id, { allowed_models })).body).toMatchObject({ allowed_models })
    })

    test('R64 429 where it does not fit, 404 about another project’s key, 403 without a verified owner', async () => {
      const home = await service().newProject()
      const { id } = await make(home)
      await home.post(`${KEYS}/${id}/budget`, { limit_usd: 1.5 })
      expect((await mint(home, id)).status).toBe(200)
      const refused = await service().storingNothing(() => mint(home, id))
      expect([refused.status, refused.body.error.code]).toEqual([429, 'quota_exceeded'])
      expect(refused.headers['x-should-retry']).toBe('false')
      expect((await mint(await service().newProject(), id)).status).toBe(404)
      const unverified = await service().newProject({ verified: false })
      expect((await mint(unverified, unverified.key_id)).status).toBe(403)
    })

    test('R64, R20 repeated under its key it is one child, one carve-out, one secret', async () => {
      const home = await service().newProject()
      const keyed = { 'agent-idempotency-key': 'once' }
      const url = `${KEYS}/${home.key_id}/children`
      const [first, again] = [await home.post(url, RUN, keyed), await home.post(url, RUN, keyed)]
      expect(again.bytes.equals(first.bytes)).toBe(true)
      expect(await held(home)).toBe(1_000_000)
    })
  })

  describe('R64 its end', () => {
    test('R64 by its time: unknown from that millisecond, and its rest comes back', async () => {
      const home = await service().newProject()
      const { key } = (await mint(home, home.key_id)).body
      service().clock.advance(60 * SECOND_MS - 1)
      expect(await works(key)).toBe(200)
      service().clock.advance(1)
      expect(await works(key)).toBe(401)
      await service().housekeep('end keys')
      expect(await held(home)).toBe(0)
    })

    test('R64 by its revocation, or its parent’s: at once, all of them, and their secrets of before too', async () => {
      const home = await service().newProject()
      const { id } = await make(home)
      const [one, two] = [(await mint(home, id)).body, (await mint(home, id)).body]
      const rotated = (await home.post(`${KEYS}/${two.id}/rotate`, {})).body
      expect((await home.del(`${KEYS}/${one.id}`)).status).toBe(200)
      expect([await works(one.key), await works(two.key), await held(home)]).toEqual([401, 200, 1_000_000])
      expect((await home.del(`${KEYS}/${id}`)).status).toBe(200)
      expect([await works(two.key), await works(rotated.key), await held(home)]).toEqual([401, 401, 0])
      for (const again of [one.id, id]) expect((await home.del(`${KEYS}/${again}`)).status).toBe(200) // R7
      expect(await held(home)).toBe(0)
    })

    test('R64 no child outlives its parent, whenever that end is set', async () => {
      const home = await service().newProject()
      const soon = rfc3339(now() + 10 * SECOND_MS)
      const { id } = await make(home, { expires_at: rfc3339(now() + 30 * SECOND_MS) })
      const child = (await mint(home, id)).body
      expect(child.expires_at).toBe(rfc3339(now() + 30 * SECOND_MS))
      await home.patch(`${KEYS}/${id}`, { expires_at: soon })
      service().clock.advance(10 * SECOND_MS)
      expect(await works(child.key)).toBe(401)
      await home.patch(`${KEYS}/${id}`, { expires_at: null })
      expect(await works(child.key)).toBe(401) // its parent lives again, it does not
      await service().housekeep('end keys')
      expect(await held(home)).toBe(0)
    })

    test('R64 its budget and its end stay as they were made; its name may change', async () => {
      const home = await service().newProject()
      const child = (await mint(home, home.key_id)).body
      const window = { period: 'day', limit_usd: 1 }
      for (const body of [{ limit_usd: 9 }, { limit_usd: null }, { window }, { window: null }])
        expect((await service().storingNothing(() => home.post(`${KEYS}/${child.id}/budget`, body))).status).toBe(400)
      const longer = { expires_at: rfc3339(now() + 600 * SECOND_MS) }
      for (const body of [longer, { expires_at: null }])
        expect((await service().storingNothing(() => home.patch(`${KEYS}/${child.id}`, body))).status).toBe(400)
      expect((await home.patch(`${KEYS}/${child.id}`, { name: 'other' })).body.name).toBe('other')
      expect((await home.post(`${KEYS}/${child.id}/budget`, {})).status).toBe(200)
    })

    test('R62, R64 its models stay among the parent’s when they are changed', async () => {
      const home = await service().newProject()
      const parent = await make(home, { allowed_models: ['gpt-4o*'] })
      const child = (await mint(home, parent.id)).body
      const wider = { allowed_models: ['claude-sonnet-4-6'] }
      const refused = await service().storingNothing(() => home.patch(`${KEYS}/${child.id}`, wider))
      expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining('allowed_models')])
      const { body } = await home.patch(`${KEYS}/${child.id}`, { allowed_models: ['gpt-4o-mini'] })
      expect(body.allowed_models).toEqual(['gpt-4o-mini'])
    })

    test('R63, R64 a child works only from where its parent does, also when that changes', async () => {
      const home = await service().newProject()
      const { id } = await make(home)
      const { key } = (await mint(home, id)).body
      await home.patch(`${KEYS}/${id}`, { allowed_cidrs: ['203.0.113.0/24'] })
      expect(await works(key)).toBe(401)
      await home.patch(`${KEYS}/${id}`, { allowed_cidrs: ['127.0.0.0/8'] })
      expect(await works(key)).toBe(200)
    })
  })
})

test('§8.1, R64 children share the rates of their parent: making more of them is no way around', async () => {
  const service = await startLimited({})
  const { id, key } = (await service.post(KEYS, { name: 'ci' })).body
  await service.post(`${KEYS}/${id}/limits`, { requests_per_minute: 5 })
  const [one, two] = [0, 1].map(() => service.as(key).post(`${KEYS}/${id}/children`, RUN))
  const raws = [(await one)?.body.key, (await two)?.body.key, key]
  const child = (await one)?.body.id
  expect((await service.get(`${KEYS}/${child}/limits`)).body).toMatchObject({ key_id: child, requests_per_minute: 5 })
  expect((await service.post(`${KEYS}/${child}/limits`, { requests_per_minute: 50 })).status).toBe(400)
  const heard: number[] = []
  for (let n = 0; n < 6; n++) heard.push((await service.as(raws[n % 3]).get(KEYS)).status)
  expect(heard).toEqual([200, 200, 200, 429, 429, 429])
})
