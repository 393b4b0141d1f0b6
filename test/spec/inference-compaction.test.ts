// §4.11: counting a Responses request ahead of its answer, and compacting a conversation: by upstreams that have a
// Responses API of their own, and by no estimate of ours.
import { expect, test } from 'vitest'
import { moneyIn } from '../support/inference-client.ts'
import { MAX_OUTPUT, PRICES, withScene } from '../support/inference-scene.ts'
import { deferred, textOf } from '../support/tampered-db.ts'

const COUNT = '/v1/responses/input_tokens'
const COMPACT = '/v1/responses/compact'
const COMPACTED = {
  id: 'resp_c',
  object: 'response.compaction',
  created_at: 1,
  output: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'abc' }],
  usage: { input_tokens: 20, output_tokens: 5, total_tokens: 25 },
}

withScene(
  (scene) => {
    test('§4.11 input_tokens by the official client: the upstream counts, and nothing is charged or left', async () => {
      const stage = await scene().stage({ key: 1 })
      stage.one.behave({ body: { object: 'response.input_tokens', input_tokens: 42 } })
      const counted = await stage.openai().responses.inputTokens.count({ model: 'native', input: 'hello' })
      expect(counted).toEqual({ object: 'response.input_tokens', input_tokens: 42 })
      const { path, body } = await stage.one.request(1)
      expect([path, body]).toEqual([COUNT, { model: 'upstream-native', input: 'hello' }])
      expect(await stage.audit()).toMatchObject({ spent: 0, events: [] })
    })

    test('§4.11 what a request continues is counted with it', async () => {
      const stage = await scene().stage()
      const first = await stage.openai().responses.create({ model: 'native', input: 'one' })
      stage.one.behave({ body: { object: 'response.input_tokens', input_tokens: 9 } })
      const counting = { model: 'native', input: 'two', previous_response_id: first.id }
      expect((await stage.openai().responses.inputTokens.count(counting)).input_tokens).toBe(9)
      const { body } = await stage.one.request(2)
      expect([body.previous_response_id, body.input.length]).toEqual([undefined, 3])
    })

    test('R78 of what requests continue two of a project are counted at a time; another project has its own', async () => {
      const [many, other] = [await scene().stage(), await scene().stage()]
      const continuing = async (stage: typeof many) => {
        const { id } = await stage.openai().responses.create({ model: 'native', input: 'one' })
        const body = { model: 'native', input: 'two', previous_response_id: id }
        return () => stage.ask(COUNT, { body })
      }
      const [count, elsewhere] = [await continuing(many), await continuing(other)]
      const { tampering } = scene()
      let read = 0
      tampering.rows = (statement, run) => {
        if (/WITH RECURSIVE chain/.test(textOf(statement))) read++
        return run(statement)
      }
      const go = deferred()
      for (const { one } of [many, other])
        one.behave({ wait: go.promise, body: { object: 'response.input_tokens', input_tokens: 9 } })
      const asked = Array.from({ length: 8 }, count)
      await many.one.request(many.one.requests.length + 1)
      asked.push(elsewhere())
      await expect.poll(() => read).toBe(3)
      for (let n = 0; n < 3; n++) await fetch(`${scene().origin}/v1/models`) // what was asked has been looked at by then
      expect(read).toBe(3)
      go.resolve()
      for (const { status, json } of await Promise.all(asked)) expect([status, json.input_tokens]).toEqual([200, 9])
      tampering.rows = undefined
      expect(read).toBe(9)
    })

    test('§4.11 over chat nobody can count truly: 404 by name, and nobody is asked', async () => {
      const stage = await scene().stage()
      const refused = await stage.ask(COUNT, { body: { model: stage.model, input: 'hello' } })
      expect([refused.status, refused.json.error.message]).toEqual([404, expect.stringContaining('speaks chat alone')])
      expect(stage.one.requests.length).toBe(0)
    })

    test('§4.11 what the upstream refuses to count is 400 in its words; where it has no such endpoint, 404', async () => {
      const stage = await scene().stage()
      stage.one.next({ status: 400, body: { error: { message: 'too odd', type: 'invalid_request_error' } } })
      const body = { model: 'native', input: 'hello' }
      expect((await stage.ask(COUNT, { body })).json.error.message).toContain('too odd')
      stage.one.behave({ status: 404, body: 'no' })
      expect((await stage.ask(COUNT, { body })).status).toBe(404)
    })

    test('§4.11 R42 compact by the official client: charged as it counts, kept for a retry, and not stored', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      stage.one.behave({ body: COMPACTED })
      const asked = { model: 'native', input: [{ role: 'user' as const, content: 'long' }] }
      const compacted = await stage.openai().responses.compact(asked)
      expect(compacted).toMatchObject(COMPACTED)
      expect((await stage.one.request(1)).path).toBe(COMPACT)
      const keyed = { body: asked, headers: { 'agent-idempotency-key': 'k' } }
      const [first, again] = [await stage.ask(COMPACT, keyed), await stage.ask(COMPACT, keyed)]
      expect([moneyIn(first), again.headers['agent-idempotent-replay'], again.json]).toEqual([30, 'true', COMPACTED])
      expect([stage.one.requests.length, (await stage.audit()).spent]).toEqual([2, 60])
      expect((await stage.get('/v1/responses/resp_c')).status).toBe(404)
    })

    test('§4.11 compact over chat is 400 by name; as a stream too; and a budget never shortens it', async () => {
      const [stage, poor] = [await scene().stage(), await scene().stage({ key: 500 })]
      const chat = await stage.ask(COMPACT, { body: { model: stage.model, input: 'x' } })
      expect([chat.status, chat.json.error.message]).toEqual([400, expect.stringContaining(COMPACT)])
      const streamed = await stage.ask(COMPACT, { body: { model: 'native', input: 'x', stream: true } })
      expect([streamed.status, streamed.json.error.message]).toEqual([400, expect.stringContaining("'stream'")])
      expect((await poor.ask(COMPACT, { body: { model: 'native', input: 'x' } })).status).toBe(429)
      expect([stage.one.requests.length, (await stage.audit()).events, (await poor.audit()).events]).toEqual([
        0,
        [],
        [],
      ])
    })
  },
  {
    config: (one) => ({
      providers: [
        {
          id: 'native',
          base_url: one.base_url,
          api_key: 'sk-upstream',
          responses: true,
          models: [{ id: 'native', upstream_id: 'upstream-native', ...PRICES, max_output_tokens: MAX_OUTPUT }],
        },
      ],
    }),
  },
)
