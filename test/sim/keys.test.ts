// §2.1, §3.2, §4.1–4.4, §5, R60, R61: the life of API keys, as a model.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MINUTE_MS, rfc3339, SECOND_MS } from '../../src/core/clock.ts'
import type { Scope } from '../../src/core/scopes.ts'
import { ENGINE } from '../support/databases.ts'
import { startService, type TestProject, type TestService, withService } from '../support/service.ts'
import { type Command, command, notices, type Simulation, simulate } from '../support/sim.ts'
import { mutateSql, type Tampering } from '../support/tampered-db.ts'

const KEYS = '/v2/api-keys'
const RANK = { read: 0, inference: 1, admin: 2 }

interface ModelKey {
  id: string
  raw: string
  /** The secret before the last rotation, and when it ends. */
  previous?: { raw: string; until_ms: number }
  expires_ms?: number
  scopes: Scope[]
  status: 'active' | 'revoked'
  budget_micros?: number
  last_used_at?: string
}

/** Every key of the project in order of creation; the first is the one it was founded with. */
interface Model {
  keys: ModelKey[]
}

interface Real {
  service: TestService
  stranger: TestProject
}

type Shown = Omit<ModelKey, 'raw' | 'previous' | 'expires_ms'> & { expires_at?: string }

const shown = ({ id, scopes, status, budget_micros, last_used_at, expires_at }: Shown) => ({
  id,
  scopes,
  status,
  budget_micros,
  last_used_at,
  expires_at,
})

const wanted = (key: ModelKey) =>
  shown({ ...key, ...(key.expires_ms !== undefined && { expires_at: rfc3339(key.expires_ms) }) })

/** The key that `pick` names, and what a route for `needed` must answer it: undefined where it lets it in. */
function actor(model: Model, service: TestService, pick: number, needed: Scope) {
  const key = model.keys[pick % model.keys.length] as ModelKey
  const { raw, until_ms } = (pick % 2 === 1 && key.previous) || { raw: key.raw, until_ms: Number.MAX_VALUE }
  const now = service.clock.now()
  const ended = key.status === 'revoked' || (key.expires_ms ?? Number.MAX_VALUE) <= now || until_ms <= now
  const granted = Math.max(...key.scopes.map((scope) => RANK[scope]))
  const refused = ended ? 401 : granted < RANK[needed] ? 403 : undefined
  if (refused !== 401) key.last_used_at = service.clock.rfc3339()
  return { key, refused, ...service.as(raw) }
}

/** R74: no other key of the project could do what this one does. */
const isLastAdmin = ({ keys }: Model, self: ModelKey, now: number) =>
  !keys.some(
    ({ id, status, scopes, expires_ms = Number.MAX_VALUE }) =>
      id !== self.id && status === 'active' && scopes.includes('admin') && expires_ms > now,
  )

/** A key of this project, of another one, or of none. */
function target(model: Model, { stranger }: Real, pick: number): { id: string; key?: ModelKey } {
  if (pick === 0) return { id: 'key_unknown' }
  if (pick === 1) return { id: stranger.key_id }
  const key = model.keys[pick % model.keys.length] as ModelKey
  return { id: key.id, key }
}

const by = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(9) })
const pick = fc.nat(9)
const scopes = fc.subarray<Scope>(['read', 'inference', 'admin'], { minLength: 1 })
type Cmd = Command<Model, Real>

const create = fc.tuple(by, scopes).map(
  ([who, granted]): Cmd =>
    command(`create(${who}, ${granted})`, async (model, { service }) => {
      const { refused, post } = actor(model, service, who, 'admin')
      const { status, body } = await post(KEYS, { name: 'k', scopes: granted })
      expect(status).toBe(refused ?? 200)
      if (refused) return
      model.keys.push({ id: body.id, raw: body.key, scopes: granted, status: 'active' })
      expect(shown(body)).toEqual(wanted(model.keys.at(-1) as ModelKey))
    }),
)

const revoke = fc.tuple(by, pick).map(
  ([who, whom]): Cmd =>
    command(`revoke(${who}, ${whom})`, async (model, real) => {
      const { key: self, refused, del } = actor(model, real.service, who, 'admin')
      const { id, key } = target(model, real, whom)
      const last = key === self && isLastAdmin(model, self, real.service.clock.now())
      expect((await del(`${KEYS}/${id}`)).status).toBe(refused ?? (last ? 400 : key ? 200 : 404))
      if (key && !refused && !last) key.status = 'revoked'
    }),
)

const budget = fc.tuple(by, pick, fc.constantFrom(0, 8.2, 5, null, undefined, -1, 1e-7)).map(
  ([who, whom, limit_usd]): Cmd =>
    command(`budget(${who}, ${whom}, ${limit_usd})`, async (model, real) => {
      const { refused, post } = actor(model, real.service, who, 'admin')
      const { id, key } = target(model, real, whom)
      const { status, body } = await post(`${KEYS}/${id}/budget`, { limit_usd })
      const invalid = limit_usd === -1 || limit_usd === 1e-7
      expect(status).toBe(refused ?? (invalid ? 400 : key ? 200 : 404))
      if (!key || status !== 200) return
      if (limit_usd === null) delete key.budget_micros
      else if (limit_usd !== undefined) key.budget_micros = Math.round(limit_usd * 1e6)
      expect(shown(body)).toEqual(wanted(key))
    }),
)

const expire = fc.tuple(by, pick, fc.constantFrom(null, 1, 999, 60_000, 0)).map(
  ([who, whom, in_ms]): Cmd =>
    command(`expire(${who}, ${whom}, ${in_ms})`, async (model, real) => {
      const { key: self, refused, patch } = actor(model, real.service, who, 'admin')
      const { id, key } = target(model, real, whom)
      const expires_ms = in_ms === null ? undefined : real.service.clock.now() + in_ms
      const expires_at = expires_ms === undefined ? null : rfc3339(expires_ms)
      const { status, body } = await patch(`${KEYS}/${id}`, { expires_at })
      const sooner = expires_ms !== undefined && expires_ms < (key?.expires_ms ?? Number.MAX_VALUE)
      const last = sooner && key === self && isLastAdmin(model, self, real.service.clock.now())
      expect(status).toBe(refused ?? (key ? (in_ms === 0 || last ? 400 : 200) : 404))
      if (!key || status !== 200) return
      if (expires_ms === undefined) delete key.expires_ms
      else key.expires_ms = expires_ms
      expect(shown(body)).toEqual(wanted(key))
    }),
)

const rotate = fc.tuple(by, pick, fc.constantFrom(0, 1, 60)).map(
  ([who, whom, overlap_seconds]): Cmd =>
    command(`rotate(${who}, ${whom}, ${overlap_seconds})`, async (model, real) => {
      const { refused, post } = actor(model, real.service, who, 'admin')
      const { id, key } = target(model, real, whom)
      const now = real.service.clock.now()
      const ended = key?.status === 'revoked' || (key?.expires_ms ?? Number.MAX_VALUE) <= now
      const { status, body } = await post(`${KEYS}/${id}/rotate`, { overlap_seconds })
      expect(status).toBe(refused ?? (key ? (ended ? 400 : 200) : 404))
      if (!key || status !== 200) return
      key.previous = { raw: key.raw, until_ms: now + overlap_seconds * SECOND_MS }
      key.raw = body.key
      expect(shown(body)).toEqual(wanted(key))
    }),
)

const list = by.map(
  (who): Cmd =>
    command(`list(${who})`, async (model, { service }) => {
      const { refused, get } = actor(model, service, who, 'read')
      const { status, body } = await get(KEYS)
      expect(status).toBe(refused ?? 200)
      if (!refused) expect(body.data.map(shown)).toEqual(model.keys.map(wanted).reverse())
    }),
)

const advance = fc
  .constantFrom(1, 999, 60_000)
  .map((ms): Cmd => command(`advance(${ms})`, async (_model, { service }) => service.clock.advance(ms)))

const flush = fc.constant(command<Model, Real>('flush()', (_model, { service }) => service.housekeep('write key use')))

const sweep = fc.constant(command<Model, Real>('sweep()', (_model, { service }) => service.housekeep('end keys')))

const simulation = (service: TestService): Simulation<Model, Real> => ({
  name: 'keys',
  commands: [create, revoke, budget, expire, rotate, list, list, advance, flush, sweep],
  async start() {
    service.clock.advance(MINUTE_MS) // no history uses up what another may ask
    const [home, stranger] = [await service.newProject(), await service.newProject()]
    const first: ModelKey = { id: home.key_id, raw: home.key, scopes: ['admin'], status: 'active' }
    return { model: { keys: [first] }, real: { service, stranger } }
  },
})

withService((service) => {
  test('§3.2, §5 random lives of keys are what the model says', async () => {
    await simulate(simulation(service()))
  })

  // What the model can notice does not depend on the engine.
  if (ENGINE === 'sqlite')
    test.each<[string, string | RegExp, string]>([
      ['a revocation that only marks', /, hash = NULL| AND k.status = 'active'/, ''],
      ['a revocation in any project', /hash = NULL\s+WHERE project_id = $/, "hash = NULL WHERE '' <> "],
      ['a budget for every key of the project', /AND id = $/, "AND '' <> "],
      ['a list in another order', 'ORDER BY sequence DESC', 'ORDER BY id DESC'],
      ['an end that nobody looks at', 'k.expires_at IS NULL OR', '1 = 1 OR'],
      ['a secret of before that never ends', 'AND k.previous_expires_at > ', 'AND 0.5 < '],
      ['a rotation that leaves the oldest', 'hash ELSE NULL', 'previous_hash ELSE hash'],
      ['uses that are written to nobody', /WHERE id = $/, "WHERE '' = "],
    ])('§5 planted: %s is noticed', async (_bug, from, to) => {
      const tampering: Tampering = {}
      const broken = await startService({ tampering })
      mutateSql(tampering, from, to)
      expect(await notices(simulation(broken))).toBe(true)
    })
})
