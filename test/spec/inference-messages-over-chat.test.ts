// R81: /anthropic/v1/messages where the upstream speaks chat: translated both ways, with what was left out told.
import { expect, test } from 'vitest'
import { moneyIn } from '../support/inference-client.ts'
import { withScene } from '../support/inference-scene.ts'
import { ask, eventsOf, messagesConfig } from '../support/messages-scene.ts'

const REASONED = { completion_tokens_details: { reasoning_tokens: 386 } }
const tools = [{ name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }]

withScene(
  (scene) => {
    test('R81 a whole message over chat, and what it cost', async () => {
      const stage = await scene().stage()
      const heard = await ask(stage, { model: stage.model, system: 'Be brief.', context_management: { edits: [] } })
      expect(heard.status).toBe(200)
      expect(heard.json).toEqual({
        id: 'msg_upstream',
        type: 'message',
        role: 'assistant',
        model: stage.model,
        content: [{ type: 'text', text: 'Hello from the upstream.' }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage: { input_tokens: 11, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 },
      })
      expect(heard.headers['agent-ignored-fields']).toBe('context_management')
      const sent = await stage.one.request(1)
      expect(sent.path).toBe('/v1/chat/completions')
      expect(sent.body).toEqual({
        model: stage.model,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'hello' },
        ],
        max_tokens: 100,
      })
      expect(Object.keys(sent.headers).filter((name) => name.startsWith('anthropic-'))).toEqual([])
      expect((await stage.audit()).spent).toBe(25)
    })

    test('R81 a stream over chat: blocks, stop reason and usage, charged as told', async () => {
      const stage = await scene().stage()
      stage.one.behave({
        tool_calls: [{ name: 'weather', arguments: '{"city":"Ulm"}' }],
        usage: { input: 11, output: 7, cached: 4 },
      })
      const heard = await ask(stage, { model: stage.model, tools, stream: true })
      const events = eventsOf(heard.text)
      expect(events.map(({ event }) => event)).toEqual([
        'message_start',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ])
      expect(events[1]?.data).toMatchObject({ content_block: { type: 'tool_use', id: 'call_0', name: 'weather' } })
      expect(events[4]?.data).toMatchObject({
        delta: { stop_reason: 'tool_use' },
        usage: { input_tokens: 7, cache_read_input_tokens: 4, output_tokens: 7 },
      })
      expect(moneyIn(heard)).toBe(7 + 2 + 14)
      expect((await stage.audit()).events).toMatchObject([{ input_tokens: 11, output_tokens: 7, tokens_estimated: 0 }])
    })

    test.each([
      ['xAI', { prompt_tokens: 12, completion_tokens: 1, total_tokens: 399, ...REASONED }, 12 + 387 * 2],
      ['Gemini', { prompt_tokens: 9, completion_tokens: 1, total_tokens: 103 }, 9 + 94 * 2],
    ])(
      'R42, R81 what %s reasoned beside what it said costs the same on either surface',
      async (_who, usage, micros) => {
        const stage = await scene().stage()
        const choices = [{ index: 0, message: { role: 'assistant', content: 'Four.' }, finish_reason: 'stop' }]
        stage.one.behave({ body: { id: 'chatcmpl-1', object: 'chat.completion', model: 'm', choices, usage } })
        const heard = await ask(stage, { model: stage.model })
        expect([moneyIn(heard), moneyIn(await stage.chat())]).toEqual([micros, micros])
        expect(heard.json.usage.output_tokens).toBe(usage.total_tokens - usage.prompt_tokens)
        await stage.audit()
      },
    )

    test.each([500, 503])(
      'R2, R81 a chat upstream that fails with %i is no fault of ours: 502, in our words',
      async (status) => {
        const stage = await scene().stage()
        stage.one.behave({ status, body: { error: { message: 'out of memory', type: 'server_error' } } })
        const heard = await ask(stage, { model: stage.model })
        expect([heard.status, heard.json.type, heard.json.error.type]).toEqual([502, 'error', 'api_error'])
        expect(heard.json.error.message).toContain('out of memory')
        expect(heard.json.request_id).toBe(heard.headers['request-id'])
      },
    )

    test('R49, R81 a chat upstream that limits our rate: rate_limit_error, with how long to wait', async () => {
      const stage = await scene().stage()
      const body = { error: { message: 'slow down', type: 'requests' } }
      stage.one.behave({ status: 429, body, headers: { 'retry-after': '7' } })
      const heard = await ask(stage, { model: stage.model })
      expect([heard.status, heard.json.error.type, heard.headers['retry-after']]).toEqual([
        429,
        'rate_limit_error',
        '7',
      ])
      expect(heard.json.error.message).toContain('slow down')
    })

    test('R81 what chat cannot say is 400 by name, sent to nobody; another target that can say it takes it', async () => {
      const stage = await scene().stage()
      const hosted = { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }] }
      const heard = await ask(stage, { model: stage.model, ...hosted })
      expect([heard.status, heard.json.error]).toEqual([
        400,
        { type: 'invalid_request_error', message: expect.stringContaining("'tools[0].type'") },
      ])
      expect(stage.one.requests).toEqual([])
      expect((await stage.audit()).events).toEqual([])
      expect((await ask(stage, { model: 'claude-then-chat', ...hosted })).headers['agent-resolved-provider']).toBe(
        'claude-two',
      )
    })

    test('R81 an error of a chat upstream has the shape of this protocol', async () => {
      const stage = await scene().stage()
      stage.one.behave({
        status: 400,
        body: { error: { message: 'too long', type: 'invalid_request_error', code: null } },
      })
      const heard = await ask(stage, { model: stage.model })
      expect([heard.status, heard.json]).toEqual([
        400,
        { type: 'error', error: { type: 'invalid_request_error', message: 'too long' } },
      ])
    })

    test('R47, R81 a chat stream that breaks off ends with an error event, and nothing is charged', async () => {
      const stage = await scene().stage()
      stage.one.behave({ cut: { after: 3, how: 'reset' } })
      const heard = await ask(stage, { model: stage.model, stream: true })
      expect(eventsOf(heard.text).at(-1)).toMatchObject({ event: 'error', data: { error: { type: 'api_error' } } })
      expect((await stage.audit()).spent).toBe(0)
    })

    test('R53, R81 a keyed stream over chat is replayed as the same bytes', async () => {
      const stage = await scene().stage()
      const keyed = { 'agent-idempotency-key': 'chat-1' }
      const first = await ask(stage, { model: stage.model, stream: true }, keyed)
      const again = await ask(stage, { model: stage.model, stream: true }, keyed)
      expect(again.bytes.equals(first.bytes)).toBe(true)
      expect(again.headers['agent-idempotent-replay']).toBe('true')
      expect(stage.one.requests).toHaveLength(1)
    })

    test('0251, R75 Codex’s tools on a key with a limit: a freeform call comes back as one, and what is left out is told', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      stage.one.behave({ tool_calls: [{ name: 'apply_patch', arguments: '{"input":"*** Begin"}' }] })
      const tools = [
        { type: 'custom', name: 'apply_patch' },
        { type: 'web_search', external_web_access: false },
      ]
      const body = { model: stage.model, input: 'Patch it.', tools, store: false }
      const heard = await stage.ask('/v1/responses', { body })
      expect(heard.json.output).toMatchObject([{ type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin' }])
      expect(heard.headers['agent-ignored-fields']).toBe('tools[1]')
      const sent = await stage.one.request(1)
      expect(sent.body.tools.map((tool: { function: { name: string } }) => tool.function.name)).toEqual(['apply_patch'])
      await stage.audit()
    })
  },
  { config: messagesConfig },
)
