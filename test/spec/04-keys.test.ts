// §4.1–4.4: /v2/api-keys, by endpoint and status.
import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { withService } from '../support/service.ts'

const KEYS = '/v2/api-keys'

withService((service) => {
  const listed = async (home: { get(url: string): Promise<{ body: { data: { id: string }[] } }> }) =>
    (await home.get(KEYS)).body.data

  describe('§4.1 POST /v2/api-keys', () => {
    test('§4.1 200: scopes default to inference, and the key works', async () => {
      const { post } = await service().newProject()
      const { status, body } = await post(KEYS, { name: '  ci  ' })
      expect([status, body.name, body.scopes, body.status, body.spent_micros]).toEqual([
        200,
        'ci',
        ['inference'],
        'active',
        0,
      ])
      expect((await service().as(body.key).get(KEYS)).status).toBe(200)
    })

    test('T-46 200: a scope given twice is granted once', async () => {
      const { post } = await service().newProject()
      expect((await post(KEYS, { name: 'ci', scopes: ['read', 'read', 'admin'] })).body.scopes).toEqual([
        'read',
        'admin',
      ])
    })

    test('R9 200: unknown fields are neither stored nor echoed, and cannot set what is ours', async () => {
      const home = await service().newProject()
      const more = {
        id: 'key_x',
        project_id: 'prj_x',
        spent_micros: 7,
        budget_micros: 1,
        status: 'revoked',
        key: 'x',
        z: 1,
      }
      const { body } = await home.post(KEYS, { name: 'ci', ...more })
      expect(body).toMatchObject({ project_id: home.project.id, spent_micros: 0, status: 'active' })
      expect(body.id).not.toBe('key_x')
      expect(body).not.toHaveProperty('z')
      expect(body).not.toHaveProperty('budget_micros')
    })

    test.each([
      ['no body', undefined],
      ['no name', {}],
      ['an empty name', { name: '' }],
      ['a blank name', { name: '   ' }],
      ['a name nobody can see', { name: '\u200b\u00a0' }],
      ['a number for a name', { name: 5 }],
      ['true for a name', { name: true }],
      ['null for a name', { name: null }],
      ['an array for a name', { name: ['ci'] }],
      ['257 characters', { name: 'x'.repeat(257) }],
      ['a NUL', { name: 'a\0b' }],
      ['no scopes at all', { name: 'ci', scopes: [] }],
      ['an unknown scope', { name: 'ci', scopes: ['root'] }],
      ['a scope in capitals', { name: 'ci', scopes: ['ADMIN'] }],
      ['a text for scopes', { name: 'ci', scopes: 'admin' }],
      ['null for scopes', { name: 'ci', scopes: null }],
      ['an array for a body', []],
      ['a text for a body', 'ci'],
      ['a number for a body', 5],
      ['null for a body', null],
    ])('§4.1 400 on %s, and nothing is stored', async (_case, body) => {
      const { post } = await service().newProject()
      const answer = await service().storingNothing(() => post(KEYS, body))
      expect([answer.status, answer.body.error.type, answer.body.error.code]).toEqual([
        400,
        'invalid_request_error',
        undefined,
      ])
    })

    test('T-37 400 on a lone surrogate, and nothing is stored', async () => {
      const { send } = await service().newProject()
      const answer = await service().storingNothing(() => send('POST', KEYS, { payload: '{"name":"a\\ud800"}' }))
      expect(answer.status).toBe(400)
    })

    test('§4.1 rule 1, T-45 403 while the owner is not verified, before the body is looked at', async () => {
      const { post, get, project } = await service().newProject({ verified: false })
      for (const body of [{ name: 'ci' }, { name: '' }]) {
        const answer = await service().storingNothing(() => post(KEYS, body))
        expect([answer.status, answer.body.error.type, answer.body.error.code]).toEqual([
          403,
          'insufficient_scope',
          'insufficient_scope',
        ])
      }
      expect((await get(KEYS)).body.data).toHaveLength(1)
      expect((await post('/v2/byoc/clusters', { name: 'a', region: 'b' })).status).toBe(200)
      expect(project.id).toMatch(/^prj_/)
    })
  })

  describe('§4.2 GET /v2/api-keys', () => {
    test('§4.2 200: every key of the project, newest first, equal times by insertion', async () => {
      const home = await service().newProject()
      const made = [home.key_id]
      for (let n = 0; n < 30; n++) made.push((await home.post(KEYS, { name: `k${n}` })).body.id)
      expect((await listed(home)).map(({ id }) => id)).toEqual(made.reverse())
    })

    test('§4.2 200: only this project’s', async () => {
      const [home, other] = [await service().newProject(), await service().newProject()]
      await other.post(KEYS, { name: 'theirs' })
      expect((await listed(home)).map(({ id }) => id)).toEqual([home.key_id])
    })

    test('§4.2 200: whose a secret is, by its hash: the one before a rotation too, until it is revoked', async () => {
      const [home, other] = [await service().newProject(), await service().newProject()]
      const { id, key } = (await home.post(KEYS, { name: 'leaked' })).body
      const whose = async ({ get }: Pick<typeof home, 'get'>, secret: string) =>
        (await get(`${KEYS}?sha256=${hash('sha256', secret, 'base64url')}`)).body.data.map(
          (one: { id: string }) => one.id,
        )
      expect(await whose(home, key)).toEqual([id])
      expect([await whose(other, key), await whose(home, `${key}x`)]).toEqual([[], []])
      const rotated = (await home.post(`${KEYS}/${id}/rotate`, {})).body.key
      expect([await whose(home, key), await whose(home, rotated)]).toEqual([[id], [id]])
      await home.del(`${KEYS}/${id}`)
      expect([await whose(home, key), await whose(home, rotated)]).toEqual([[], []])
      const { status, body } = await home.get(`${KEYS}?sha256=${key}`)
      expect([status, body.error.message.slice(0, 8)]).toEqual([400, "'sha256'"])
    })
  })

  describe('§4.3 DELETE /v2/api-keys/{key_id}', () => {
    test.each(['key_unknown', 'byc_x', 'x', '%20', 'key_..%2f..', "' OR 1=1 --", `key_${'x'.repeat(200)}`, '%00'])(
      '§4.3 404 on %s, and nothing is stored',
      async (id) => {
        const { del } = await service().newProject()
        const { status, body } = await service().storingNothing(() => del(`${KEYS}/${id.replaceAll(' ', '%20')}`))
        expect([status, body.error.type, body.error.code]).toEqual([404, 'invalid_request_error', undefined])
      },
    )

    test('T-40 200 with a JSON content type and no body', async () => {
      const { post, del } = await service().newProject()
      const { id } = (await post(KEYS, { name: 'ci' })).body
      expect((await del(`${KEYS}/${id}`, { 'content-type': 'application/json' })).status).toBe(200)
    })
  })

  describe('§4.4 POST /v2/api-keys/{key_id}/budget', () => {
    const limitOf = async (limit_usd: unknown) => {
      const { post, key_id } = await service().newProject()
      return post(`${KEYS}/${key_id}/budget`, { limit_usd })
    }

    test.each([
      [0, 0],
      [-0, 0],
      [5, 5_000_000],
      [12.5, 12_500_000],
      [1.005, 1_005_000],
      [8.2, 8_200_000],
      [0.000001, 1],
      [9_007_199_254, 9_007_199_254_000_000],
    ])('T-53, T-54 200: %d USD is %d micros', async (usd, micros) => {
      expect(await limitOf(usd)).toMatchObject({ status: 200, body: { budget_micros: micros } })
    })

    test('T-55, T-56 200: absent changes nothing, null clears', async () => {
      const { post, key_id } = await service().newProject()
      const set = (body: object) => post(`${KEYS}/${key_id}/budget`, body)
      await set({ limit_usd: 3 })
      expect((await set({})).body.budget_micros).toBe(3_000_000)
      expect((await set({ limit: null })).body.budget_micros).toBe(3_000_000)
      expect((await set({ limit_usd: null })).body).not.toHaveProperty('budget_micros')
      expect((await set({})).body).not.toHaveProperty('budget_micros')
    })

    test('T-57 200: a limit may be lowered', async () => {
      const { post, key_id } = await service().newProject()
      await post(`${KEYS}/${key_id}/budget`, { limit_usd: 100 })
      expect((await post(`${KEYS}/${key_id}/budget`, { limit_usd: 0.5 })).body.budget_micros).toBe(500_000)
    })

    test('T-58 200 on a revoked key, which stays revoked', async () => {
      const { post, del } = await service().newProject()
      const { id } = (await post(KEYS, { name: 'ci' })).body
      await del(`${KEYS}/${id}`)
      expect((await post(`${KEYS}/${id}/budget`, { limit_usd: 1 })).body).toMatchObject({
        status: 'revoked',
        budget_micros: 1_000_000,
      })
    })

    test.each([-1, -0.0000001, '5', true, [], {}, 1e300, 9_007_199_255, 0.1234567, 1e-7])(
      'T-52 400 on a limit of %j, and nothing is stored',
      async (limit_usd) => {
        const { post, key_id } = await service().newProject()
        const answer = await service().storingNothing(() => post(`${KEYS}/${key_id}/budget`, { limit_usd }))
        expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request_error'])
        expect(answer.body.error.message).toContain("'limit_usd'")
      },
    )

    test('T-52 400 on a number that is Infinity once parsed', async () => {
      const { send, key_id } = await service().newProject()
      const payload = '{"limit_usd":1e999}'
      const answer = await service().storingNothing(() => send('POST', `${KEYS}/${key_id}/budget`, { payload }))
      expect(answer.status).toBe(400)
    })

    test('§4.4 404 on an unknown key', async () => {
      const { post } = await service().newProject()
      const answer = await service().storingNothing(() => post(`${KEYS}/key_unknown/budget`, { limit_usd: 1 }))
      expect([answer.status, answer.body.error.type]).toEqual([404, 'invalid_request_error'])
      expect((await post(`${KEYS}/key_unknown/budget`, {})).status).toBe(404)
    })
  })
})
