// 0348: models that Bedrock serves by Converse alone, such as Nova and Llama: chat, Messages and responses on them, with
// the money, failover and replay of every call.
import { expect, test } from 'vitest'
import { exceptionMessage } from '../support/aws-event-stream.ts'
import { type BedrockAccount, bedrock, exception, REQUEST_ID } from '../support/bedrock-server.ts'
import { converseEvent } from '../support/converse-server.ts'
import { MAX_OUTPUT, PRICES, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { asked, eventsOf, MESSAGES } from '../support/messages-scene.ts'

const KEYS = { access_key_id: 'AKIAIOSFODNN7EXAMPLE', secret_access_key: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }
const REGION = 'us-east-1'
const NOVA = 'us.amazon.nova-pro-v1:0'
const LLAMA = 'us.meta.llama3-3-70b-instruct-v1:0'
const priced = { ...PRICES, max_output_tokens: MAX_OUTPUT }
const messages = [{ role: 'user' as const, content: 'hello' }]
const tools = [
  { type: 'function' as const, function: { name: 'weather', parameters: { type: 'object', properties: {} } } },
]
const calls = [{ name: 'weather', arguments: '{"city":"Rom"}' }]

withScene(
  (scene) => {
    const account = (more: Partial<BedrockAccount> = {}): BedrockAccount => ({
      ...KEYS,
      region: REGION,
      service: 'bedrock',
      now: scene().clock.now,
      models: [NOVA, LLAMA],
      ...more,
    })
    const begin = async () => {
      const stage = await scene().stage()
      stage.one.behave(bedrock(account()))
      return stage
    }

    test('0348 chat: signed, as Converse takes it, and back as a completion that tells its usage', async () => {
      const { one, chat, audit } = await begin()
      const body = { max_tokens: 50, temperature: 0.5, stop: ['END'], seed: 5 }
      const answer = await chat({
        model: 'nova',
        messages: [{ role: 'system', content: 'Be short.' }, ...messages],
        ...body,
      })
      expect(answer.status).toBe(200)
      expect(answer.json).toMatchObject({
        id: `chatcmpl-${REQUEST_ID}`,
        object: 'chat.completion',
        model: NOVA,
        choices: [{ message: { role: 'assistant', content: 'Hello from the upstream.' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
      })
      expect(answer.headers['agent-resolved-provider']).toBe('aws')
      expect(answer.headers['agent-ignored-fields']).toBe('seed')
      const [sent] = one.requests
      expect(sent?.path).toBe(`/model/${encodeURIComponent(NOVA)}/converse`)
      expect(sent?.body).toEqual({
        system: [{ text: 'Be short.' }],
        messages: [{ role: 'user', content: [{ text: 'hello' }] }],
        inferenceConfig: { maxTokens: 50, temperature: 0.5, stopSequences: ['END'] },
      })
      expect((await audit()).spent).toBe(USUAL_COST)
    })

    test.each([1, 100_000])(
      '0348 a stream in pieces of %i bytes, to the official client, charged once',
      async (drip_bytes) => {
        const { one, openai, audit } = await begin()
        one.behave(bedrock(account(), { drip_bytes }))
        let text = ''
        for await (const chunk of await openai().chat.completions.create({ model: 'llama', messages, stream: true })) {
          text += chunk.choices[0]?.delta.content ?? ''
          expect(chunk.usage ?? null).toBe(null) // which only we asked for
        }
        expect(text).toBe('Hello from the upstream.')
        expect(one.requests[0]?.path).toBe(`/model/${encodeURIComponent(LLAMA)}/converse-stream`)
        expect(await audit()).toMatchObject({ spent: USUAL_COST, events: [{ tokens_estimated: 0 }] })
      },
    )

    test.each([false, true])('R76 cached and written tokens have their own prices, streamed: %s', async (stream) => {
      const { one, chat, audit } = await begin()
      one.behave(bedrock(account(), { saying: { usage: { input: 170, output: 10, cached: 60, cache_written: 10 } } }))
      const answer = await chat({ model: 'nova', messages, stream })
      expect(answer.status).toBe(200)
      expect((await audit()).spent).toBe(100 + 30 + 20 + 20) // 100 read, 60 cached, 10 written, 10 said
    })

    test('0348 a call of a tool and its result, over chat, Messages and responses', async () => {
      const { one, openai, ask } = await begin()
      one.behave(bedrock(account(), { saying: { tool_calls: calls } }))
      const first = await openai().chat.completions.create({ model: 'nova', messages, tools })
      const message = first.choices[0]?.message
      expect(message?.tool_calls?.[0]).toMatchObject({ id: 'tooluse_0', function: calls[0] })
      const result = { role: 'tool' as const, tool_call_id: 'tooluse_0', content: 'Sun.' }
      one.behave(bedrock(account()))
      const again = [...messages, ...(message ? [message] : []), result]
      await openai().chat.completions.create({ model: 'nova', messages: again, tools })
      expect(one.requests.at(-1)?.body.messages.slice(1)).toEqual([
        {
          role: 'assistant',
          content: [{ toolUse: { toolUseId: 'tooluse_0', name: 'weather', input: { city: 'Rom' } } }],
        },
        { role: 'user', content: [{ toolResult: { toolUseId: 'tooluse_0', content: [{ text: 'Sun.' }] } }] },
      ])
      one.behave(bedrock(account(), { saying: { tool_calls: calls } }))
      const tool = { name: 'weather', input_schema: { type: 'object', properties: {} } }
      const streamed = await ask(MESSAGES, { body: asked({ model: 'nova', tools: [tool], stream: true }) })
      const block = eventsOf(streamed.text).find(({ event }) => event === 'content_block_start')
      expect(block?.data.content_block).toMatchObject({ type: 'tool_use', id: 'tooluse_0', name: 'weather' })
      one.behave(bedrock(account()))
      expect((await openai().responses.create({ model: 'nova', input: 'hello' })).output_text).toBe(
        'Hello from the upstream.',
      )
    })

    test('0348 what Converse cannot say is 400 by name; nobody is asked, and nothing is charged', async () => {
      const { one, chat, ask, audit } = await begin()
      const image_url = { url: 's3://bucket/of-the-account.png' }
      const foreign = [{ role: 'user', content: [{ type: 'image_url', image_url }] }]
      for (const [body, named] of [
        [{ logprobs: true }, 'logprobs'],
        [{ messages: foreign }, 'messages[0].content[0].image_url.url'],
        [{ max_gen_len: 100_000 }, 'max_gen_len'],
        [{ guardrailConfig: { guardrailIdentifier: 'g' } }, 'guardrailConfig'],
      ] as const) {
        const answer = await chat({ model: 'nova', messages, ...body })
        expect([answer.status, answer.json.error.message]).toEqual([400, expect.stringContaining(`'${named}'`)])
      }
      const none = await ask('/v1/embeddings', { body: { model: 'nova', input: 'a' } })
      expect(none.status).toBe(400)
      expect(one.requests).toEqual([])
      expect((await audit()).spent).toBe(0)
    })

    test.each([
      ['throttled', { behaviour: exception(429, 'ThrottlingException', 'Too many requests.') }],
      ['not taken by this account', { behaviour: exception(400, 'ServiceQuotaExceededException', 'No quota.') }],
      ['broken before anything was said', { frames: [exceptionMessage('modelStreamErrorException', 'It broke.')] }],
      [
        'tampered with',
        { frames: [Buffer.from(converseEvent('messageStart', { role: 'assistant' })).fill(0, 40, 44)] },
      ],
    ])('R47 %s: the next target answers', async (_case, manner) => {
      const { one, two, chat, audit } = await begin()
      one.behave(bedrock(account(), manner))
      two.behave({})
      const answer = await chat({ model: 'both', messages, stream: true })
      expect([answer.status, answer.headers['agent-resolved-provider']]).toEqual([200, 'direct'])
      expect((await audit()).spent).toBe(USUAL_COST)
    })

    test('R47 an exception in mid-stream is an error event of chat, and nothing is charged', async () => {
      const { one, chat, audit } = await begin()
      const frames = [
        converseEvent('messageStart', { role: 'assistant' }),
        converseEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'a' } }),
        exceptionMessage('throttlingException', 'Too many tokens, please wait.'),
      ]
      one.behave(bedrock(account(), { frames, drip_bytes: 64 }))
      const { text } = await chat({ model: 'nova', messages, stream: true })
      expect(text).toContain('Too many tokens, please wait.')
      expect((await audit()).spent).toBe(0)
    })

    test('0348 AWS’s refusals are told in its words, as errors of chat, without what was sent to prove who asks', async () => {
      const { one, chat } = await begin()
      const words = `The id ${KEYS.access_key_id} may not use this model.`
      one.behave(bedrock(account(), { behaviour: exception(400, 'ValidationException', words) }))
      const answer = await chat({ model: 'nova', messages })
      expect([answer.status, answer.json.error]).toEqual([
        400,
        expect.objectContaining({ message: 'The id [removed] may not use this model.', type: 'invalid_request_error' }),
      ])
    })

    test('R20 a keyed call is replayed, and charged once', async () => {
      const { one, chat, audit } = await begin()
      const keyed = 'nova-1'
      const first = await chat({ model: 'nova', messages, stream: true }, { keyed })
      const second = await chat({ model: 'nova', messages, stream: true }, { keyed })
      expect(second.text).toBe(first.text)
      expect(one.requests).toHaveLength(1)
      expect((await audit()).spent).toBe(USUAL_COST)
    })

    test('0300 keys of a project’s own are verified where calls go, by a call without a request in it', async () => {
      const { one, post, chat } = await begin()
      const own = { provider: 'bedrock', name: 'ours', aws: KEYS, region: REGION, base_url: one.origin }
      const entered = await post('/v2/provider-credentials', { ...own, models: { mine: LLAMA } })
      expect((await post(`/v2/provider-credentials/${entered.body.id}/verify`, {})).body.status).toBe('active')
      expect(one.requests.at(-1)?.path).toBe(`/model/${encodeURIComponent(LLAMA)}/converse`)
      expect((await chat({ model: 'mine', messages })).headers['agent-byok-credential-id']).toBe(entered.body.id)
    })
  },
  {
    config: (one, two) => ({
      providers: [
        {
          id: 'aws',
          protocol: 'bedrock',
          region: REGION,
          base_url: one.origin,
          ...KEYS,
          models: [
            { id: 'nova', upstream_id: NOVA, ...priced },
            { id: 'llama', upstream_id: LLAMA, ...priced },
            { id: 'both', upstream_id: NOVA, ...priced },
          ],
        },
        { id: 'direct', base_url: two.base_url, api_key: 'sk-1', models: [{ id: 'both', ...priced }] },
      ],
    }),
  },
)
