// /v2/subscriptions, by status: of the project that runs the service, which may add its own (R79).
import { expect, test } from 'vitest'
import { type Answer, withService } from '../../test/support/service.ts'

const SUBSCRIPTIONS = '/v2/subscriptions'
const PRO = { plan: 'pro', provider: 'openai', input_discount_pct: 20, allowance_tokens: 1_000 }
const identity = ({ status, body }: Answer) => [status, body.error?.type, body.error?.code]

withService((service) => {
  test('§10.2 200: added, retrieved, listed newest first', async () => {
    const { post, get } = await service().operator()
    const older = (await post(SUBSCRIPTIONS, PRO)).body
    const { status, body } = await post(SUBSCRIPTIONS, {
      ...PRO,
      overage_enabled: true,
      used_tokens: 5,
      status: 'past_due',
    })
    expect([status, body.overage_enabled, body.used_tokens, body.status]).toEqual([200, true, 0, 'active'])
    expect((await get(`${SUBSCRIPTIONS}/${body.id}`)).body).toEqual(body)
    expect((await get(SUBSCRIPTIONS)).body).toEqual({ object: 'list', data: [body, older], has_more: false })
  })

  test('R7 200: cancelled, twice, and still in the list', async () => {
    const { post, get } = await service().operator()
    const made = (await post(SUBSCRIPTIONS, PRO)).body
    for (let times = 0; times < 2; times++)
      expect((await post(`${SUBSCRIPTIONS}/${made.id}/cancel`)).body).toEqual({ ...made, status: 'canceled' })
    expect((await get(SUBSCRIPTIONS)).body.data).toContainEqual({ ...made, status: 'canceled' })
  })

  test.each([
    ['no plan', { plan: undefined }, 'plan'],
    ['a blank provider', { provider: ' ' }, 'provider'],
    ['a provider that nobody has', { provider: 'opnai' }, 'provider'],
    ['a discount of 101', { input_discount_pct: 101 }, 'input_discount_pct'],
    ['an allowance as text', { allowance_tokens: '1' }, 'allowance_tokens'],
    ['text for overage', { overage_enabled: 'true' }, 'overage_enabled'],
    ['30 February', { period_start: '2026-02-30T00:00:00Z' }, 'period_start'],
    ['a number for a time', { period_end: 1 }, 'period_end'],
    ['an end before the start', { period_end: '2020-01-01T00:00:00Z' }, 'period_end'],
  ])('R9 400 on %s, naming the field, and nothing is stored', async (_case, wrong, field) => {
    const { post } = await service().operator()
    const answer = await service().storingNothing(() => post(SUBSCRIPTIONS, { ...PRO, ...wrong }))
    expect(identity(answer)).toEqual([400, 'invalid_request_error', undefined])
    expect(answer.body.error.message).toContain(`'${field}'`)
  })

  test('§5.8 404 on another project’s subscription, and on an unknown one; nothing is stored', async () => {
    const [home, other] = [await service().operator(), await service().newProject()]
    const theirs = (await home.post(`/v2/operator/projects/${other.project.id}/subscriptions`, PRO)).body.id
    for (const id of [theirs, 'sub_unknown', '%00'])
      for (const [method, path] of [
        ['GET', ''],
        ['POST', '/cancel'],
      ] as const) {
        const answer = await service().storingNothing(() => home.send(method, `${SUBSCRIPTIONS}/${id}${path}`))
        expect(identity(answer)).toEqual([404, 'invalid_request_error', undefined])
      }
  })

  test('R79 403 where a project grants itself a discount, or ends one; it reads its own; nothing is stored', async () => {
    const operator = await service().operator()
    const tenant = await service().newProject()
    const made = (await operator.post(`/v2/operator/projects/${tenant.project.id}/subscriptions`, PRO)).body
    for (const [path, body] of [
      [SUBSCRIPTIONS, { ...PRO, input_discount_pct: 100, allowance_tokens: 1_000_000_000_000_000 }],
      [`${SUBSCRIPTIONS}/${made.id}/cancel`, undefined],
    ] as const) {
      const answer = await service().storingNothing(() => tenant.post(path, body))
      expect(identity(answer)).toEqual([403, 'insufficient_scope', 'insufficient_scope'])
    }
    expect((await tenant.get(SUBSCRIPTIONS)).body.data).toEqual([made])
    expect((await tenant.get(`${SUBSCRIPTIONS}/${made.id}`)).body).toEqual(made)
  })

  test.each(['PATCH', 'DELETE'])('R2 405 on %s: a subscription is cancelled, not changed', async (method) => {
    const { post, send } = await service().operator()
    const { id } = (await post(SUBSCRIPTIONS, PRO)).body
    expect((await send(method, `${SUBSCRIPTIONS}/${id}`)).status).toBe(405)
  })
})
