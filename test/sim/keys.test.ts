// §2.1, §3.2, §4.1–4.4, §5: the life of API keys, as a model.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MINUTE_MS } from '../../src/core/clock.ts'
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

const shown = ({ id, scopes, status, budget_micros, last_used_at }: ModelKey) => ({
  id,
  scopes,
  status,
  budget_micros,
  last_used_at,
})

/** The key that `pick` names, and what a route for `needed` must answer it: undefined where it lets it in. */
function actor(model: Model, service: TestService, pick: number, needed: Scope) {
  const key = model.keys[pick % model.keys.length] as ModelKey
  const granted = Math.max(...key.scopes.map((scope) => RANK[scope]))
  const refused = key.status === 'revoked' ? 401 : granted < RANK[needed] ? 403 : undefined
  if (refused !== 401) key.last_used_at = service.clock.rfc3339()
  return { key, refused, ...service.as(key.raw) }
}

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
      expect(shown(body)).toEqual(shown(model.keys.at(-1) as ModelKey))
    }),
)

const revoke = fc.tuple(by, pick).map(
  ([who, whom]): Cmd =>
    command(`revoke(${who}, ${whom})`, async (model, real) => {
      const { refused, del } = actor(model, real.service, who, 'admin')
      const { id, key } = target(model, real, whom)
      expect((await del(`${KEYS}/${id}`)).status).toBe(refused ?? (key ? 200 : 404))
      if (key && !refused) key.status = 'revoked'
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
      expect(shown(body)).toEqual(shown(key))
    }),
)

const list = by.map(
  (who): Cmd =>
    command(`list(${who})`, async (model, { service }) => {
      const { refused, get } = actor(model, service, who, 'read')
      const { status, body } = await get(KEYS)
      expect(status).toBe(refused ?? 200)
      if (!refused) expect(body.data.map(shown)).toEqual(model.keys.map(shown).reverse())
    }),
)

const advance = fc
  .constantFrom(1, 999, 60_000)
  .map((ms): Cmd => command(`advance(${ms})`, async (_model, { service }) => service.clock.advance(ms)))

const flush = fc.constant(command<Model, Real>('flush()', (_model, { service }) => service.housekeep('write key use')))

const simulation = (service: TestService): Simulation<Model, Real> => ({
  name: 'keys',
  commands: [create, revoke, budget, list, list, advance, flush],
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
      ['uses that are written to nobody', /WHERE id = $/, "WHERE '' = "],
    ])('§5 planted: %s is noticed', async (_bug, from, to) => {
      const tampering: Tampering = {}
      const broken = await startService({ tampering })
      mutateSql(tampering, from, to)
      expect(await notices(simulation(broken))).toBe(true)
    })
})
