// R74: what another key made, who did what, who is a member, and for which cluster a key speaks.
import { describe, expect, test } from 'vitest'
import { rfc3339, SECOND_MS } from '../../src/core/clock.ts'
import { sql } from '../../src/storage/db.ts'
import { settingsFrom } from '../support/inference-scene.ts'
import { type Answer, type TestProject, withService } from '../support/service.ts'

const KEYS = '/v2/api-keys'
const identity = ({ status, body }: Answer) => [status, body.error?.type, body.error?.code]
const FORBIDDEN = [403, 'insufficient_scope', 'insufficient_scope']

withService(
  (service) => {
    const keyOf = async (home: TestProject, more: object = {}) => {
      const { id, key } = (await home.post(KEYS, { name: 'ci', ...more })).body
      return { id, ...service().as(key) }
    }
    /** A project; a key that made something, another one of the same scope, and one that only reads. */
    async function people() {
      const home = await service().newProject()
      return {
        home,
        maker: await keyOf(home),
        other: await keyOf(home),
        reader: await keyOf(home, { scopes: ['read'] }),
      }
    }

    describe('R74 responses', () => {
      const respond = async ({ post }: { post: TestProject['post'] }, more: object = {}) =>
        post('/v1/responses', { model: 'gpt-4o-mini', input: 'a secret of mine', ...more })

      test('R74 what a key made, it reads with its usual scope; another key does not; an admin does', async () => {
        const { home, maker, other, reader } = await people()
        const { id } = (await respond(maker)).body
        for (const path of [
          `/v1/responses/${id}`,
          `/v1/responses/${id}/input_items`,
          `/v2/responses/${id}`,
          `/v2/responses/${id}/attempts`,
        ]) {
          for (const stranger of [other, reader]) {
            const answer = await stranger.get(path)
            expect(identity(answer), path).toEqual(FORBIDDEN)
            expect(answer.bytes.toString()).not.toContain('a secret of mine')
          }
          expect([(await maker.get(path)).status, (await home.get(path)).status], path).toEqual([200, 200])
        }
        const items = (await maker.get(`/v1/responses/${id}/input_items`)).body.data
        expect(JSON.stringify(items)).toContain('a secret of mine')
      })

      test('R74 nor does another key delete or cancel it, and nothing is stored', async () => {
        const { home, maker, other } = await people()
        const { id } = (await respond(maker)).body
        expect(identity(await service().storingNothing(() => other.del(`/v1/responses/${id}`)))).toEqual(FORBIDDEN)
        expect(identity(await other.post(`/v1/responses/${id}/cancel`))).toEqual(FORBIDDEN)
        expect((await home.del(`/v1/responses/${id}`)).status).toBe(200)
        expect((await maker.get(`/v1/responses/${id}`)).status).toBe(404)
      })

      test('R74 nor is it a conversation for another key to go on with, or an item to point at', async () => {
        const { home, maker, other } = await people()
        const { id } = (await respond(maker)).body
        const [item] = (await maker.get(`/v1/responses/${id}/input_items`)).body.data
        const goOn = { previous_response_id: id, input: 'and then?' }
        const point = { input: [{ type: 'item_reference', id: item.id }] }
        for (const asking of [goOn, point]) {
          expect(identity(await service().storingNothing(() => respond(other, asking)))).toEqual(FORBIDDEN)
          expect((await respond(maker, asking)).status).toBe(200)
          expect((await respond(home, asking)).status).toBe(200)
        }
      })

      test('R74 a chain that leads through another key’s response is refused as a whole', async () => {
        const { home, maker, other } = await people()
        const first = (await respond(maker)).body.id
        const admins = (await respond(home, { previous_response_id: first })).body.id
        expect(identity(await respond(other, { previous_response_id: admins }))).toEqual(FORBIDDEN)
        expect(identity(await respond(maker, { previous_response_id: admins }))).toEqual(FORBIDDEN)
      })

      test('R74 a parent reads what its child made; the child’s sibling does not', async () => {
        const { maker } = await people()
        const bear = async () => {
          const asked = { name: 'run', limit_usd: 1, ttl_seconds: 60 }
          return service().as((await maker.post(`${KEYS}/${maker.id}/children`, asked)).body.key)
        }
        const [child, sibling] = [await bear(), await bear()]
        const { id } = (await respond(child)).body
        const seen = [child, maker, sibling].map(async ({ get }) => (await get(`/v1/responses/${id}`)).status)
        expect(await Promise.all(seen)).toEqual([200, 200, 403])
      })

      test('R74 what is older than the rule is for admins alone', async () => {
        const { home, maker } = await people()
        const { id } = (await respond(maker)).body
        await service().db.rows(sql`UPDATE stored_response SET made_by = NULL WHERE id = ${id}`)
        const seen = [maker, home].map(async ({ get }) => (await get(`/v1/responses/${id}`)).status)
        expect(await Promise.all(seen)).toEqual([403, 200])
      })
    })

    describe('R74 sessions', () => {
      const SAID = 'what only one of us should know'

      async function talk(key: { post: TestProject['post'] }, session_id: string) {
        const hints = Buffer.from(JSON.stringify({ reuse: { session_id } })).toString('base64url')
        const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: SAID }] }
        await key.post('/v1/chat/completions', body, { 'agent-hints': hints })
      }

      test('R74 the events of a session are for all to see, their contents for who made them and for admins', async () => {
        const { home, maker, other, reader } = await people()
        const { id } = (await maker.post('/v2/sessions')).body
        await talk(maker, id)
        const eventsFor = async ({ get }: { get: TestProject['get'] }) =>
          (await get(`/v2/sessions/${id}/events`)).body.data as Record<string, unknown>[]
        for (const reading of [maker, home]) {
          const events = await eventsFor(reading)
          expect(events).toHaveLength(2)
          expect(JSON.stringify(events)).toContain(SAID)
          expect(events.every((event) => !('content_withheld' in event))).toBe(true)
        }
        for (const stranger of [other, reader]) {
          const events = await eventsFor(stranger)
          expect(events.map(({ content_withheld, type }) => [type, content_withheld])).toEqual([
            ['assistant_output', true],
            ['input', true],
          ])
          expect(events.every((event) => !('content' in event))).toBe(true)
        }
      })

      test('R74 of a session that several keys use, each sees what it said itself', async () => {
        const { maker, other } = await people()
        const { id } = (await maker.post('/v2/sessions')).body
        await talk(maker, id)
        await talk(other, id)
        const { data } = (await other.get(`/v2/sessions/${id}/events`)).body
        expect(data.map((event: object) => 'content' in event)).toEqual([true, true, false, false])
      })

      test('R74 another key does not delete it, and nothing is stored', async () => {
        const { home, maker, other } = await people()
        const [one, two] = [(await maker.post('/v2/sessions')).body.id, (await maker.post('/v2/sessions')).body.id]
        const answer = await service().storingNothing(() => other.del(`/v2/sessions/${one}`))
        expect(identity(answer)).toEqual(FORBIDDEN)
        expect((await maker.del(`/v2/sessions/${one}`)).status).toBe(200)
        expect((await home.del(`/v2/sessions/${two}`)).status).toBe(200)
      })
    })

    test('R74 the audit log is for admins', async () => {
      const { home, maker, reader } = await people()
      for (const { get } of [maker, reader]) expect(identity(await get('/v2/audit-log'))).toEqual(FORBIDDEN)
      expect((await home.get('/v2/audit-log')).body.data.length).toBeGreaterThan(0)
    })

    test('R74 members are for all to see, their addresses for admins', async () => {
      const { home, maker, reader } = await people()
      expect((await home.get('/v2/members')).body.data[0].email).toMatch(/@example\.com$/)
      for (const { get } of [maker, reader]) {
        const answer = await get('/v2/members')
        expect(answer.body.data).toEqual([
          {
            id: expect.stringMatching(/^usr_/),
            object: 'member',
            role: 'owner',
            status: 'active',
            created_at: expect.any(String),
          },
        ])
      }
    })

    describe('R74 heartbeats', () => {
      async function clusters() {
        const home = await service().newProject()
        const register = async (name: string) => (await home.post('/v2/byoc/clusters', { name, region: 'eu' })).body.id
        return { home, one: await register('one'), two: await register('two') }
      }
      const beat = async ({ post }: { post: TestProject['post'] }, id: string) =>
        post(`/v2/byoc/clusters/${id}/heartbeat`, { status: 'down', models: [{ id: 'mine-now' }] })

      test('R74 an admin reports for any, and so does an inference key that nothing is bound to', async () => {
        const { home, one, two } = await clusters()
        for (const key of [home, await keyOf(home), await keyOf(home, { limit_usd: 5 })])
          expect([(await beat(key, one)).status, (await beat(key, two)).status]).toEqual([200, 200])
      })

      test.each<[string, (now: number) => object]>([
        ['a time', (now) => ({ expires_at: rfc3339(now + 60 * SECOND_MS) })],
        ['models', () => ({ allowed_models: ['gpt-4o'] })],
        ['networks', () => ({ allowed_cidrs: ['127.0.0.0/8'] })],
      ])('R74 403 for a key that is bound to %s, and nothing is stored', async (_case, terms) => {
        const { home, one } = await clusters()
        const key = await keyOf(home, terms(service().clock.now()))
        expect(identity(await service().storingNothing(() => beat(key, one)))).toEqual(FORBIDDEN)
      })

      test('R74 403 for a child, and nothing is stored', async () => {
        const { home, one } = await clusters()
        const parent = await keyOf(home)
        const asked = { name: 'run', limit_usd: 0, ttl_seconds: 60 }
        const { key } = (await home.post(`${KEYS}/${parent.id}/children`, asked)).body
        expect(identity(await service().storingNothing(() => beat(service().as(key), one)))).toEqual(FORBIDDEN)
      })

      test('R74 a key that is bound to clusters reports for those, whatever else it is bound to', async () => {
        const { home, one, two } = await clusters()
        const terms = { allowed_clusters: [one, one], allowed_models: ['gpt-4o'] }
        const bound = await keyOf(home, terms)
        expect((await bound.get(`${KEYS}/${bound.id}`)).body.allowed_clusters).toEqual([one])
        expect([(await beat(bound, one)).status, (await beat(bound, two)).status]).toEqual([200, 403])
        const admin = await keyOf(home, { scopes: ['admin'], allowed_clusters: [two] })
        expect([(await beat(admin, one)).status, (await beat(admin, two)).status]).toEqual([403, 200])
        const moved = await home.patch(`${KEYS}/${bound.id}`, { allowed_clusters: [two] })
        expect(moved.body.allowed_clusters).toEqual([two])
        expect([(await beat(bound, one)).status, (await beat(bound, two)).status]).toEqual([403, 200])
        expect((await home.patch(`${KEYS}/${bound.id}`, { allowed_clusters: null })).body).not.toHaveProperty(
          'allowed_clusters',
        )
      })

      test('R74 it says nothing of where calls may go', async () => {
        const { home, one } = await clusters()
        const { post } = await keyOf(home, { allowed_clusters: [one] })
        const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] }
        expect((await post('/v1/chat/completions', body)).status).toBe(200)
      })

      test.each([[[]], [['']], [['prj_1']], [['byc_1\0']], ['byc_1'], [[1]], [Array(101).fill('byc_1')]])(
        'R74 400 on allowed_clusters %j, and nothing is stored',
        async (allowed_clusters) => {
          const home = await service().newProject()
          const answer = await service().storingNothing(() => home.post(KEYS, { name: 'ci', allowed_clusters }))
          expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining('allowed_clusters')])
        },
      )
    })

    describe('R74 the last admin key', () => {
      const LATER = () => rfc3339(service().clock.now() + 60 * SECOND_MS)

      test('R74 400 where it would revoke itself, bring its end nearer or shut itself out, and nothing is stored', async () => {
        const { home, maker } = await people()
        for (const refused of [
          () => home.del(`${KEYS}/${home.key_id}`),
          () => home.patch(`${KEYS}/${home.key_id}`, { expires_at: LATER() }),
          () => home.patch(`${KEYS}/${home.key_id}`, { allowed_cidrs: ['203.0.113.0/24'] }),
        ]) {
          const { status, body } = await service().storingNothing(refused)
          expect([status, body.error.type]).toEqual([400, 'invalid_request_error'])
          expect(body.error.message).toContain('Make another one first')
        }
        expect((await home.del(`${KEYS}/${maker.id}`)).status).toBe(200)
        expect((await home.patch(`${KEYS}/${home.key_id}`, { name: 'other', expires_at: null })).status).toBe(200)
        const near = { allowed_cidrs: ['203.0.113.0/24', '127.0.0.0/8'] }
        expect((await home.patch(`${KEYS}/${home.key_id}`, near)).status).toBe(200)
      })

      test('R74 where another is active it may; one that is revoked, expired or no admin’s is none', async () => {
        const { home } = await people()
        const [gone, ended] = [
          await keyOf(home, { scopes: ['admin'] }),
          await keyOf(home, { scopes: ['admin'], expires_at: LATER() }),
        ]
        await home.del(`${KEYS}/${gone.id}`)
        service().clock.advance(61 * SECOND_MS)
        expect((await home.del(`${KEYS}/${home.key_id}`)).status).toBe(400)
        const next = await keyOf(home, { scopes: ['admin', 'read'] })
        expect((await home.del(`${KEYS}/${home.key_id}`)).status).toBe(200)
        expect((await next.del(`${KEYS}/${next.id}`)).status).toBe(400)
        expect((await ended.get(KEYS)).status).toBe(401)
      })

      test('R74 of two that revoke themselves at once, one stays', async () => {
        const { home } = await people()
        const second = await keyOf(home, { scopes: ['admin'] })
        const answers = await Promise.all([home.del(`${KEYS}/${home.key_id}`), second.del(`${KEYS}/${second.id}`)])
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
      })
    })
  },
  { parts: { settings: settingsFrom({ retention: { full_fidelity: true } }) } },
)
