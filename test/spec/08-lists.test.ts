// §8.2, R10, R11: lists come whole, on one page; keys also page by page where somebody asks for it.
import { describe, expect, test } from 'vitest'
import { auditStore } from '../../src/audit/audit-store.ts'
import { newId } from '../../src/core/ids.ts'
import { sealing } from '../../src/core/sealing.ts'
import { createHints } from '../../src/hints/hints.ts'
import { hintsStore } from '../../src/hints/hints-store.ts'
import { createKey } from '../../src/keys/key.ts'
import { keyStore } from '../../src/keys/key-store.ts'
import { openSession } from '../../src/sessions/session.ts'
import { sessionStore } from '../../src/sessions/session-store.ts'
import { BATCH_ROWS } from '../../src/storage/batches.ts'
import { sql } from '../../src/storage/db.ts'
import { withService } from '../support/service.ts'

withService((service) => {
  test.each(['?limit=1', '?after=x', '?cursor=1&page=2'])('§8.2 there is no cursor: %s is ignored', async (query) => {
    const { post, get } = await service().newProject()
    for (let n = 0; n < 3; n++) await post('/v2/byoc/clusters', { name: `c${n}`, region: 'eu' })
    const [plain, asked] = [await get('/v2/byoc/clusters'), await get(`/v2/byoc/clusters${query}`)]
    expect([asked.status, asked.bytes.equals(plain.bytes), asked.body.data.length]).toEqual([200, true, 3])
  })

  test('§8.2, R10 a thousand keys are one page with has_more false', async () => {
    const { db, clock, newProject } = service()
    const { project, get } = await newProject()
    const made = Array.from({ length: 1_000 }, (_, n) => createKey(project.id, { name: `k${n}` }, clock.now()))
    for (const one of made) await keyStore(db).insert(one, clock.now())
    const { body } = await get('/v2/api-keys')
    expect([body.object, body.has_more, body.data.length]).toEqual(['list', false, 1_001])
    expect(body.data.slice(0, 1_000).map((one: { id: string }) => one.id)).toEqual(
      made.map(({ api_key }) => api_key.id).reverse(),
    )
  })

  describe('§4.2 pages of keys', () => {
    type Home = Awaited<ReturnType<ReturnType<typeof service>['newProject']>>

    /** All in one answer, and page after page until there are no more. */
    async function both(home: Home, limit: number, more = '') {
      const whole: { id: string }[] = (await home.get(`/v2/api-keys?${more}`)).body.data
      const pages: { id: string }[][] = []
      for (let after = ''; pages.length < 20; ) {
        const { body } = await home.get(`/v2/api-keys?limit=${limit}${after}${more}`)
        pages.push(body.data)
        if (!body.has_more) break
        after = `&after=${body.data.at(-1).id}`
      }
      return { whole, pages }
    }

    test.each([1, 3, 4, 7, 8, 100])('§4.2 pages of %i are the list, in its order, each key once', async (limit) => {
      const home = await service().newProject()
      for (let n = 0; n < 7; n++) await home.post('/v2/api-keys', { name: `k${n}` }) // and the one of the project
      const { whole, pages } = await both(home, limit)
      expect(whole).toHaveLength(8)
      expect(pages.flat()).toEqual(whole)
      expect(pages.map(({ length }) => length).slice(0, -1)).toEqual(pages.slice(1).map(() => limit))
      expect(pages).toHaveLength(Math.ceil(8 / limit))
    })

    test('R11 keys of one moment are on one page each, whatever their ids', async () => {
      const { db, newProject } = service()
      const home = await newProject()
      for (let n = 0; n < 6; n++) await home.post('/v2/api-keys', { name: `k${n}` })
      await db.rows(sql`UPDATE api_key SET sequence = 1 WHERE project_id = ${home.project.id}`)
      const { whole, pages } = await both(home, 2)
      expect(pages.flat()).toEqual(whole)
      expect(new Set(pages.flat().map(({ id }) => id)).size).toBe(7)
    })

    test('R64 the children of a key, and of no other', async () => {
      const home = await service().newProject()
      const [parent, other] = [
        await home.post('/v2/api-keys', { name: 'a' }),
        await home.post('/v2/api-keys', { name: 'b' }),
      ]
      const child = { name: 'run', limit_usd: 0, ttl_seconds: 60 }
      const born: string[] = []
      for (let n = 0; n < 3; n++)
        born.unshift((await home.post(`/v2/api-keys/${parent.body.id}/children`, child)).body.id)
      await home.post(`/v2/api-keys/${other.body.id}/children`, child)
      const { whole, pages } = await both(home, 2, `&parent_id=${parent.body.id}`)
      expect(whole.map(({ id }) => id)).toEqual(born)
      expect(pages.flat()).toEqual(whole)
    })

    test.each([
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['limit=x', 'limit'],
      ['limit=1.5', 'limit'],
      ['after=key_unknown', 'after'],
      ['after=', 'after'],
      ['after=%00', 'after'],
      ['parent_id=%00', 'parent_id'],
    ])('§4.2 400 on %s, naming the field', async (query, field) => {
      const { status, body } = await (await service().newProject()).get(`/v2/api-keys?${query}`)
      expect([status, body.error.type]).toEqual([400, 'invalid_request_error'])
      expect(body.error.message).toContain(`'${field}'`)
    })

    test('§5.8 a key of another project is no place in this list, and its children are not told', async () => {
      const [home, other] = [await service().newProject(), await service().newProject()]
      const theirs = (await other.post('/v2/api-keys', { name: 'theirs' })).body.id
      await other.post(`/v2/api-keys/${theirs}/children`, { name: 'run', limit_usd: 0, ttl_seconds: 60 })
      expect((await home.get(`/v2/api-keys?after=${theirs}`)).status).toBe(400)
      expect((await home.get(`/v2/api-keys?parent_id=${theirs}`)).body.data).toEqual([])
      expect((await home.get(`/v2/api-keys/${theirs}`)).status).toBe(404)
    })

    test('§4.2 one key is told as the list tells it; a key that may only read may ask', async () => {
      const home = await service().newProject()
      const { id } = (await home.post('/v2/api-keys', { name: 'ci', allowed_models: ['a*'] })).body
      const reader = (await home.post('/v2/api-keys', { name: 'reader', scopes: ['read'] })).body
      const listed = (await home.get('/v2/api-keys')).body.data.find((key: { id: string }) => key.id === id)
      const told = await service().as(reader.key).get(`/v2/api-keys/${id}`)
      expect([told.status, told.body]).toEqual([200, listed])
      expect((await home.get('/v2/api-keys/key_unknown')).status).toBe(404)
    })
  })

  describe('R70 lists are whole', () => {
    const BATCHES = 2 * BATCH_ROWS + 1
    const NOBODY = { made_by: null, made_under: null }

    test('R70 sessions, hints, keys and the audit log come in one page, newest first, however many there are', async () => {
      const { clock, newProject, db } = service()
      const { project, get } = await newProject()
      const [sessions, hints] = [sessionStore(db, sealing('x'.repeat(32))), hintsStore(db)]
      for (let n = 0; n < BATCHES; n++) {
        await sessions.insert(openSession(project.id, { agent: `a${n}` }, clock.now()), NOBODY, clock.now())
        await hints.insert(createHints(project.id, { name: `h${n}`, qos: {} }, clock.now()), clock.now())
        await keyStore(db).insert(createKey(project.id, { name: `k${n}` }, clock.now()), clock.now())
        const entry = { id: newId('aud'), object: 'audit_entry', actor: 'key_1', action: `n${n}` } as const
        const at = { project_id: project.id, created_at: clock.rfc3339(), created_ms: clock.now() }
        await auditStore(db).insert({ ...entry, ...at, request_id: 'req_1' })
      }
      const newest = (prefix: string) => Array.from({ length: BATCHES }, (_, n) => `${prefix}${BATCHES - 1 - n}`)
      const names = async (path: string, field: string) => {
        const { body, headers } = await get(path)
        expect([body.object, body.has_more, headers['transfer-encoding']]).toEqual(['list', false, 'chunked'])
        return body.data.map((item: Record<string, string>) => item[field])
      }
      expect(await names('/v2/sessions', 'agent')).toEqual(newest('a'))
      expect(await names('/v2/agent-hints', 'name')).toEqual(newest('h'))
      expect((await names('/v2/api-keys', 'name')).slice(0, BATCHES)).toEqual(newest('k'))
      expect((await names('/v2/audit-log', 'action')).slice(0, BATCHES)).toEqual(newest('n'))
    })

    test('R70 HEAD of a long list reads no more than is needed to answer', async () => {
      const { clock, newProject, db } = service()
      const { project, send } = await newProject()
      for (let n = 0; n < BATCHES; n++)
        await hintsStore(db).insert(createHints(project.id, { qos: {} }, clock.now()), clock.now())
      const { status, bytes } = await send('HEAD', '/v2/agent-hints')
      expect([status, bytes.length]).toEqual([200, 0])
    })
  })

  test('R10 an empty list has the same envelope', async () => {
    const { get } = await service().newProject()
    expect((await get('/v2/byoc/clusters')).bytes.toString()).toBe('{"object":"list","data":[],"has_more":false}')
  })
})
