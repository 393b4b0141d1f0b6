// R13, R52: what a heartbeat tells is kept as far as it can be understood, and never refused.
import fc from 'fast-check'
import { Value } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { epochsRaised, projectIn } from '../../test/support/projects.ts'
import { withService } from '../../test/support/service.ts'
import { rfc3339 } from '../core/clock.ts'
import { registerCluster, SILENCE_MS } from './cluster.ts'
import { clusterStore } from './cluster-store.ts'
import { ClusterTelemetry, telemetryOf } from './cluster-telemetry.ts'

const FULL = {
  sequence: 812,
  agent_version: '0.4.1',
  interval_s: 15,
  drain_deadline_s: 600,
  models: [
    { id: 'llama-3.3-70b', context_length: 131_072, replicas_ready: 3, kv_bytes_per_token: 327_680, loras: ['a'] },
  ],
  capacity: { replicas_ready: 3, replicas_desired: 4, max_concurrency: 256, gpu_type: 'h100_sxm', gpu_count: 24 },
  load: { running: 41, waiting: 3, kv_utilization: 0.62, ttft_p95_ms: 900.5, preemptions: 0 },
  cache_tiers: [{ name: 'host_ram', capacity_bytes: 0, read_gbps: 38.2, lookup_ms: 0.4, hit_rate: 0.5 }],
  epp: { address: 'epp.example:9002', healthy: true },
}

const told = (more: object) => {
  const { reported_at: _, ...report } = telemetryOf({ status: 'active', ...more }, NOON) ?? { reported_at: '' }
  return report
}

test('R13 a full report is kept whole, with the time at which it was heard', () => {
  expect(telemetryOf({ status: 'active', ...FULL }, NOON)).toEqual({ ...FULL, reported_at: rfc3339(NOON) })
})

test('R13 a heartbeat that tells nothing has no telemetry', () => {
  for (const more of [{}, { queue: 1 }, { models: 'many' }, { load: {} }, { load: { running: -1 } }])
    expect(telemetryOf({ status: 'active', ...more }, NOON)).toBeUndefined()
})

test.each([
  ['a number as text', { sequence: '1', interval_s: 15 }, { interval_s: 15 }],
  ['a number out of bounds', { load: { running: 1, kv_utilization: 62 } }, { load: { running: 1 } }],
  ['a fraction of a request', { load: { running: 1.5, waiting: 2 } }, { load: { waiting: 2 } }],
  ['infinity', { load: { ttft_p95_ms: Number.POSITIVE_INFINITY, running: 0 } }, { load: { running: 0 } }],
  ['a list for an object', { load: [1], sequence: 1 }, { sequence: 1 }],
  ['null', { load: null, capacity: null, models: null, sequence: 1 }, { sequence: 1 }],
  ['models without an id', { models: [{ context_length: 1 }, { id: 'm' }, 7, null] }, { models: [{ id: 'm' }] }],
  ['a model with a wrong length', { models: [{ id: 'm', context_length: 'long' }] }, { models: [{ id: 'm' }] }],
  ['a LoRA that is no text', { models: [{ id: 'm', loras: [1, 'a'] }] }, { models: [{ id: 'm', loras: ['a'] }] }],
  [
    'a name that the store could not hold',
    { models: [{ id: 'a\0' }, { id: '\ud800' }, { id: 'm' }] },
    { models: [{ id: 'm' }] },
  ],
  ['a name that is too long', { agent_version: 'x'.repeat(257), sequence: 1 }, { sequence: 1 }],
  ['an empty list of models, which says that it serves none', { models: [] }, { models: [] }],
  ['models that are all nonsense, which say nothing', { models: ['llama'], sequence: 1 }, { sequence: 1 }],
  ['a field that nobody knows', { load: { running: 1, mood: 'good' } }, { load: { running: 1 } }],
])('R13 %s is dropped and the rest kept', (_case, more, kept) => {
  expect(told(more)).toEqual(kept)
})

test('R13 lists are bounded', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => ({ id: `m${n}`, name: `t${n}` }))
  expect(told({ models: many(1_001), cache_tiers: many(17) })).toMatchObject({
    models: { length: 1_000 },
    cache_tiers: { length: 16 },
  })
})

test('R13 whatever a heartbeat holds, what is kept has the documented form', () => {
  const field = fc.constantFrom(...Object.keys(FULL), ...Object.keys(FULL.load), ...Object.keys(FULL.models[0] ?? {}))
  const report = fc.dictionary(
    field,
    fc.oneof(fc.jsonValue(), fc.dictionary(field, fc.jsonValue()), fc.array(fc.dictionary(field, fc.jsonValue()))),
  )
  fc.assert(
    fc.property(report, (more) => {
      const telemetry = telemetryOf(more, NOON)
      const shown = { id: 'byc_1', object: 'byoc_cluster.telemetry', reported_at: null, ...telemetry }
      expect(Value.Check(ClusterTelemetry, shown)).toBe(true)
    }),
  )
})

withDb((db) => {
  const store = () => clusterStore(db())

  async function cluster(project_id: string) {
    const made = registerCluster(project_id, { name: 'atlas', region: 'eu' }, NOON)
    await store().insert(made, NOON)
    return made
  }

  test('R13 what was told stands until something else is told', async () => {
    const { project_id, id } = await cluster(await projectIn(db()))
    expect(await store().findTelemetry(project_id, id)).toEqual({ telemetry: undefined })
    const telemetry = telemetryOf(FULL, NOON)
    await store().recordHeartbeat(project_id, id, { status: 'active', telemetry }, NOON)
    await store().recordHeartbeat(project_id, id, { status: 'draining' }, NOON + 1)
    expect(await store().findTelemetry(project_id, id)).toEqual({ telemetry })
    const next = telemetryOf({ models: [{ id: 'other' }] }, NOON + 2)
    await store().recordHeartbeat(project_id, id, { status: 'active', telemetry: next }, NOON + 2)
    const [reported] = await store().listReported(project_id)
    expect([reported?.cluster.status, reported?.telemetry]).toEqual(['active', next])
  })

  test('R40 whatever happens to a cluster raises its project’s routing epoch, and a refusal does not', async () => {
    const [project_id, stranger] = [await projectIn(db()), await projectIn(db())]
    const raised = (work: () => Promise<unknown>) => epochsRaised(db(), project_id, work)
    const others = (work: () => Promise<unknown>) => epochsRaised(db(), stranger, work)
    const made = registerCluster(project_id, { name: 'atlas', region: 'eu' }, NOON)
    const beat = (on: string) => store().recordHeartbeat(on, made.id, { status: 'active' }, NOON)
    expect(await raised(() => store().insert(made, NOON))).toBe(1)
    expect(await raised(() => beat(project_id))).toBe(1)
    expect(await others(() => beat(stranger))).toBe(0)
    expect(await others(() => raised(() => store().sweepSilent(NOON + SILENCE_MS - 1)))).toBe(0)
    expect(await raised(() => store().sweepSilent(NOON + SILENCE_MS))).toBe(1)
    expect(await raised(() => store().sweepSilent(NOON + SILENCE_MS))).toBe(0)
    expect(await others(() => store().remove(stranger, made.id, NOON))).toBe(0)
    expect(await raised(() => store().remove(project_id, made.id, NOON))).toBe(1)
    expect(await raised(() => store().remove(project_id, made.id, NOON))).toBe(0)
  })
})

describe('R13 GET /v2/byoc/clusters/{cluster_id}/telemetry', () => {
  const CLUSTERS = '/v2/byoc/clusters'

  withService((service) => {
    test('R13 200: nothing yet, then what was told; the cluster itself does not show it', async () => {
      const { post, get } = await service().newProject()
      const { id } = (await post(CLUSTERS, { name: 'atlas', region: 'eu' })).body
      const url = `${CLUSTERS}/${id}/telemetry`
      const object = 'byoc_cluster.telemetry'
      expect((await get(url)).body).toEqual({ id, object, reported_at: null })
      const { body } = await post(`${CLUSTERS}/${id}/heartbeat`, { status: 'active', ...FULL, mood: 'good' })
      expect(body).not.toHaveProperty('models')
      expect((await get(url)).body).toEqual({ id, object, reported_at: service().clock.rfc3339(), ...FULL })
      expect((await get(`${CLUSTERS}/${id}`)).body).toEqual(body)
    })

    test('§5.8 404 on another project’s cluster, and on an unknown one', async () => {
      const [home, other] = [await service().newProject(), await service().newProject()]
      const { id } = (await other.post(CLUSTERS, { name: 'atlas', region: 'eu' })).body
      for (const one of [id, 'byc_unknown']) expect((await home.get(`${CLUSTERS}/${one}/telemetry`)).status).toBe(404)
    })
  })
})
