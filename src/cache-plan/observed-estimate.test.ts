// §4.9 with `cluster_id`: fitted from the project's own events on that cluster, tiers from its telemetry; and what a
// cluster's cache saved and missed.
import { expect, test } from 'vitest'
import { type TestProject, withService } from '../../test/support/service.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { rfc3339 } from '../core/clock.ts'
import type { TraceFacts } from '../usage/trace.ts'
import { usageStore } from '../usage/usage-store.ts'

const ESTIMATE = '/v2/byoc/hicache-estimate'
const MODEL = 'our-own-70b'
const MS_PER_TOKEN = 0.08
const FIXED_MS = 60

const HEARTBEAT = {
  status: 'active',
  models: [{ id: MODEL, kv_bytes_per_token: 327_680 }],
  cache_tiers: [{ name: 'host_ram', capacity_bytes: 1e12, read_gbps: 40, lookup_ms: 1, queue_delay_ms: 2 }],
}

function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

withService((service) => {
  async function clusterOf(home: TestProject, report: object = HEARTBEAT): Promise<string> {
    const asked = { name: 'own', region: 'eu', endpoint: 'https://own.example/v1', orchestrator: 'none' }
    const { body } = await home.post('/v2/byoc/clusters', asked)
    await home.post(`/v2/byoc/clusters/${body.id}/heartbeat`, report)
    return body.id
  }

  /** Streamed calls; every third repeats a prompt, and every sixth misses it. */
  async function calls(home: TestProject, cluster_id: string, count: number, msOf = truth): Promise<void> {
    const next = random(count)
    for (let at = 0; at < count; at++) {
      const input_tokens = 1_000 + Math.floor(next() * 30_000)
      const repeated = at % 3 === 0 ? Math.floor(input_tokens / 2) : 0
      const cached_tokens = at % 6 === 0 ? 0 : repeated
      const event = usageEvent(home.project.id, {
        ...{ cluster_id, resolved_model: MODEL, input_tokens, cached_tokens, repeated_tokens_est: repeated },
        ...{ missed_reuse_tokens: repeated - cached_tokens, session_id: `ses_${at % 4}`, queue_ms: 25, attempts: [] },
        bundle_id: at % 4 === 0 ? `bnd_${at % 36}` : null,
        created_at: rfc3339(service().clock.now() - 1_000 - at),
        ttft_ms: Math.round(25 + msOf(input_tokens - cached_tokens, next)),
      })
      const facts: TraceFacts = { stream: true, keyed: false, fallback_used: false, prefix_hash: `hash${at % 2}` }
      await usageStore(service().db).insert(event, facts)
    }
  }

  const truth = (tokens: number, next: () => number) => (FIXED_MS + MS_PER_TOKEN * tokens) * (0.85 + 0.3 * next())

  test('§4.9 500 events with noise: the estimate is observed, within 10 % of the truth; its tiers are reported', async () => {
    const home = await service().newProject()
    const cluster_id = await clusterOf(home)
    await calls(home, cluster_id, 500)
    const asked = { cluster_id, model: MODEL, prefix_tokens: 16_384 }
    const { status, body } = await service().storingNothing(() => home.post(ESTIMATE, asked))
    expect([status, body.basis, body.observed.state, body.observed.events]).toEqual([200, 'observed', 'observed', 500])
    expect(Math.abs(body.expected_recompute_ms / (FIXED_MS + MS_PER_TOKEN * 16_384) - 1)).toBeLessThan(0.1)
    expect(body.recompute_margin_pct).toBe(body.observed.margin_pct)
    expect(body.kv_bytes).toBe(327_680 * 16_384)
    expect(body.tiers[0]).toMatchObject({
      name: 'host_ram',
      lookup_ms: 1,
      basis: { lookup: 'observed', transfer: 'observed' },
    })
    expect(body.tiers[0].transfer_ms).toBeCloseTo((327_680 * 16_384) / 40e6, 1)
    expect(body.observed.is_within_range).toBe(true)
  })

  test('§4.9 too few or contradictory events are told, and the tables stand in', async () => {
    const home = await service().newProject()
    const few = await clusterOf(home)
    await calls(home, few, 10)
    const known = { model: 'llama-3.1-70b', gpu: { type: 'h100_sxm', count: 4 }, prefix_tokens: 8_192 }
    const plain = await home.post(ESTIMATE, { ...known, tiers: [{ name: 'host_ram' }] })
    const { body } = await home.post(ESTIMATE, { ...known, cluster_id: few, tiers: [{ name: 'host_ram' }] })
    expect([body.basis, body.observed.state]).toEqual(['derived', 'too_few'])
    expect(body.expected_recompute_ms).toBe(plain.body.expected_recompute_ms)
    const wild = await clusterOf(home)
    await calls(home, wild, 200, (_tokens, next) => 10 + 5_000 * next())
    const figures = { model_figures: { kv_bytes_per_token: 1_000, active_parameters_billions: 8 }, gpu: known.gpu }
    const told = await home.post(ESTIMATE, { ...figures, model: MODEL, cluster_id: wild, prefix_tokens: 8_192 })
    expect([told.body.basis, told.body.observed.state]).toEqual(['derived', 'contradictory'])
  })

  test('§4.9 400 names what neither the request nor the cluster tells; 404 for another project’s cluster', async () => {
    const home = await service().newProject()
    const cluster_id = await clusterOf(home, { status: 'active' })
    const { status, body } = await home.post(ESTIMATE, { cluster_id, model: MODEL, prefix_tokens: 8_192 })
    expect([status, body.error.message]).toEqual([400, expect.stringContaining("'tiers'")])
    const other = await service().newProject()
    expect((await other.post(ESTIMATE, { cluster_id, model: MODEL, prefix_tokens: 1 })).status).toBe(404)
    expect((await other.get(`/v2/byoc/clusters/${cluster_id}/cache`)).status).toBe(404)
  })

  test('§4.9 a cluster’s cache: what was reused and missed, by whom, and what to do', async () => {
    const home = await service().newProject()
    const cluster_id = await clusterOf(home)
    await calls(home, cluster_id, 300)
    const { get } = service().as(await home.keyWith('read'))
    const { status, body } = await service().storingNothing(() => get(`/v2/byoc/clusters/${cluster_id}/cache`))
    expect([status, body.object, body.events, body.models[0].model]).toEqual([200, 'byoc_cluster.cache', 300, MODEL])
    expect(body.cached_tokens + body.missed_tokens).toBe(body.repeated_tokens_est)
    expect(body.gpu_seconds_saved).toBeCloseTo((body.cached_tokens * MS_PER_TOKEN) / 1_000, -1)
    expect(body.prefixes.map(({ prefix_hash }: { prefix_hash: string }) => prefix_hash)).toEqual(['hash0'])
    expect(body.sessions.length).toBeGreaterThan(0)
    // Of every 36 calls, those at 0, 12 and 24 have a bundle and miss.
    expect(body.bundles.map((one: { bundle_id: string }) => one.bundle_id).sort()).toEqual([
      'bnd_0',
      'bnd_12',
      'bnd_24',
    ])
    const [most, , least] = body.bundles
    expect(most.missed_tokens).toBeGreaterThanOrEqual(least.missed_tokens)
    const { bundle_id, missed_reuse_tokens } = (await get(`/v2/usage?trace_id=${most.example_trace_id}`)).body.data[0]
    expect([bundle_id, missed_reuse_tokens > 0]).toEqual([most.bundle_id, true])
    expect(body.advice).toMatchObject({ recommendation: 'activate_tier', tier: 'host_ram' })
    const idle = await clusterOf(home)
    const { body: nothing } = await get(`/v2/byoc/clusters/${idle}/cache`)
    expect([nothing.events, nothing.gpu_seconds_saved, nothing.reuse_share]).toEqual([0, null, null])
  })

  test('T-37 400 on a cluster id with a NUL character', async () => {
    const { post } = await service().newProject()
    const answer = await post(ESTIMATE, { cluster_id: 'byc_\u0000', model: MODEL, prefix_tokens: 1_000 })
    expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining("'cluster_id'")])
  })
})
