// /v2/byoc/hicache-estimate and the tables behind it, by status.
import { expect, test } from 'vitest'
import { withService } from '../../test/support/service.ts'

const ESTIMATE = '/v2/byoc/hicache-estimate'
const PLAN = '/v2/byoc/hicache-plan'
const asked = { model: 'llama-3.1-70b', gpu: { type: 'h100_sxm', count: 4 }, prefix_tokens: 32_768 }
const tiers = [{ name: 'host_ram' }, { name: 'local_nvme', gigabytes_per_s: 6, utilization: 0.5 }, { name: 'remote' }]

withService((service) => {
  test('§4.9 R3 200 with a key that may only read; the planner says the same of its figures; nothing is stored', async () => {
    const { keyWith } = await service().newProject()
    const { post } = service().as(await keyWith('read'))
    const answer = await service().storingNothing(() => post(ESTIMATE, { ...asked, tiers }))
    expect([answer.status, answer.body.object, answer.body.kv_bytes]).toEqual([200, 'hicache_estimate', 10_737_418_240])
    expect(answer.body.expected_recompute_ms).toBeCloseTo(2_773.4, 0)
    const plan = await post(PLAN, answer.body.plan_request)
    expect(plan.body).toEqual(answer.body.plan)
  })

  test('§4.9 200: every model, GPU and tier of the tables can be asked for', async () => {
    const { get, post } = await service().newProject()
    const { body } = await get('/v2/byoc/hicache-figures')
    const kinds = body.tiers.map(({ kind }: { kind: string }) => ({ name: kind }))
    for (const { id: model } of body.models)
      for (const { type } of body.gpus)
        expect((await post(ESTIMATE, { model, gpu: { type }, prefix_tokens: 8_192, tiers: kinds })).status).toBe(200)
  })

  test.each([
    ['an unknown model', { ...asked, model: 'gpt-9', tiers }, "'model'"],
    ['no tiers', { ...asked, tiers: [] }, "'tiers'"],
    ['a text for a length', { ...asked, prefix_tokens: '1', tiers }, "'prefix_tokens'"],
    ['too busy a tier', { ...asked, tiers: [{ name: 'remote', utilization: 1 }] }, "'tiers[0].utilization'"],
    ['no GPU', { model: asked.model, prefix_tokens: 1, tiers }, "'gpu'"],
  ])('§4.9 400 on %s, naming the field', async (_case, body, named) => {
    const { post } = await service().newProject()
    const answer = await service().storingNothing(() => post(ESTIMATE, body))
    expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request_error'])
    expect(answer.body.error.message).toContain(named)
  })

  test('§4.9 400 on a number that JSON cannot keep', async () => {
    const { send } = await service().newProject()
    const payload = JSON.stringify({ ...asked, tiers }).replace('"utilization":0.5', '"utilization":1e999')
    expect((await send('POST', ESTIMATE, { payload })).status).toBe(400)
  })

  test('§5.3 401 without a key', async () => {
    expect(
      (
        await service()
          .as()
          .post(ESTIMATE, { ...asked, tiers })
      ).status,
    ).toBe(401)
  })
})
