// R75: what nobody reads is told, on success and refusal, and told again with a kept answer.
import { describe, expect, test } from 'vitest'
import { type Answer, withService } from '../support/service.ts'

const KEYS = '/v2/api-keys'
const HEADER = 'agent-ignored-fields'
const told = ({ status, headers }: Answer) => [status, headers[HEADER]]

withService((service) => {
  test('R75 an unknown field of a new key is named, and not stored', async () => {
    const { post } = await service().newProject()
    const answer = await post(KEYS, { name: 'ci', rpm_limit: 5, scope: ['read'] })
    expect(told(answer)).toEqual([200, 'rpm_limit, scope'])
    expect(JSON.stringify(answer.body)).not.toContain('rpm_limit')
  })

  test('R75 where all are known there is no such header', async () => {
    const { post } = await service().newProject()
    expect(told(await post(KEYS, { name: 'ci', scopes: ['read'], expires_at: null }))).toEqual([200, undefined])
    expect(told(await post('/v2/sessions'))).toEqual([200, undefined])
  })

  test('R75 a budget that was misspelt changes nothing, and says so', async () => {
    const { post, key_id } = await service().newProject()
    const answer = await post(`${KEYS}/${key_id}/budget`, { limit: 5 })
    expect(told(answer)).toEqual([200, 'limit'])
    expect(answer.body).not.toHaveProperty('budget_micros')
  })

  test('R75 further down too, as it would be written in code', async () => {
    const { post } = await service().newProject()
    const autoscaling = { min_replicas: 1, max_replicas: 2, target_ttft_ms: 5, max: 9 }
    expect(told(await post('/v2/byoc/clusters', { name: 'a', region: 'eu', autoscaling }))).toEqual([
      200,
      'autoscaling.max',
    ])
    const tier = { name: 'a', lookup_ms: 1, transfer_ms: 1, decompression_ms: 1, queue_delay_ms: 1 }
    const plan = { expected_recompute_ms: 5, tiers: [tier, { ...tier, cost: 1 }] }
    expect(told(await post('/v2/byoc/hicache-plan', plan))).toEqual([200, 'tiers[1].cost'])
  })

  test('R75 on a refusal, where the missing field is often the misspelt one; and nothing is stored', async () => {
    const { post } = await service().newProject()
    const answer = await service().storingNothing(() => post(KEYS, { nmae: 'ci' }))
    expect(told(answer)).toEqual([400, 'nmae'])
  })

  test('R75, R25 a replay tells it as the answer did', async () => {
    const { post } = await service().newProject()
    const keyed = { 'agent-idempotency-key': 'once' }
    const first = await post(KEYS, { name: 'ci', rpm_limit: 5 }, keyed)
    const again = await post(KEYS, { name: 'ci' }, keyed)
    expect([told(first), told(again)]).toEqual([
      [200, 'rpm_limit'],
      [200, 'rpm_limit'],
    ])
    expect(again.headers['agent-idempotent-replay']).toBe('true')
  })

  test('R75 whatever its name, a field fits into a header; of many, twenty', async () => {
    const { post } = await service().newProject()
    const odd = { name: 'ci', 'a,b': 1, 'x\r\ny': 1, größe: 1, '50%': 1 }
    expect(told(await post(KEYS, odd))).toEqual([200, 'a%2Cb, x%0D%0Ay, gr%C3%B6%C3%9Fe, 50%25'])
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`f${n}`, n]))
    const names = (await post(KEYS, { name: 'ci', ...many })).headers[HEADER]?.split(', ') ?? []
    expect([names.length, names[19], names[20]]).toEqual([21, 'f19', '...'])
    const long = (await post(KEYS, { name: 'ci', ['x'.repeat(5_000)]: 1 })).headers[HEADER]
    expect(long).toBe('...')
  })

  test('R75 what a heartbeat tells beyond what is known is dropped as before, and told', async () => {
    const { post } = await service().newProject()
    const { id } = (await post('/v2/byoc/clusters', { name: 'a', region: 'eu' })).body
    const beat = { status: 'active', load: { running: 'many' }, weather: 'fine' }
    expect(told(await post(`/v2/byoc/clusters/${id}/heartbeat`, beat))).toEqual([200, 'weather'])
    const reported = { sequence: 7, agent_version: '1.2', interval_s: 30, drain_deadline_s: 60 }
    const read = await post(`/v2/byoc/clusters/${id}/heartbeat`, { status: 'active', ...reported })
    expect(told(read)).toEqual([200, undefined])
  })

  test('R75 of a receipt that is to be verified every field is read', async () => {
    const { post } = await service().newProject()
    const receipt = { object: 'purge_receipt', purge_job_id: 'prg_1', signature: 'x' }
    expect(told(await post('/v2/purge-receipts/verify', receipt))).toEqual([200, undefined])
  })

  test('§9 on /v1, and where a generation goes on to an upstream, fields are the upstream’s', async () => {
    const { post } = await service().newProject()
    const body = { model: 'gpt-4o-mini', input: 'hi', x_unknown: 1 }
    expect(told(await post('/v1/responses', body))).toEqual([200, undefined])
    expect(told(await post('/v2/responses', body))).toEqual([200, undefined])
  })

  describe('R75 limit_usd of a new key', () => {
    test.each([
      [5, 5_000_000],
      [8.2, 8_200_000],
      [0, 0],
      [null, undefined],
      [undefined, undefined],
    ])('R75 %j becomes %j', async (limit_usd, budget_micros) => {
      const { post, get } = await service().newProject()
      const { status, body } = await post(KEYS, { name: 'ci', limit_usd })
      expect([status, body.budget_micros]).toEqual([200, budget_micros])
      expect((await get(`${KEYS}/${body.id}`)).body.budget_micros).toBe(budget_micros)
    })

    test.each([-1, 1e-7, 1e12, '5', true])(
      'R6 %j is 400, naming the field, and nothing is stored',
      async (limit_usd) => {
        const { post } = await service().newProject()
        const answer = await service().storingNothing(() => post(KEYS, { name: 'ci', limit_usd }))
        expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining("'limit_usd'")])
      },
    )

    test('R75 a key that is made with 0 generates nothing', async () => {
      const { post } = await service().newProject()
      const { key } = (await post(KEYS, { name: 'ci', limit_usd: 0 })).body
      const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] }
      expect((await service().as(key).post('/v1/chat/completions', body)).status).toBe(429)
    })
  })
})
