// R60, R61, R63: keys that end, rotate, and work only from where they may; and how they are changed.
import { describe, expect, test } from 'vitest'
import { DAY_MS, rfc3339, SECOND_MS } from '../../src/core/clock.ts'
import { hashKey } from '../../src/keys/key.ts'
import { sql } from '../../src/storage/db.ts'
import { NOON } from '../support/clock.ts'
import { from, limitSettings } from '../support/limit-scene.ts'
import { startService, type TestProject, withService } from '../support/service.ts'
import { mutateSql, type Tampering } from '../support/tampered-db.ts'

const KEYS = '/v2/api-keys'
const LATER = (s: number, now: number) => rfc3339(now + s * SECOND_MS)

withService(
  (service) => {
    const now = () => service().clock.now()
    const make = async (home: TestProject, more: object = {}) => (await home.post(KEYS, { name: 'ci', ...more })).body
    const use = async (raw: string, headers?: Record<string, string>) => service().as(raw).get(KEYS, headers)
    const found = async (home: TestProject, id: string) =>
      (await home.get(KEYS)).body.data.find((key: { id: string }) => key.id === id)

    test('§2.1 a key that uses none of this looks as it always did', async () => {
      const home = await service().newProject()
      const { id } = await make(home)
      const shown = ['created_at', 'id', 'masked', 'name', 'object', 'project_id', 'scopes', 'spent_micros', 'status']
      expect(Object.keys(await found(home, id)).sort()).toEqual(shown)
    })

    describe('R60 expires_at', () => {
      /** What is wrong with an unknown key's answer and an expired one's: they must be the same bytes. */
      async function lastMoment(of = service()) {
        const home = await of.newProject()
        const { key } = (await home.post(KEYS, { name: 'ci', expires_at: LATER(60, of.clock.now()) })).body
        of.clock.advance(60 * SECOND_MS - 1)
        const before = (await of.as(key).get(KEYS)).status
        of.clock.advance(1)
        return { before, after: await of.as(key).get(KEYS), home }
      }

      test('R60 works until its last millisecond, and is unknown from the next on', async () => {
        const { before, after, home } = await lastMoment()
        const unknown = await use((await make(await service().newProject())).key.replace(/.{6}$/, 'aaaaaa'))
        expect([before, after.status]).toEqual([200, 401])
        expect(after.bytes.equals(unknown.bytes)).toBe(true)
        expect((await home.get(KEYS)).body.data[0]).toMatchObject({ status: 'active', expires_at: rfc3339(now()) })
      })

      test('R60 planted: an end that nobody looks at is caught', async () => {
        const tampering: Tampering = {}
        const broken = await startService({ tampering })
        mutateSql(tampering, 'k.expires_at IS NULL OR', '1 = 1 OR')
        expect((await lastMoment(broken as never)).after.status).toBe(200)
      })

      test.each([
        ['now', () => rfc3339(now())],
        ['the past', () => '2020-01-01T00:00:00Z'],
        ['a day that is not', () => '2027-02-30T00:00:00Z'],
        ['no time at all', () => 'soon'],
        ['nothing', () => ''],
        ['a number', () => now() + DAY_MS],
      ])('R60 400 on %s, naming the field, and nothing is stored', async (_case, value) => {
        const home = await service().newProject()
        const answer = await service().storingNothing(() => home.post(KEYS, { name: 'ci', expires_at: value() }))
        expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining("'expires_at'")])
      })

      test('R60 changed, cleared, and brought back to life by an admin', async () => {
        const home = await service().newProject()
        const { id, key } = await make(home, { expires_at: LATER(10, now()) })
        service().clock.advance(10 * SECOND_MS)
        expect((await use(key)).status).toBe(401)
        expect((await home.patch(`${KEYS}/${id}`, { expires_at: LATER(10, now()) })).status).toBe(200)
        expect((await use(key)).status).toBe(200)
        const { body } = await home.patch(`${KEYS}/${id}`, { expires_at: null })
        expect(body).not.toHaveProperty('expires_at')
        service().clock.advance(DAY_MS)
        expect((await use(key)).status).toBe(200)
      })
    })

    describe('R61 rotation', () => {
      const rotate = (home: TestProject, id: string, body: object = {}, headers?: Record<string, string>) =>
        home.post(`${KEYS}/${id}/rotate`, body, headers)

      test('R61 a new secret for the same key; the old one works until the overlap ends', async () => {
        const home = await service().newProject()
        const { key: old, ...made } = await make(home)
        await home.post(`${KEYS}/${made.id}/budget`, { limit_usd: 5 })
        const { status, body } = await rotate(home, made.id, { overlap_seconds: 60 })
        const { key, masked, ...rest } = body
        expect([status, key === old, masked]).toEqual([200, false, `${key.slice(0, 13)}…${key.slice(-4)}`])
        const { masked: _old, ...before } = made
        expect(rest).toEqual({ ...before, budget_micros: 5_000_000, previous_expires_at: LATER(60, now()) })
        service().clock.advance(60 * SECOND_MS - 1)
        expect([(await use(old)).status, (await use(key)).status]).toEqual([200, 200])
        service().clock.advance(1)
        expect([(await use(old)).status, (await use(key)).status]).toEqual([401, 200])
        const shown = await found(home, made.id)
        expect(shown).toMatchObject({ masked, last_used_at: rfc3339(now()) })
        expect(shown).not.toHaveProperty('previous_expires_at')
      })

      test('R61 a day by default; 0 ends the old one at once', async () => {
        const home = await service().newProject()
        const { id, key } = await make(home)
        const second = (await rotate(home, id)).body
        expect(second.previous_expires_at).toBe(rfc3339(now() + DAY_MS))
        const third = (await rotate(home, id, { overlap_seconds: 0 })).body
        expect(third).not.toHaveProperty('previous_expires_at')
        const tried = [key, second.key, third.key].map(async (raw) => (await use(raw)).status)
        expect(await Promise.all(tried)).toEqual([401, 401, 200])
      })

      test('R60, R61 the old secret is told to work no longer than the key does', async () => {
        const home = await service().newProject()
        const expires_at = LATER(60, now())
        const { id } = (await home.post(KEYS, { name: 'ci', expires_at })).body
        const { body } = await home.post(`${KEYS}/${id}/rotate`, { overlap_seconds: 3_600 })
        expect(body.previous_expires_at).toBe(expires_at)
        await home.patch(`${KEYS}/${id}`, { expires_at: null })
        expect((await home.get(`${KEYS}/${id}`)).body.previous_expires_at).toBe(LATER(3_600, now()))
      })

      test('R61 two secrets at the most: rotating again ends the oldest', async () => {
        const home = await service().newProject()
        const { id, key } = await make(home)
        const [second, third] = [(await rotate(home, id)).body.key, (await rotate(home, id)).body.key]
        const tried = [key, second, third].map(async (raw) => (await use(raw)).status)
        expect(await Promise.all(tried)).toEqual([401, 200, 200])
      })

      test('R61 a revocation ends both, and no hash is left of either', async () => {
        const home = await service().newProject()
        const { id, key } = await make(home)
        const second = (await rotate(home, id)).body.key
        await home.del(`${KEYS}/${id}`)
        expect([(await use(key)).status, (await use(second)).status]).toEqual([401, 401])
        const [row] = await service().db.rows(sql`SELECT hash, previous_hash FROM api_key WHERE id = ${id}`)
        expect(row).toEqual({ hash: null, previous_hash: null })
      })

      test('R61, R20 repeated under its key it is one rotation, and shows the same secret', async () => {
        const home = await service().newProject()
        const { id } = await make(home)
        const keyed = { 'agent-idempotency-key': 'once' }
        const [first, again] = [await rotate(home, id, {}, keyed), await rotate(home, id, {}, keyed)]
        expect(again.bytes.equals(first.bytes)).toBe(true)
        expect((await use(first.body.key)).status).toBe(200)
      })

      test('R61 400 where the key has ended or the overlap is out of bounds, 404 where there is none', async () => {
        const home = await service().newProject()
        const { id } = await make(home, { expires_at: LATER(1, now()) })
        for (const overlap_seconds of [-1, 604_801, 1.5, '60', null])
          expect((await rotate(home, id, { overlap_seconds })).body.error.message).toContain("'overlap_seconds'")
        service().clock.advance(SECOND_MS)
        expect((await service().storingNothing(() => rotate(home, id))).status).toBe(400)
        const revoked = await make(home)
        await home.del(`${KEYS}/${revoked.id}`)
        expect((await service().storingNothing(() => rotate(home, revoked.id))).status).toBe(400)
        expect((await rotate(home, 'key_unknown')).status).toBe(404)
      })

      test('R61, R5 an operator’s key of any form rotates too, and its old form works on in every process', async () => {
        const home = await service().newProject()
        const chosen = `svc_live_${'o'.repeat(40)}`
        const origin = 'operator'
        const [hash, id] = [hashKey(chosen), home.key_id]
        await service().db.rows(sql`UPDATE api_key SET hash = ${hash}, origin = ${origin} WHERE id = ${id}`)
        const before = await service().startProcess('before')
        const { key } = (await before.as(chosen).post(`${KEYS}/${id}/rotate`, {})).body
        const after = await service().startProcess('after')
        for (const process of [before, after])
          for (const raw of [chosen, key]) expect((await process.as(raw).get(KEYS)).status).toBe(200)
      })

      test('R61 what is over is forgotten', async () => {
        const home = await service().newProject()
        const { id } = await make(home)
        await rotate(home, id, { overlap_seconds: 1 })
        const previous = async () =>
          (
            await service().db.rows<{ previous_hash: string | null }>(sql`
            SELECT previous_hash FROM api_key WHERE id = ${id}`)
          )[0]?.previous_hash
        await service().housekeep('end keys')
        expect(await previous()).toEqual(expect.any(String))
        service().clock.advance(SECOND_MS)
        await service().housekeep('end keys')
        expect(await previous()).toBeNull()
      })
    })

    describe('R63 allowed_cidrs', () => {
      test.each([
        ['203.0.113.7', '203.0.113.0/24', '203.0.114.7'],
        ['::ffff:203.0.113.7', '203.0.113.7/32', '203.0.113.8'],
        ['2001:db8::7', '2001:db8::7/128', '2001:db8::8'], // an address, not its /64
        ['2001:db8:1:2::9', '2001:db8:1::/48', '2001:db8:2::9'],
      ])('R63 from %s a key for %s works, from %s it is unknown and unused', async (inside, cidr, outside) => {
        const home = await service().newProject()
        const { id, key, allowed_cidrs } = await make(home, { allowed_cidrs: [cidr, '192.0.2.0/24'] })
        expect(allowed_cidrs).toEqual([cidr, '192.0.2.0/24'])
        const refused = await use(key, from(outside))
        const unknown = await use(key.replace(/.{6}$/, 'aaaaaa'), from(outside))
        expect([refused.status, refused.bytes.equals(unknown.bytes)]).toEqual([401, true])
        expect(await found(home, id)).not.toHaveProperty('last_used_at')
        expect((await use(key, from(inside))).status).toBe(200)
        expect((await use(key, from(`${inside}, ${outside}`))).status).toBe(401) // only what the proxy saw counts
      })

      test('R63 a change holds for the next request', async () => {
        const home = await service().newProject()
        const { id, key } = await make(home)
        await home.patch(`${KEYS}/${id}`, { allowed_cidrs: ['203.0.113.0/24'] })
        expect((await use(key)).status).toBe(401)
        await home.patch(`${KEYS}/${id}`, { allowed_cidrs: null })
        expect((await use(key)).status).toBe(200)
      })

      test.each([
        ['an address alone', ['10.0.0.1']],
        ['too many bits', ['10.0.0.0/33']],
        ['a name', ['office/8']],
        ['an empty list', []],
        ['a text', '10.0.0.0/8'],
        ['a number in it', [7]],
      ])('R63 400 on %s, and nothing is stored', async (_case, allowed_cidrs) => {
        const home = await service().newProject()
        const answer = await service().storingNothing(() => home.post(KEYS, { name: 'ci', allowed_cidrs }))
        expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining('allowed_cidrs')])
      })
    })

    describe('PATCH /v2/api-keys/{key_id}', () => {
      test('R60 changes what is named, clears with null, leaves the rest', async () => {
        const home = await service().newProject()
        const terms = { expires_at: LATER(60, now()), allowed_models: ['a', 'b*'], allowed_cidrs: ['127.0.0.0/8'] }
        const { key: _key, ...made } = await make(home, terms)
        expect(made).toMatchObject(terms)
        const change = async (body: object) => (await home.patch(`${KEYS}/${made.id}`, body)).body
        expect(await change({})).toEqual(made)
        expect(await change({ name: '  other ' })).toEqual({ ...made, name: 'other' })
        const { allowed_models: _models, ...rest } = made
        expect(await change({ allowed_models: null })).toEqual({ ...rest, name: 'other' })
        expect(await change({ allowed_models: ['c', 'c'] })).toMatchObject({ allowed_models: ['c'], name: 'other' })
      })

      test.each([
        ['a blank name', { name: ' ' }],
        ['null for a name', { name: null }],
        ['a past end', { expires_at: rfc3339(NOON - 1) }],
        ['an asterisk in the middle', { allowed_models: ['gpt-*-mini'] }],
        ['an empty model', { allowed_models: [''] }],
        ['a NUL', { allowed_models: ['a\0'] }],
        ['no network', { allowed_cidrs: ['x'] }],
      ])('R60 400 on %s, and nothing is stored', async (_case, body) => {
        const home = await service().newProject()
        const { id } = await make(home)
        expect((await service().storingNothing(() => home.patch(`${KEYS}/${id}`, body))).status).toBe(400)
      })

      test('R3 only for an admin', async () => {
        const home = await service().newProject()
        const { id, key } = await make(home)
        expect((await service().as(key).patch(`${KEYS}/${id}`, { name: 'x' })).status).toBe(403)
      })
    })
  },
  { parts: { settings: limitSettings({}) } },
)
