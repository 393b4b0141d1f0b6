// §2.3, §3.1, R11, R13: the life of clusters, as a model.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MINUTE_MS, rfc3339 } from '../../src/core/clock.ts'
import { ENGINE } from '../support/databases.ts'
import { startService, type TestProject, type TestService, withService } from '../support/service.ts'
import { type Command, command, notices, type Simulation, simulate } from '../support/sim.ts'
import { mutateSql, type Tampering } from '../support/tampered-db.ts'

const CLUSTERS = '/v2/byoc/clusters'

interface ModelCluster {
  id: string
  owner: number
  name: string
  status: string
  created_at: string
  updated_at: string
  last_heartbeat_at: string | null
}

interface Model {
  /** In order of registration; what was deregistered stays for later commands to try. */
  clusters: (ModelCluster & { gone: boolean })[]
}

interface Real {
  service: TestService
  projects: [TestProject, TestProject]
}

const shown = ({ id, name, status, created_at, updated_at, last_heartbeat_at }: ModelCluster) => ({
  id,
  name,
  status,
  created_at,
  updated_at,
  last_heartbeat_at,
})
const visible = (model: Model, by: number) => model.clusters.filter(({ owner, gone }) => owner === by && !gone)

/** The cluster that `pick` names, as far as project `by` can see it. */
function target(model: Model, by: number, pick: number) {
  const one = model.clusters[pick % Math.max(1, model.clusters.length)]
  return { id: one?.id ?? 'byc_unknown', cluster: one && one.owner === by && !one.gone ? one : undefined }
}

const who = fc.constantFrom(0, 0, 0, 1) // mostly the owner, sometimes a stranger
const pick = fc.nat(3)
type Cmd = Command<Model, Real>

const register = fc.tuple(who, fc.constantFrom('a', 'b', ' padded ', '')).map(
  ([by, name]): Cmd =>
    command(`register(${by}, ${JSON.stringify(name)})`, async (model, { service, projects }) => {
      const { status, body } = await projects[by as 0].post(CLUSTERS, { name, region: 'eu' })
      expect(status).toBe(name === '' ? 400 : 200)
      if (status !== 200) return
      const at = service.clock.rfc3339()
      const times = { created_at: at, updated_at: at, last_heartbeat_at: null }
      model.clusters.push({ id: body.id, owner: by, name: name.trim(), status: 'registering', gone: false, ...times })
      expect(body).toMatchObject(shown(target(model, by, model.clusters.length - 1).cluster as ModelCluster))
    }),
)

const heartbeat = fc.tuple(who, pick, fc.constantFrom('active', 'draining', 'down', 'registering')).map(
  ([by, at, reported]): Cmd =>
    command(`heartbeat(${by}, ${at}, ${reported})`, async (model, { service, projects }) => {
      const { id, cluster } = target(model, by, at)
      const { status, body } = await projects[by as 0].post(`${CLUSTERS}/${id}/heartbeat`, { status: reported })
      if (reported === 'registering') return void expect(status).toBe(400)
      expect(status).toBe(cluster ? 200 : 404)
      if (!cluster) return
      const now = service.clock.rfc3339()
      Object.assign(cluster, { status: reported, updated_at: now, last_heartbeat_at: now })
      expect(body).toMatchObject(shown(cluster))
    }),
)

const retrieve = fc.tuple(who, pick).map(
  ([by, at]): Cmd =>
    command(`retrieve(${by}, ${at})`, async (model, { projects }) => {
      const { id, cluster } = target(model, by, at)
      const { status, body } = await projects[by as 0].get(`${CLUSTERS}/${id}`)
      expect(status).toBe(cluster ? 200 : 404)
      if (cluster) expect(body).toMatchObject(shown(cluster))
    }),
)

const deregister = fc.tuple(who, pick).map(
  ([by, at]): Cmd =>
    command(`deregister(${by}, ${at})`, async (model, { projects }) => {
      const { id, cluster } = target(model, by, at)
      expect((await projects[by as 0].del(`${CLUSTERS}/${id}`)).status).toBe(cluster ? 200 : 404)
      if (cluster) Object.assign(cluster, { gone: true })
    }),
)

async function expectList(model: Model, { projects }: Real, by: number): Promise<void> {
  const { data } = (await projects[by as 0].get(CLUSTERS)).body
  expect(data.map(shown)).toEqual(visible(model, by).map(shown).reverse())
}

const list = who.map((by): Cmd => command(`list(${by})`, (model, real) => expectList(model, real, by)))

const advance = fc
  .constantFrom(1, 30_000, 45_000, 89_999, 90_000, 90_001)
  .map((ms): Cmd => command(`advance(${ms})`, async (_model, { service }) => service.clock.advance(ms)))

const sweep = fc.constant(
  command<Model, Real>('sweep()', async (model, real) => {
    const { service } = real
    await service.housekeep('sweep silent clusters')
    const limit = rfc3339(service.clock.now() - 90_000)
    for (const cluster of model.clusters)
      if (!cluster.gone && /active|draining/.test(cluster.status) && (cluster.last_heartbeat_at ?? '') <= limit)
        Object.assign(cluster, { status: 'down', updated_at: service.clock.rfc3339() })
    await expectList(model, real, 0)
  }),
)

const simulation = (service: TestService): Simulation<Model, Real> => ({
  name: 'clusters',
  commands: [register, heartbeat, heartbeat, retrieve, deregister, list, advance, sweep, sweep],
  async start() {
    service.clock.advance(MINUTE_MS) // no history uses up what another may ask
    const projects: Real['projects'] = [await service.newProject(), await service.newProject()]
    return { model: { clusters: [] }, real: { service, projects } }
  },
})

withService((service) => {
  test('§3.1, R13 random lives of clusters are what the model says', async () => {
    await simulate(simulation(service()))
  })

  // What the model can notice does not depend on the engine.
  if (ENGINE === 'sqlite')
    test.each<[string, string | RegExp, string]>([
      ['a sweep that is blind to the draining', "('active', 'draining')", "('active')"],
      ['a sweep that takes the registering too', "status IN ('active', 'draining') AND", "status <> 'down' OR"],
      [
        'a deletion in any project',
        /DELETE FROM byoc_cluster WHERE project_id = $/,
        "DELETE FROM byoc_cluster WHERE '' <> ",
      ],
      ['a list in another order', 'ORDER BY sequence DESC', 'ORDER BY id DESC'],
    ])('R13 planted: %s is noticed', async (_bug, from, to) => {
      const tampering: Tampering = {}
      const broken = await startService({ tampering })
      mutateSql(tampering, from, to)
      expect(await notices(simulation(broken))).toBe(true)
    })
})
