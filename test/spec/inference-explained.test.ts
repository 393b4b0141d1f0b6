// R40: route-explain names only places that take a call of the kind it is asked about, as the call itself finds.
import { expect, test } from 'vitest'
import { PRICES, withScene } from '../support/inference-scene.ts'
import type { TestUpstream } from '../support/upstream.ts'

const EXPLAIN = '/v2/route-explain'
const WHY = "the protocol of its provider 'anth' has no such endpoint"
const model = (id: string) => ({ id, ...PRICES, max_output_tokens: 100 })
const config = (one: TestUpstream, two: TestUpstream) => ({
  providers: [
    {
      id: 'anth',
      protocol: 'anthropic',
      api_key: 'sk-ant',
      base_url: one.base_url,
      models: [model('claude-x'), model('shared')],
    },
    { id: 'open', api_key: 'sk', base_url: two.base_url, models: [model('shared')] },
  ],
})

withScene(
  (scene) => {
    test.each([
      ['embeddings', '/v1/embeddings', { input: 'x' }],
      ['completions', '/v1/completions', { prompt: 'x' }],
      ['speech', '/v1/audio/speech', { input: 'x', voice: 'alloy' }],
      ['moderations', '/v1/moderations', { input: 'x' }],
      ['rerank', '/v1/rerank', { query: 'x', documents: ['y'] }],
    ])('R40 %s go to no provider whose protocol has none: neither the call nor what explains it', async (...one) => {
      const [kind, path, body] = one
      const stage = await scene().stage()
      const { status, body: told } = await stage.post(EXPLAIN, { model: 'claude-x', kind })
      expect([status, told]).toEqual([
        200,
        {
          object: 'route_explanation',
          decision: 'none_fit',
          candidates: [],
          dropped: [{ target: 'provider:anth', reason: WHY }],
        },
      ])
      const refused = await stage.ask(path, { body: { model: 'claude-x', ...body } })
      expect([refused.status, refused.json.error.message]).toEqual([400, expect.stringContaining(WHY)])
      expect(stage.one.requests).toEqual([])
    })

    test.each(['images', 'image_edits', 'transcriptions'])('R40 the same is told of %s', async (kind) => {
      const stage = await scene().stage()
      const { body } = await stage.post(EXPLAIN, { model: 'claude-x', kind })
      expect([body.decision, body.dropped]).toEqual(['none_fit', [{ target: 'provider:anth', reason: WHY }]])
    })

    test.each([undefined, 'chat', 'messages', 'responses'])(
      'R40 %s go there, as they are or by way of chat',
      async (kind) => {
        const stage = await scene().stage()
        const { body } = await stage.post(EXPLAIN, { model: 'claude-x', ...(kind && { kind }) })
        expect([body.decision, body.candidates.length, body.dropped]).toEqual(['route', 1, []])
      },
    )

    test('R40 where another takes it, that one is named, and the first is told as dropped', async () => {
      const stage = await scene().stage()
      const { body } = await stage.post(EXPLAIN, { model: 'shared', kind: 'embeddings' })
      expect(body).toMatchObject({
        decision: 'route',
        candidates: [{ target: 'provider:open' }],
        dropped: [{ target: 'provider:anth', reason: WHY }],
      })
      stage.two.behave({ body: { object: 'list', data: [], usage: { prompt_tokens: 1, total_tokens: 1 } } })
      const heard = await stage.ask('/v1/embeddings', { body: { model: 'shared', input: 'x' } })
      expect([heard.status, heard.headers['agent-resolved-provider']]).toEqual([200, 'open'])
    })
  },
  { config },
)
