// R81: Anthropic's official client, unmodified, against the real server: over an upstream that speaks its protocol, and
// over one that speaks chat.
import Anthropic, { APIError, AuthenticationError, NotFoundError, RateLimitError } from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { type Scene, type Stage, withScene } from '../support/inference-scene.ts'
import { messagesConfig } from '../support/messages-scene.ts'

const messages = [{ role: 'user' as const, content: 'hello' }]
const tools: Anthropic.Tool[] = [
  { name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } },
]

/** Its base URL is all that changes. */
const clientOf = (scene: Scene, stage: Stage, more: object = {}) =>
  new Anthropic({ apiKey: stage.key, baseURL: `${scene.origin}/anthropic`, maxRetries: 0, ...more })

withScene(
  (scene) => {
    async function begin(more: object = {}) {
      const stage = await scene().stage()
      return { ...stage, client: clientOf(scene(), stage, more) }
    }

    describe.each([
      ['Messages', () => 'claude'],
      ['chat', (stage: Stage) => stage.model],
    ])('over %s', (_protocol, modelOf) => {
      test('R81 a whole message', async () => {
        const { client, ...stage } = await begin()
        const model = modelOf(stage as Stage)
        const message = await client.messages.create({ model, max_tokens: 100, messages })
        expect(message).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn' })
        expect(message.content).toEqual([{ type: 'text', text: 'Hello from the upstream.' }])
        expect(message.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 })
        expect(message._request_id).toMatch(/^req_/)
      })

      test('R81 a stream, put together by the client', async () => {
        const { client, ...stage } = await begin()
        const pieces: string[] = []
        const stream = client.messages.stream({ model: modelOf(stage as Stage), max_tokens: 100, messages })
        stream.on('text', (text) => pieces.push(text))
        const message = await stream.finalMessage()
        expect(pieces.join('')).toBe('Hello from the upstream.')
        expect(message.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 })
      })

      test('R81 a tool is called, its result goes back, and the conversation ends', async () => {
        const { client, ...stage } = await begin()
        const model = modelOf(stage as Stage)
        stage.one.next({ tool_calls: [{ name: 'weather', arguments: '{"city":"Ulm"}' }] })
        const first = await client.messages.stream({ model, max_tokens: 100, messages, tools }).finalMessage()
        const use = first.content.find((block) => block.type === 'tool_use')
        expect([first.stop_reason, use?.input]).toEqual(['tool_use', { city: 'Ulm' }])
        const result = { type: 'tool_result' as const, tool_use_id: use?.id ?? '', content: 'sunny' }
        const turns = [
          ...messages,
          { role: 'assistant' as const, content: first.content },
          { role: 'user' as const, content: [result] },
        ]
        const last = await client.messages.create({ model, max_tokens: 100, messages: turns, tools })
        expect(last.stop_reason).toBe('end_turn')
      })

      test('R81 the beta surface, with its query and header', async () => {
        const { client, ...stage } = await begin()
        const model = modelOf(stage as Stage)
        const asked = { model, max_tokens: 100, messages, betas: ['context-management-2025-06-27'] }
        expect((await client.beta.messages.create(asked)).type).toBe('message')
      })
    })

    test('R81 errors have the classes that the client has for them', async () => {
      const { client, ...stage } = await begin()
      const asked = { model: 'claude', max_tokens: 100, messages }
      const wrong = clientOf(scene(), stage as Stage, { apiKey: 'svc_live_wrong' })
      await expect(wrong.messages.create(asked)).rejects.toThrow(AuthenticationError)
      await expect(client.messages.create({ ...asked, model: 'nobody' })).rejects.toThrow(NotFoundError)
      stage.one.behave({ status: 429, body: { type: 'error', error: { type: 'rate_limit_error', message: 'slow' } } })
      await expect(client.messages.create(asked)).rejects.toThrow(RateLimitError)
      stage.one.behave({ cut: { after: 4, how: 'reset' } })
      await expect(client.messages.stream(asked).finalMessage()).rejects.toThrow(APIError)
    })

    test('R81 a Bearer token, as ANTHROPIC_AUTH_TOKEN gives it, alone and beside the key', async () => {
      const stage = await scene().stage()
      const asked = { model: 'claude', max_tokens: 100, messages }
      const bearer = { authorization: `Bearer ${stage.key}` }
      for (const more of [{ apiKey: null, authToken: stage.key }, { defaultHeaders: bearer }]) {
        const client = clientOf(scene(), stage, more)
        expect((await client.messages.create(asked)).type).toBe('message')
      }
    })

    test('R81 models and counted tokens', async () => {
      const { client, one } = await begin()
      const ids: string[] = []
      for await (const { id } of client.models.list({ limit: 5 })) ids.push(id)
      expect(ids).toContain('claude')
      expect((await client.models.retrieve('claude')).display_name).toBe('claude')
      one.behave({ body: { input_tokens: 14 } })
      expect(await client.messages.countTokens({ model: 'claude', messages })).toMatchObject({ input_tokens: 14 })
    })

    test('§11, R81 a keyed turn whose connection breaks: the client’s own retry replays it, charged once', async () => {
      const stage = await scene().stage()
      let calls = 0
      // The first answer is cut off on its way to the client; what the service had of it goes on.
      const cutOnce: typeof fetch = async (url, init) => {
        const response = await fetch(url, init)
        if (++calls > 1) return response
        await stage.until(({ events }) => events.length === 1)
        await response.body?.cancel()
        throw new TypeError('connection reset')
      }
      const client = clientOf(scene(), stage, { maxRetries: 2, fetch: cutOnce })
      const headers = { 'Agent-Idempotency-Key': 'turn-7' }
      const asked = { model: 'claude', max_tokens: 100, messages }
      const message = await client.messages.create(asked, { headers })
      expect([calls, message.stop_reason]).toEqual([2, 'end_turn'])
      expect(stage.one.requests).toHaveLength(1)
      expect((await stage.audit()).spent).toBe(25)
    })
  },
  { config: messagesConfig },
)
