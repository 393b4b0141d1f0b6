// §8.1.2: rates of single models, the operator's and a key's own, beside the limits of the key.
import { describe, expect, test } from 'vitest'
import { modelAsks, type OperatorModelRates, rateFor } from '../../src/limits/model-rates.ts'
import { comesTrue, envelope, KEY } from '../support/inference-cases.ts'
import { type Stage, withScene } from '../support/inference-scene.ts'

const RATE_LIMITED = [429, 'rate_limit_error', 'rate_limit_exceeded']
/** What the upstream's usual answer says it took. */
const USUAL_TOKENS = 18

const pathOf = ({ key_id }: Stage) => `/v2/api-keys/${key_id}/limits`
const limitTo = async (stage: Stage, models: object[] | null) => {
  expect((await stage.post(pathOf(stage), { models })).body.models).toEqual(models)
}

describe('which entry counts', () => {
  const rates = ['gpt-4o', 'gpt-4o*', 'gpt-*', '*'].map((model) => ({ model, requests_per_minute: 1 }))

  test.each([
    ['gpt-4o', 'gpt-4o'],
    ['gpt-4o-mini', 'gpt-4o*'],
    ['gpt-5', 'gpt-*'],
    ['claude', '*'],
  ])('§8.1.2 of %s it is %s, in whatever order they stand', (model, entry) => {
    expect(rateFor(rates, model)?.model).toBe(entry)
    expect(rateFor(rates.toReversed(), model)?.model).toBe(entry)
  })

  test('§8.1.2 a name in the middle of another, or a list that says nothing of it, counts nothing', () => {
    expect(rateFor(rates.slice(0, 3), 'my-gpt-4o')).toBeUndefined()
    expect(rateFor([], 'gpt-4o')).toBeUndefined()
  })

  test('§8.1.2 a key’s own takes the place of every key’s; those of projects stay', () => {
    const operator: OperatorModelRates = (['key', 'project'] as const).map((of) => ({
      of,
      model: 'm*',
      requests_per_minute: 5,
      tokens_per_minute: 9,
    }))
    const limits = { models: [{ model: 'm', requests_per_minute: 2 }] }
    const caller = { project_id: 'prj_1', limits } as unknown as Parameters<typeof modelAsks>[0]
    const shadow = { edge: false, key: false, project: true }
    const asks = modelAsks(caller, { model: 'm', tokens: 7 }, { operator, shadow, key_id: 'key_1' })
    expect(asks.map(({ layer, name, subject, limit, amount }) => [layer, name, subject, limit, amount])).toEqual([
      ['key', 'model_requests_per_minute', 'key_1 m', 2, 1],
      ['project', 'model_requests_per_minute', 'prj_1 m*', 5, 1],
      ['project', 'model_tokens_per_minute', 'prj_1 m*', 9, 7],
    ])
    expect(asks.map((ask) => ask.shadow)).toEqual([false, true, true])
  })
})

withScene(
  (scene) => {
    test('§8.1.2 a key’s own rate of a model: 429 beyond it, in the envelope, and other models go on', async () => {
      const stage = await scene().stage()
      await limitTo(stage, [{ model: stage.model, requests_per_minute: 2 }])
      for (let n = 0; n < 2; n++) expect((await stage.chat()).status).toBe(200)
      const refused = await stage.chat()
      expect(envelope(refused)).toEqual(RATE_LIMITED)
      expect(refused.json.error.message).toContain(
        `the key layer's limit model_requests_per_minute (2) of '${stage.model}'`,
      )
      expect(refused.headers['retry-after']).toBe('61')
      expect((await stage.chat({ model: stage.both })).status).toBe(200)
      scene().clock.advance(61_000)
      expect((await stage.chat()).status).toBe(200)
      await limitTo(stage, null)
      for (let n = 0; n < 3; n++) expect((await stage.chat()).status).toBe(200)
    })

    test('§8.1.2 tokens of a model are settled to the actual, and a beginning counts all of them together', async () => {
      const stage = await scene().stage()
      const body = JSON.stringify(stage.bodyOf({ max_tokens: 100 }))
      const estimate = Math.ceil(body.length / 4) + 100
      await limitTo(stage, [{ model: '*', tokens_per_minute: estimate + USUAL_TOKENS }])
      expect((await stage.chat({ max_tokens: 100 })).status).toBe(200)
      // The second fits only because the first was settled to what it used.
      await comesTrue(async () => (await stage.chat({ max_tokens: 100, model: stage.both })).status === 200)
      const refused = await stage.chat({ max_tokens: 100 })
      expect(envelope(refused)).toEqual(RATE_LIMITED)
      expect(refused.json.error.message).toContain('model_tokens_per_minute')
    })

    test('T-67 refused by a model’s rate, nothing of the key is used; a replay costs nothing of it', async () => {
      const stage = await scene().stage()
      await limitTo(stage, [{ model: stage.model, requests_per_minute: 1 }])
      expect((await stage.chat({}, { keyed: KEY })).status).toBe(200)
      const left = async () =>
        Number((await stage.ask('/v1/models', { method: 'GET' })).headers['x-ratelimit-remaining-tokens'])
      await comesTrue(async () => (await left()) === 1_000_000_000 - USUAL_TOKENS)
      expect(envelope(await stage.chat())).toEqual(RATE_LIMITED)
      expect(await left()).toBe(1_000_000_000 - USUAL_TOKENS)
      expect((await stage.chat({}, { keyed: KEY })).headers['agent-idempotent-replay']).toBe('true')
    })

    test('R64 children count with their parent', async () => {
      const stage = await scene().stage()
      await limitTo(stage, [{ model: stage.model, requests_per_minute: 1 }])
      const child = { name: 'run', limit_usd: 1, ttl_seconds: 60 }
      const { body } = await stage.post(`/v2/api-keys/${stage.key_id}/children`, child)
      const by = { headers: { authorization: `Bearer ${body.key}` } }
      expect((await stage.chat({}, by)).status).toBe(200)
      expect(envelope(await stage.chat({}, by))).toEqual(RATE_LIMITED)
      expect(envelope(await stage.chat())).toEqual(RATE_LIMITED)
    })

    test('§8.1.2 the operator’s: of each key, and of each project', async () => {
      const [one, other] = [await scene().stage(), await scene().stage()]
      const second = await one.post('/v2/api-keys', { name: 'second' })
      const by = { headers: { authorization: `Bearer ${second.body.key}` } }
      const ask = (stage: Stage, model: string, with_second = false) =>
        stage.chat({ model }, with_second ? by : {}).then(({ status }) => status)
      expect([await ask(one, 'each-key'), await ask(one, 'each-key')]).toEqual([200, 429])
      expect(await ask(one, 'each-key', true)).toBe(200)
      expect([await ask(one, 'each-project'), await ask(one, 'each-project', true)]).toEqual([200, 429])
      expect(await ask(other, 'each-project')).toBe(200)
      const { body } = await one.get('/v2/gateway')
      expect(body.limits.models).toHaveLength(2)
    })

    test.each<[string, object[]]>([
      ['a star in the middle', [{ model: 'a*b', requests_per_minute: 1 }]],
      ['a model that is given nothing', [{ model: 'a' }]],
      [
        'a model that is there twice',
        [
          { model: 'a', requests_per_minute: 1 },
          { model: 'a', tokens_per_minute: 1 },
        ],
      ],
      ['no rate', [{ model: 'a', requests_per_minute: 0 }]],
      ['too many', Array.from({ length: 101 }, (_, n) => ({ model: `m${n}`, requests_per_minute: 1 }))],
    ])('§8.1.2 400, and nothing stored: %s', async (_case, models) => {
      const stage = await scene().stage()
      const refused = await scene().storingNothing(() => stage.post(pathOf(stage), { models }))
      expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining('models')])
    })
  },
  {
    stages: 20,
    config: (one: { base_url: string }) => ({
      providers: [
        {
          id: 'rated',
          base_url: one.base_url,
          models: ['each-key', 'each-project'].map((id) => ({
            id,
            input_usd_per_million: 1,
            output_usd_per_million: 2,
            max_output_tokens: 1_000,
          })),
        },
      ],
      limits: {
        edge: { inference_per_minute: 1_000_000_000, read_per_minute: 1_000_000_000 },
        key: { requests_per_minute: 1_000_000_000, tokens_per_minute: 1_000_000_000 },
        models: [
          { model: 'each-key', requests_per_minute: 1 },
          { model: 'each-p*', of: 'project', requests_per_minute: 1 },
        ],
      },
    }),
  },
)
