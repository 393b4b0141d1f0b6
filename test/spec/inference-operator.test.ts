// R79 on the path of a generation: nobody grants themselves a discount, the operator's cap is hard, and a suspension
// breaks off nothing.
import { expect, test } from 'vitest'
import { saidIn } from '../support/inference-client.ts'
import { anotherProcess, holdFor, MAX_OUTPUT, type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'

withScene((scene) => {
  const projectOf = (stage: Stage) => `/v2/operator/projects/${stage.project.id}`
  const operator = () => scene().operator()
  const charged = async (stage: Stage) => (await stage.chat()).headers['agent-charged-micros']

  test('R79 a project that posts itself a subscription of 100 % is refused, and its next call costs what the last did', async () => {
    await operator()
    const stage = await scene().stage()
    expect(await charged(stage)).toBe(String(USUAL_COST))
    const free = { plan: 'x', provider: stage.first, input_discount_pct: 100, allowance_tokens: 1_000_000_000_000_000 }
    expect((await scene().storingNothing(() => stage.post('/v2/subscriptions', free))).status).toBe(403)
    const elsewhere = () => stage.post(`${projectOf(stage)}/subscriptions`, free)
    expect((await scene().storingNothing(elsewhere)).status).toBe(403)
    const heard = await stage.chat()
    expect([heard.headers['agent-execution-profile'], heard.headers['agent-charged-micros']]).toEqual([
      'managed_provider',
      String(USUAL_COST),
    ])
    expect((await stage.audit()).spent).toBe(2 * USUAL_COST)
  })

  test('R79 the operator’s cap binds where it is lower, from the next call on, and overage does not lift it', async () => {
    await operator()
    const stage = await scene().stage({ project: 1_000_000 })
    const cap = async (limit_usd: number | null) => (await operator()).post(`${projectOf(stage)}/cap`, { limit_usd })
    await cap(0)
    const refused = await stage.chat()
    expect([refused.status, refused.json.error.type]).toEqual([429, 'quota_exceeded'])
    await stage.post('/v2/project/cap', { overage_enabled: true })
    expect((await stage.chat()).status).toBe(429)
    expect((await stage.audit()).events).toEqual([])
    await cap(null)
    expect((await stage.chat()).status).toBe(200)
  })

  test('R79 of fifty calls at once in two processes, no more is spent than the lower cap, to the micro', async () => {
    await operator()
    const stage = await scene().stage({ project: 1_000_000 })
    await stage.post('/v2/project/cap', { overage_enabled: true })
    const body = stage.bodyOf({ max_tokens: MAX_OUTPUT })
    const cap = 3 * holdFor(body) + 10
    stage.one.behave({ usage: { input: 11, output: 400 } }) // else it takes a hundred calls and more to spend that
    await (await operator()).post(`${projectOf(stage)}/cap`, { limit_usd: cap / 1e6 })
    const other = await anotherProcess(scene(), 'second')
    const authorization = `Bearer ${stage.key}`
    const elsewhere = () =>
      fetch(`${other.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).then(({ status }) => status)
    const here = () => stage.chat({ max_tokens: MAX_OUTPUT }).then(({ status }) => status)
    const statuses = await Promise.all(Array.from({ length: 50 }, (_, n) => (n % 2 ? here() : elsewhere())))
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    await other.inference.close()
    for (let more = 200; more === 200; ) more = await here()
    const { spent } = await stage.until(({ held }) => held === 0)
    expect(spent).toBeLessThanOrEqual(cap)
    expect(cap - spent).toBeLessThan(holdFor(body))
  })

  test('R79 a stream under way ends as it would have, and is charged; the next call is refused', async () => {
    await operator()
    const stage = await scene().stage()
    const gate = deferred()
    stage.one.behave({ text: 'begun and ended', chunks: 4, pace: (event) => (event < 3 ? undefined : gate.promise) })
    const stream = stage.openChat({ stream: true })
    await stream.says('content')
    await (await operator()).post(`${projectOf(stage)}/suspend`)
    const refused = await stage.chat()
    expect([refused.status, refused.json.error.type]).toEqual([403, 'project_suspended'])
    gate.resolve()
    const heard = await stream.heard
    expect([heard.complete, saidIn(heard), heard.text.endsWith('data: [DONE]\n\n')]).toEqual([
      true,
      'begun and ended',
      true,
    ])
    expect((await stage.audit()).events).toMatchObject([{ status: 'completed', charged_micros: USUAL_COST }])
    await (await operator()).post(`${projectOf(stage)}/resume`)
    expect((await stage.chat()).status).toBe(200)
  })
})
