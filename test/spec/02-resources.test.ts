// §2: what each resource looks like to a client, field by field.
import { expect, test } from 'vitest'
import { withService } from '../support/service.ts'

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

withService((service) => {
  test('§2.1 a created api_key, with its raw key', async () => {
    const { post, project } = await service().newProject()
    const { status, body } = await post('/v2/api-keys', { name: 'ci', scopes: ['read', 'inference'] })
    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.stringMatching(/^key_[0-9A-Za-z]+$/),
      object: 'api_key',
      project_id: project.id,
      name: 'ci',
      masked: `${body.key.slice(0, 13)}…${body.key.slice(-4)}`,
      scopes: ['read', 'inference'],
      status: 'active',
      created_at: service().clock.rfc3339(),
      spent_micros: 0,
      key: expect.stringMatching(/^svc_live_[0-9A-Za-z]{42}$/),
    })
    expect(project.id).toMatch(/^prj_/)
  })

  test('§2.1 rule 1 the raw key is in the creation answer and in no later one, nor is its hash', async () => {
    const { post, get, as, del } = { ...service(), ...(await service().newProject()) }
    const { key, id, ...rest } = (await post('/v2/api-keys', { name: 'ci', scopes: ['admin'] })).body
    const later = [
      await as(key).get('/v2/api-keys'),
      await as(key).post(`/v2/api-keys/${id}/budget`, { limit_usd: 1 }),
      await get('/v2/api-keys'),
      await del(`/v2/api-keys/${id}`),
      await get('/v2/api-keys'),
    ]
    for (const { bytes } of later) {
      expect(bytes.toString()).not.toContain(key.slice(13, -4))
      expect(bytes.toString()).not.toMatch(/"(key|hash)":/)
    }
    const listed = (await get('/v2/api-keys')).body.data.find((one: { id: string }) => one.id === id)
    expect(listed).toMatchObject({ masked: rest.masked, status: 'revoked', budget_micros: 1_000_000 })
  })

  test('§2.1 last_used_at is absent until the first use, then there for the next read, then written', async () => {
    const { clock, as, housekeep, newProject } = service()
    const { post, get } = await newProject()
    const { key, id } = (await post('/v2/api-keys', { name: 'ci' })).body
    const used = async () => (await get('/v2/api-keys')).body.data.find((one: { id: string }) => one.id === id)
    expect(await used()).not.toHaveProperty('last_used_at')
    clock.advance(1_500)
    const at = clock.rfc3339()
    await as(key).get('/v2/api-keys')
    clock.advance(1_500)
    expect((await used()).last_used_at).toBe(at)
    await housekeep('write key use')
    expect((await used()).last_used_at).toBe(at)
  })

  test('T-59 a refused scope counts as use, a refused key does not', async () => {
    const { clock, as, newProject } = service()
    const { post, get } = await newProject()
    const { key, id } = (await post('/v2/api-keys', { name: 'ci', scopes: ['read'] })).body
    const used = async () => (await get('/v2/api-keys')).body.data.find((one: { id: string }) => one.id === id)
    await as(`${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`).get('/v2/api-keys')
    expect(await used()).not.toHaveProperty('last_used_at')
    expect((await as(key).post('/v2/api-keys', { name: 'x' })).status).toBe(403)
    expect((await used()).last_used_at).toBe(clock.rfc3339())
  })

  test('§2.1 budget_micros is absent without a limit', async () => {
    const { post } = await service().newProject()
    const { id, ...created } = (await post('/v2/api-keys', { name: 'ci' })).body
    expect(created).not.toHaveProperty('budget_micros')
    const limited = await post(`/v2/api-keys/${id}/budget`, { limit_usd: 12.5 })
    expect(limited.body.budget_micros).toBe(12_500_000)
    expect((await post(`/v2/api-keys/${id}/budget`, { limit_usd: null })).body).not.toHaveProperty('budget_micros')
  })

  test('§2.2 api_key.revoked', async () => {
    const { post, del } = await service().newProject()
    const { id } = (await post('/v2/api-keys', { name: 'ci' })).body
    expect((await del(`/v2/api-keys/${id}`)).body).toEqual({ id, object: 'api_key.revoked', revoked: true })
  })

  test('§2.3 byoc_cluster, with and without what is optional', async () => {
    const { post, project } = await service().newProject()
    const at = service().clock.rfc3339()
    const bare = await post('/v2/byoc/clusters', { name: 'atlas', region: 'eu-west-1' })
    expect(bare.body).toEqual({
      id: expect.stringMatching(/^byc_[0-9A-Za-z]+$/),
      object: 'byoc_cluster',
      project_id: project.id,
      name: 'atlas',
      region: 'eu-west-1',
      status: 'registering',
      runtime: 'vllm',
      kv_cache: 'lmcache',
      orchestrator: 'llm-d',
      endpoint: null,
      autoscaling: { min_replicas: 1, max_replicas: 4, target_ttft_ms: 500 },
      created_at: at,
      updated_at: at,
      last_heartbeat_at: null,
    })
    const asked = {
      name: 'zeus',
      region: 'us',
      runtime: 'sglang',
      kv_cache: 'hicache',
      orchestrator: 'kubernetes',
      endpoint: 'https://10.0.0.7:8443/v1',
      autoscaling: { min_replicas: 0, max_replicas: 9, target_ttft_ms: 120 },
    }
    expect((await post('/v2/byoc/clusters', asked)).body).toMatchObject(asked)
    expect(at).toMatch(RFC3339)
  })

  test('§2.4 byoc_cluster.deregistered', async () => {
    const { post, del } = await service().newProject()
    const { id } = (await post('/v2/byoc/clusters', { name: 'atlas', region: 'eu' })).body
    expect((await del(`/v2/byoc/clusters/${id}`)).body).toEqual({
      id,
      object: 'byoc_cluster.deregistered',
      deleted: true,
    })
  })

  test('§2.5 hicache_plan', async () => {
    const { post } = await service().newProject()
    const costs = { lookup_ms: 1, transfer_ms: 2, decompression_ms: 3, queue_delay_ms: 4 }
    const plan = await post('/v2/byoc/hicache-plan', {
      expected_recompute_ms: 25,
      tiers: [{ name: 'host_ram', ...costs }],
    })
    expect(plan.body).toEqual({
      object: 'hicache_plan',
      expected_recompute_ms: 25,
      decision: { decision: 'fetch', tier: 'host_ram', saved_ms: 15 },
      tiers: [{ name: 'host_ram', total_ms: 10, beats_recompute: true, saved_ms: 15 }],
      recommendation: 'activate_tier',
    })
  })

  test.each(['/v2/api-keys', '/v2/byoc/clusters'])('§2.6 %s answers a list envelope', async (url) => {
    const { body } = await (await service().newProject()).get(url)
    expect(body).toEqual({ object: 'list', data: expect.any(Array), has_more: false })
  })
})
