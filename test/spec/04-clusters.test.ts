// §4.5–4.8: /v2/byoc/clusters, by endpoint and status.
import { describe, expect, test } from 'vitest'
import { withService } from '../support/service.ts'

const CLUSTERS = '/v2/byoc/clusters'
const atlas = { name: 'atlas', region: 'eu-west-1' }
const scaling = (min_replicas: unknown, max_replicas: unknown, target_ttft_ms: unknown = 500) => ({
  autoscaling: { min_replicas, max_replicas, target_ttft_ms },
})

withService((service) => {
  describe('§4.5 POST /v2/byoc/clusters', () => {
    test('R8 200: labels are trimmed, lanes are kept as sent', async () => {
      const { post } = await service().newProject()
      const { body } = await post(CLUSTERS, { name: ' atlas ', region: '\teu\n', runtime: ' vllm ' })
      expect(body).toMatchObject({ name: 'atlas', region: 'eu', runtime: ' vllm ' })
    })

    test('R12 200: endpoint may be null', async () => {
      const { post } = await service().newProject()
      expect((await post(CLUSTERS, { ...atlas, endpoint: null })).body.endpoint).toBeNull()
    })

    test('R9 200: unknown fields are neither stored nor echoed, and cannot set what is ours', async () => {
      const { post, get, project } = await service().newProject()
      const more = { id: 'byc_x', project_id: 'prj_x', status: 'active', last_heartbeat_at: 'now', z: { deep: 1 } }
      const { body } = await post(CLUSTERS, { ...atlas, ...more })
      expect(body).toMatchObject({ project_id: project.id, status: 'registering', last_heartbeat_at: null })
      expect(body).not.toHaveProperty('z')
      expect((await get(CLUSTERS)).body.data).toEqual([body])
    })

    test.each([
      ['no name', { name: undefined }],
      ['no region', { region: undefined }],
      ['empty name', { name: '' }],
      ['blank region', { region: '  ' }],
      ['a number for a name', { name: 7 }],
      ['a region of 257 characters', { region: 'x'.repeat(257) }],
      ['a NUL in the region', { region: 'a\0' }],
      ['an empty runtime', { runtime: '' }],
      ['a number for kv_cache', { kv_cache: 1 }],
      ['129 characters of orchestrator', { orchestrator: 'x'.repeat(129) }],
      ['min above max', scaling(5, 4)],
      ['max of zero', scaling(0, 0)],
      ['autoscaling in part', { autoscaling: { min_replicas: 1 } }],
      ['a fraction of a replica', scaling(1.5, 4)],
      ['more replicas than a counter holds', scaling(1, 1e20)],
      ['replicas as text', scaling('1', 4)],
      ['null for autoscaling', { autoscaling: null }],
      ['a negative minimum', scaling(-1, 4)],
      ['no time to the first token', scaling(1, 4, 0)],
      ['a relative endpoint', { endpoint: '/v1' }],
      ['a file for an endpoint', { endpoint: 'file:///etc/passwd' }],
      ['credentials in the endpoint', { endpoint: 'http://a:b@host/' }],
      ['a fragment in the endpoint', { endpoint: 'http://host/#x' }],
      ['an empty endpoint', { endpoint: '' }],
      ['an endpoint of 10 KB', { endpoint: `http://host/${'x'.repeat(10_240)}` }],
    ])('§4.5, T-75, T-80 400 on %s, and nothing is stored', async (_case, wrong) => {
      const { post } = await service().newProject()
      const { status, body } = await service().storingNothing(() => post(CLUSTERS, { ...atlas, ...wrong }))
      expect([status, body.error.type, body.error.code]).toEqual([400, 'invalid_request_error', undefined])
      const [field] = Object.keys(wrong)
      expect(body.error.message).toContain(`'${field}`)
    })

    test('T-75 200 on none to one replica', async () => {
      const { post } = await service().newProject()
      expect((await post(CLUSTERS, { ...atlas, ...scaling(0, 1) })).status).toBe(200)
    })
  })

  describe('§4.6 GET /v2/byoc/clusters', () => {
    test('§4.6, R11 200: the project’s clusters, newest first, equal times by insertion', async () => {
      const [home, other] = [await service().newProject(), await service().newProject()]
      await other.post(CLUSTERS, atlas)
      const made: string[] = []
      for (let n = 0; n < 20; n++) made.push((await home.post(CLUSTERS, { ...atlas, name: `c${n}` })).body.id)
      expect((await home.get(CLUSTERS)).body.data.map((one: { id: string }) => one.id)).toEqual(made.reverse())
    })
  })

  const missing = ['byc_unknown', 'key_x', '%20', '..%2f..', `byc_${'x'.repeat(500)}`, '%00', '%F0%9F%9A%80']

  describe('§4.7 GET /v2/byoc/clusters/{cluster_id}', () => {
    test('§4.7 200: what registration answered', async () => {
      const { post, get } = await service().newProject()
      const made = await post(CLUSTERS, atlas)
      const got = await get(`${CLUSTERS}/${made.body.id}`)
      expect([got.status, got.bytes.equals(made.bytes)]).toEqual([200, true])
    })

    test.each(missing)('§4.7 404 on %s', async (id) => {
      const { status, body } = await (await service().newProject()).get(`${CLUSTERS}/${id}`)
      expect([status, body.error.type, body.error.code]).toEqual([404, 'invalid_request_error', undefined])
    })
  })

  describe('§4.8 POST /v2/byoc/clusters/{cluster_id}/heartbeat', () => {
    test('R13 200: further telemetry is accepted, ill-typed or not', async () => {
      const { post } = await service().newProject()
      const { id } = (await post(CLUSTERS, atlas)).body
      const beats = [
        { models: [{ id: 'm' }] },
        { models: 'many' },
        { load: null, models: [7, {}] },
        { queue: { depth: 1 } },
      ]
      for (const more of beats) {
        const { status, body } = await post(`${CLUSTERS}/${id}/heartbeat`, { status: 'active', ...more })
        expect([status, body.status]).toEqual([200, 'active'])
        expect(body).not.toHaveProperty('queue')
      }
    })

    test.each([{ status: 'registering' }, { status: 'ACTIVE' }, { status: '' }, { status: null }, { status: 1 }, {}])(
      'T-76 400 on %j, and nothing is stored',
      async (body) => {
        const { post } = await service().newProject()
        const { id } = (await post(CLUSTERS, atlas)).body
        const answer = await service().storingNothing(() => post(`${CLUSTERS}/${id}/heartbeat`, body))
        expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request_error'])
        expect(answer.body.error.message).toContain("'status'")
      },
    )

    test.each(missing)('§4.8 404 on %s, and nothing is stored', async (id) => {
      const { post } = await service().newProject()
      const url = `${CLUSTERS}/${id}/heartbeat`
      expect((await service().storingNothing(() => post(url, { status: 'active' }))).status).toBe(404)
    })
  })

  describe('§4.8 DELETE /v2/byoc/clusters/{cluster_id}', () => {
    test('T-79 200, then 404 for everything', async () => {
      const { post, get, del } = await service().newProject()
      const { id } = (await post(CLUSTERS, atlas)).body
      expect((await del(`${CLUSTERS}/${id}`)).status).toBe(200)
      const after = [
        await del(`${CLUSTERS}/${id}`),
        await get(`${CLUSTERS}/${id}`),
        await post(`${CLUSTERS}/${id}/heartbeat`, { status: 'active' }),
      ]
      expect(after.map(({ status, body }) => [status, body.error.type])).toEqual(
        Array(3).fill([404, 'invalid_request_error']),
      )
    })

    test.each(missing)('§4.8 404 on %s, and nothing is stored', async (id) => {
      const { del } = await service().newProject()
      expect((await service().storingNothing(() => del(`${CLUSTERS}/${id}`))).status).toBe(404)
    })
  })

  describe('§4.9 POST /v2/byoc/hicache-plan', () => {
    const costs = { lookup_ms: 1, transfer_ms: 2, decompression_ms: 3, queue_delay_ms: 4 }
    const tiers = (count: number) => Array.from({ length: count }, (_, n) => ({ name: `t${n}`, ...costs }))
    const plan = async (body: unknown) => (await service().newProject()).post('/v2/byoc/hicache-plan', body)

    test('§4.9 200: it stores nothing', async () => {
      const { post } = await service().newProject()
      const body = { expected_recompute_ms: 5, tiers: tiers(16) }
      const answer = await service().storingNothing(() => post('/v2/byoc/hicache-plan', body))
      expect(answer.body).toMatchObject({ decision: { decision: 'recompute' }, recommendation: 'recompute_only' })
      expect(answer.body.decision).toEqual({ decision: 'recompute' })
      expect(answer.body.tiers).toHaveLength(16)
    })

    test('T-94, T-95 200: floats and minus zero in JSON', async () => {
      const asked = { name: 'up', lookup_ms: 0.1, transfer_ms: 0.2, decompression_ms: 0.3, queue_delay_ms: -0 }
      const { bytes } = await plan({ expected_recompute_ms: 1e21, tiers: [asked] })
      expect(bytes.toString()).toContain('"total_ms":0.6000000000000001')
      expect(JSON.parse(bytes.toString()).expected_recompute_ms).toBe(1e21)
    })

    test.each([
      ['no tiers', { expected_recompute_ms: 5, tiers: [] }],
      ['seventeen tiers', { expected_recompute_ms: 5, tiers: tiers(17) }],
      ['tiers that are no array', { expected_recompute_ms: 5, tiers: { ...costs, name: 'a' } }],
      ['tiers not sent', { expected_recompute_ms: 5 }],
      ['no recompute cost', { tiers: tiers(1) }],
      ['a tier without a cost', { expected_recompute_ms: 5, tiers: [{ ...costs, name: 'a', transfer_ms: undefined }] }],
      ['a tier without a name', { expected_recompute_ms: 5, tiers: [costs] }],
      ['a blank name', { expected_recompute_ms: 5, tiers: [{ ...costs, name: ' ' }] }],
      ['a cost as text', { expected_recompute_ms: 5, tiers: [{ ...costs, name: 'a', lookup_ms: '1' }] }],
      ['null for a cost', { expected_recompute_ms: 5, tiers: [{ ...costs, name: 'a', lookup_ms: null }] }],
      [
        'costs that overflow',
        { expected_recompute_ms: 5, tiers: [{ ...costs, name: 'a', lookup_ms: 1.7e308, transfer_ms: 1.7e308 }] },
      ],
    ])('T-89–T-91 400 on %s', async (_case, body) => {
      const answer = await plan(body)
      expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request_error'])
    })

    test.each(['expected_recompute_ms', 'lookup_ms'])('T-90 400 on %s of 1e999', async (field) => {
      const { send } = await service().newProject()
      const body = JSON.stringify({ expected_recompute_ms: 5, tiers: tiers(1) })
      const payload = body.replace(new RegExp(`"${field}":\\d+`), `"${field}":1e999`)
      expect((await send('POST', '/v2/byoc/hicache-plan', { payload })).status).toBe(400)
    })
  })
})
