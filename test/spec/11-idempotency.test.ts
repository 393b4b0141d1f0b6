// §11: a POST may be repeated. The checks that any idempotency must pass are in test/support/idempotency-checks.ts, and
// are shown to fail on one with a mistake in it; below them stands what is this service's own.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { sql } from '../../src/storage/db.ts'
import { atlas, CHECKS, CLUSTERS, isRepeat, replay, type Subject, valid } from '../support/idempotency-checks.ts'
import { type Mistake, naiveIdempotency } from '../support/naive-idempotency.ts'
import { type TestService, withService } from '../support/service.ts'

const KEY = 'agent-idempotency-key'
const other = { name: 'other', region: 'us' }

const CATCHES: Partial<Record<Mistake, string>> = {
  'raw address': 'T-08',
  'no project': 'T-06',
  'keeps errors': 'T-09',
  'validates first': 'T-04',
  'body counts': 'T-03',
  reserialises: 'T-01',
  'any method': 'T-15',
  'late release': 'T-09',
}

withService((service) => {
  async function subject(): Promise<Subject> {
    const [one, two] = [await service().newProject(), await service().newProject()]
    const send: Subject['send'] = ({ method = 'POST', url = CLUSTERS, payload, key, as = 'one', type }) => {
      const headers = { ...(key !== undefined && { [KEY]: key }), ...(type && { 'content-type': type }) }
      return (as === 'one' ? one : two).send(method, url, { ...(payload && { payload }), headers })
    }
    const count = async (of: TestService['newProject'] extends () => Promise<infer P> ? P : never) =>
      (await of.get(CLUSTERS)).body.data.length
    return { send, effects: async () => (await count(one)) + (await count(two)) }
  }

  test.each(Object.entries(CHECKS))('%s', async (_title, check) => {
    expect(await check(await subject())).toEqual([])
  })

  const posts: [string, (ids: { key_id: string; cluster_id: string }) => string, object, object][] = [
    ['POST /v2/api-keys', () => '/v2/api-keys', { name: 'ci' }, { name: 'other' }],
    ['POST /v2/byoc/clusters', () => CLUSTERS, atlas, other],
    ['POST …/budget', ({ key_id }) => `/v2/api-keys/${key_id}/budget`, { limit_usd: 8.2 }, { limit_usd: 5 }],
    [
      'POST …/heartbeat',
      ({ cluster_id }) => `${CLUSTERS}/${cluster_id}/heartbeat`,
      { status: 'active' },
      { status: 'down' },
    ],
    [
      'POST /v2/byoc/hicache-plan',
      () => '/v2/byoc/hicache-plan',
      {
        expected_recompute_ms: 1e21,
        tiers: [{ name: '🚀', lookup_ms: 0.1, transfer_ms: 0.2, decompression_ms: 0, queue_delay_ms: 0 }],
      },
      { expected_recompute_ms: 1, tiers: [] },
    ],
  ]

  test.each(posts)(
    '§11.4 %s is replayed byte for byte, and what it did stays as it was',
    async (_route, urlOf, body, another) => {
      const { post, get, key_id } = await service().newProject()
      const cluster_id = (await post(CLUSTERS, atlas)).body.id
      const url = urlOf({ key_id, cluster_id })
      const first = await post(url, body, { [KEY]: 'a' })
      const before = [(await get('/v2/api-keys')).bytes, (await get(CLUSTERS)).bytes]
      expect(first.status).toBe(200)
      for (const again of [body, another, body])
        expect(isRepeat(first, await post(url, again, { [KEY]: 'a' }))).toBe(true)
      expect([(await get('/v2/api-keys')).bytes, (await get(CLUSTERS)).bytes]).toEqual(before)
      expect((await post(url, body, { [KEY]: 'b' })).headers['agent-idempotent-replay']).toBe('false')
    },
  )

  test('T-05 with a used key the body is not looked at: broken, of another type, or too large', async () => {
    const { send } = await subject()
    const first = await send({ payload: valid(), key: 'a' })
    const odd = [
      { payload: '{"name":' },
      { payload: 'x=1', type: 'text/plain' },
      { payload: valid({ x: 'y'.repeat(70_000) }) },
    ]
    for (const one of odd) expect(isRepeat(first, await send({ ...one, key: 'a' }))).toBe(true)
  })

  test('T-06, T-07 the same key on another path, or for another thing, runs', async () => {
    const { post, key_id } = await service().newProject()
    const { id } = (await post('/v2/api-keys', { name: 'ci' })).body
    const answers = [
      await post('/v2/api-keys', { name: 'x' }, { [KEY]: 'a' }),
      await post(CLUSTERS, atlas, { [KEY]: 'a' }),
      await post(`/v2/api-keys/${id}/budget`, { limit_usd: 1 }, { [KEY]: 'a' }),
      await post(`/v2/api-keys/${key_id}/budget`, { limit_usd: 2 }, { [KEY]: 'a' }),
    ]
    expect(answers.map((one) => [one.status, replay(one)])).toEqual(Array(4).fill([200, 'false']))
    expect(answers.at(-1)?.body.budget_micros).toBe(2_000_000)
  })

  test('T-08 a trailing slash is another address: 404', async () => {
    const { send } = await subject()
    expect((await send({ payload: valid(), key: 'a', url: `${CLUSTERS}/` })).status).toBe(404)
  })

  test.each([404, 400])('§11.6 a %d is never replayed, and stores nothing', async (status) => {
    const { post } = await service().newProject()
    const url = status === 404 ? `${CLUSTERS}/byc_unknown/heartbeat` : CLUSTERS
    for (let n = 0; n < 3; n++) {
      const answer = await service().storingNothing(() => post(url, { status: 'active' }, { [KEY]: 'a' }))
      expect([answer.status, replay(answer)]).toEqual([status, 'false'])
    }
  })

  test('T-13 another key of the project gets the replay; one without the scope gets 403', async () => {
    const { post, keyWith } = await service().newProject()
    const first = await post('/v2/api-keys', { name: 'ci' }, { [KEY]: 'a' })
    const admin = service().as(await keyWith('admin'))
    expect(isRepeat(first, await admin.post('/v2/api-keys', { name: 'ci' }, { [KEY]: 'a' }))).toBe(true)
    const reader = service().as(await keyWith('read'))
    const refused = await reader.post('/v2/api-keys', { name: 'ci' }, { [KEY]: 'a' })
    expect([refused.status, refused.bytes.includes(first.body.key)]).toEqual([403, false])
  })

  test('T-14 a revoked key gets 401, not the replay', async () => {
    const { get, del, keyWith } = await service().newProject()
    const own = service().as(await keyWith('admin'))
    await own.post(CLUSTERS, atlas, { [KEY]: 'a' })
    await del(`/v2/api-keys/${(await get('/v2/api-keys')).body.data[0].id}`)
    expect((await own.post(CLUSTERS, atlas, { [KEY]: 'a' })).status).toBe(401)
  })

  test('T-18, R20 the replay of a creation holds the raw key; the store holds neither it nor the idempotency key', async () => {
    const { post } = await service().newProject()
    const idempotency_key = 'order-4711-of-the-customer'
    const first = await post('/v2/api-keys', { name: 'ci' }, { [KEY]: idempotency_key })
    const again = await post('/v2/api-keys', { name: 'ci' }, { [KEY]: idempotency_key })
    expect(again.body.key).toBe(first.body.key)
    const { db, location } = service()
    const tables = [await db.rows(sql`SELECT * FROM idempotency`), await db.rows(sql`SELECT * FROM api_key`)]
    const readable = JSON.stringify(tables, (_name, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    )
    const files =
      db.engine === 'sqlite' ? [location, `${location}-wal`].map((file) => readFileSync(file, 'latin1')) : []
    for (const text of [readable, ...files])
      for (const secret of [first.body.key.slice(13, -4), idempotency_key]) expect(text.includes(secret)).toBe(false)
  })

  test('T-19 a cluster that was deregistered meanwhile: the first answer again, and it stays gone', async () => {
    const { post, get, del } = await service().newProject()
    const first = await post(CLUSTERS, atlas, { [KEY]: 'a' })
    await del(`${CLUSTERS}/${first.body.id}`)
    expect(isRepeat(first, await post(CLUSTERS, atlas, { [KEY]: 'a' }))).toBe(true)
    expect((await get(CLUSTERS)).body.data).toEqual([])
  })

  test.each([
    ['nothing', ''],
    ['a blank', ' '],
    ['a blank inside', 'a b'],
    ['256 characters', 'x'.repeat(256)],
    ['a letter beyond ASCII', 'caf\u00e9'],
  ])('T-17, R25 400 on a key of %s, and nothing is stored', async (_case, key) => {
    const { post } = await service().newProject()
    const answer = await service().storingNothing(() => post(CLUSTERS, atlas, { [KEY]: key }))
    expect([answer.status, answer.body.error.type, replay(answer)]).toEqual([400, 'invalid_request_error', undefined])
    expect(answer.body.error.message).toContain('Agent-Idempotency-Key')
  })

  test('R25 a key of 255 characters is accepted', async () => {
    const { post } = await service().newProject()
    expect((await post(CLUSTERS, atlas, { [KEY]: '~'.repeat(255) })).status).toBe(200)
  })

  test('T-08, T-17 over a socket: the absolute form is the same path, two header lines are 400', async () => {
    const { key, get } = await service().newProject()
    const { raw } = await service().listen()
    const ask = (target: string, ...keys: string[]) =>
      raw(
        [
          `POST ${target} HTTP/1.1`,
          'Host: h',
          'Connection: close',
          `Authorization: Bearer ${key}`,
          'Content-Type: application/json',
          `Content-Length: ${Buffer.byteLength(valid())}`,
          ...keys.map((one) => `Agent-Idempotency-Key: ${one}`),
          '',
          valid(),
        ].join('\r\n'),
      )
    const answers = [
      await ask(CLUSTERS, 'a'),
      await ask(`http://h${CLUSTERS}`, 'a'),
      await ask(`http://other/v2/byoc/%63lusters?x`, 'a'),
    ]
    expect(answers.map((one) => [one.status, one.headers['agent-idempotent-replay']])).toEqual([
      [200, 'false'],
      [200, 'true'],
      [200, 'true'],
    ])
    expect((await ask(CLUSTERS, 'a', 'a')).status).toBe(400)
    expect((await ask(CLUSTERS, 'a', 'b')).status).toBe(400)
    expect((await get(CLUSTERS)).body.data).toHaveLength(1)
  })

  test('R15 401 and 403 come before the look-up, 400 after it', async () => {
    const { post, keyWith } = await service().newProject()
    await post(CLUSTERS, atlas, { [KEY]: 'a' })
    expect(
      (
        await service()
          .as('svc_live_x')
          .post(CLUSTERS, atlas, { [KEY]: 'a' })
      ).status,
    ).toBe(401)
    expect(
      (
        await service()
          .as(await keyWith('inference'))
          .post(CLUSTERS, atlas, { [KEY]: 'a' })
      ).status,
    ).toBe(403)
    expect((await post(CLUSTERS, {}, { [KEY]: 'a' })).status).toBe(200)
  })
})

describe('§11 planted', () => {
  const naive = (mistake: Mistake): Subject => {
    const { app, effects } = naiveIdempotency(mistake)
    return {
      effects,
      async send({ method = 'POST', url = CLUSTERS, payload, key, as = 'one' }) {
        const reply = await app.inject({
          method: method as 'POST',
          url,
          headers: {
            authorization: as,
            ...(payload && { 'content-type': 'application/json' }),
            ...(key && { [KEY]: key }),
          },
          ...(payload && { payload }),
        })
        return { status: reply.statusCode, headers: reply.headers as Record<string, string>, bytes: reply.rawPayload }
      },
    }
  }
  const failing = async (mistake: Mistake) => {
    const failed: string[] = []
    for (const [title, check] of Object.entries(CHECKS))
      if ((await check(naive(mistake))).length > 0) failed.push(title.slice(0, 4))
    return failed
  }

  test('§11 without a mistake, every check passes there too', async () => {
    expect(await failing('none')).toEqual([])
  })

  test.each(Object.entries(CATCHES))('§11 planted: %s is caught by %s', async (mistake, check) => {
    expect(await failing(mistake as Mistake)).toContain(check)
  })
})
