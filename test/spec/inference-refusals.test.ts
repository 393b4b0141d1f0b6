// Refusals of generations, as GET /v2/refusals counts them: budget, capacity, deadline, upstream, idempotency.
import { expect, test } from 'vitest'
import { hintsHeader } from '../support/inference-client.ts'
import { type Stage, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'

withScene((scene) => {
  const totalsOf = async ({ get }: Stage) => {
    const { totals } = (await get('/v2/refusals')).body
    return Object.fromEntries(Object.entries(totals).filter(([, count]) => count !== 0))
  }

  test.each<[string, { key?: number }, (stage: Stage) => Promise<{ status: number }>, number, string]>([
    ['a budget of nothing', { key: 0 }, (stage) => stage.chat(), 429, 'budget'],
    ['no such model', {}, (stage) => stage.chat({ model: 'nobody-has-it' }), 404, 'not_found'],
    ['no model', {}, (stage) => stage.chat({ model: 7 }), 400, 'validation'],
    [
      'an upstream that fails',
      {},
      (stage) => {
        stage.one.behave({ status: 500 })
        return stage.chat()
      },
      502,
      'upstream',
    ],
    [
      'an upstream that limits us',
      {},
      (stage) => {
        stage.one.behave({ status: 429 })
        return stage.chat()
      },
      429,
      'upstream',
    ],
    [
      'a deadline that passes',
      {},
      (stage) => {
        stage.one.behave({ instead: 'silence' })
        return stage.chat({}, { headers: hintsHeader({ qos: { deadline_ms: 30 } }) })
      },
      504,
      'deadline',
    ],
  ])('§7 %s', async (_case, limits, ask, status, kind) => {
    const stage = await scene().stage(limits)
    expect((await ask(stage)).status).toBe(status)
    expect(await totalsOf(stage)).toEqual({ [kind]: 1 })
  })

  test('§11.5 a second request under the same key while the first runs', async () => {
    const stage = await scene().stage()
    const gate = deferred()
    stage.one.behave({ wait: gate.promise })
    const first = stage.openChat({}, { keyed: 'k' })
    await stage.one.until(() => stage.one.requests.length === 1)
    expect((await stage.chat({}, { keyed: 'k' })).status).toBe(409)
    gate.resolve()
    expect((await first.heard).status).toBe(200)
    expect(await totalsOf(stage)).toEqual({ idempotency: 1 })
  })

  test('what was answered is no refusal', async () => {
    const stage = await scene().stage()
    await stage.chat()
    await stage.chat({ stream: true })
    expect(await totalsOf(stage)).toEqual({})
  })
})
