// R81: /anthropic/v1/messages on upstreams that speak Anthropic's protocol: bytes and headers through, errors in its
// shape, failover until the first block, and money, limits and replays as on /v1.
import { expect, test } from 'vitest'
import { moneyIn } from '../support/inference-client.ts'
import { holdFor, withScene } from '../support/inference-scene.ts'
import { ask, asked, eventsOf, MESSAGES, messagesConfig } from '../support/messages-scene.ts'

withScene(
  (scene) => {
    test('R81 a whole message: the body as it was sent, but for the model; the answer as it came', async () => {
      const stage = await scene().stage()
      const body = `{ "model" : "claude-named","max_tokens": 1e2 , "messages":[{"role":"user","content":"h\\u0065llo"}],"future":{"a":[1.0]}}`
      const heard = await stage.ask(`${MESSAGES}?beta=true`, {
        body: Buffer.from(body),
        headers: { 'anthropic-beta': 'a-1,b-2', 'anthropic-version': '2099-01-01', 'anthropic-later': 'x' },
      })
      const sent = await stage.one.request(1)
      expect(sent.bytes.toString()).toBe(body.replace('"claude-named"', '"real"'))
      expect(sent.path).toBe('/v1/messages?beta=true')
      expect(sent.headers).toMatchObject({
        'x-api-key': 'sk-ant-one',
        'anthropic-beta': 'a-1,b-2',
        'anthropic-version': '2099-01-01',
        'anthropic-later': 'x',
      })
      expect(sent.headers.authorization).toBeUndefined()
      expect(heard.status).toBe(200)
      expect(heard.json).toMatchObject({ type: 'message', model: 'real', stop_reason: 'end_turn' })
      expect(heard.headers).toMatchObject({
        'agent-charged-micros': '25',
        'agent-resolved-provider': 'claude-one',
        'request-id': heard.headers['x-request-id'],
      })
      expect((await stage.audit()).spent).toBe(25)
    })

    test('R81 a stream: every event as it came, unknown ones and pings too, and its cost behind it', async () => {
      const stage = await scene().stage()
      const events = [
        'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"usage":{"input_tokens":11,"output_tokens":1}}}\n\n',
        'event: ping\ndata: {"type": "ping"}\n\n',
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}\n\n',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}\n\n',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB=="}}\n\n',
        'event: from_the_future\ndata: {"type":"from_the_future","x":[1,2]}\n\n',
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}\n\n',
        'event: message_stop\ndata: {"type":"message_stop"}\n\n',
      ]
      stage.one.behave({
        respond(_request, response) {
          response.writeHead(200, { 'content-type': 'text/event-stream', 'anthropic-ratelimit-tokens-limit': '5' })
          response.end(events.join(''))
        },
      })
      const heard = await ask(stage, { stream: true })
      expect(heard.text).toBe(events.join(''))
      expect(heard.headers['anthropic-ratelimit-tokens-limit']).toBe('5')
      expect(moneyIn(heard)).toBe(25)
      expect((await stage.audit()).events).toMatchObject([{ status: 'completed', input_tokens: 11, output_tokens: 7 }])
    })

    test.each([
      ['x-api-key', (key: string) => ({ 'x-api-key': key, authorization: '' })],
      ['both alike', (key: string) => ({ 'x-api-key': key, authorization: `Bearer ${key}` })],
      ['Bearer', (key: string) => ({ authorization: `Bearer ${key}` })],
    ])('R81 a key as %s', async (_how, headersOf) => {
      const stage = await scene().stage()
      const headers = Object.fromEntries(Object.entries(headersOf(stage.key)).filter(([, value]) => value !== ''))
      const sent = await fetch(`${scene().origin}${MESSAGES}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(asked()),
      })
      expect(sent.status).toBe(200)
    })

    test('R81 two keys that differ are none, and x-api-key opens no other route', async () => {
      const stage = await scene().stage()
      const other = await scene().stage()
      const differing = await ask(stage, {}, { 'x-api-key': other.key })
      expect(differing.status).toBe(401)
      expect(differing.json).toEqual({
        type: 'error',
        error: { type: 'authentication_error', message: expect.stringContaining('the same in both') },
        request_id: differing.headers['x-request-id'],
      })
      const elsewhere = await fetch(`${scene().origin}/v1/models`, { headers: { 'x-api-key': stage.key } })
      expect(elsewhere.status).toBe(401)
      expect(stage.one.requests).toEqual([])
    })

    test.each([
      [404, 'not_found_error', { model: 'nobody-has-this' }],
      [400, 'invalid_request_error', { max_tokens: undefined }],
      [400, 'invalid_request_error', { max_tokens: 1.5 }],
      [400, 'invalid_request_error', { messages: [] }],
    ])('R81 our own %i is a %s, and nobody was asked', async (status, type, more) => {
      const stage = await scene().stage()
      const heard = await ask(stage, more)
      expect(heard.status).toBe(status)
      expect(heard.json).toMatchObject({ type: 'error', error: { type }, request_id: heard.headers['request-id'] })
      expect(stage.one.requests).toEqual([])
      expect((await stage.audit()).events).toEqual([])
    })

    test('R81 unknown paths, wrong methods and bodies too large are told in that shape too', async () => {
      const stage = await scene().stage()
      const unknown = await stage.ask('/anthropic/v1/nothing', { body: {} })
      expect([unknown.status, unknown.json.error.type]).toEqual([404, 'not_found_error'])
      const method = await stage.ask(MESSAGES, { method: 'DELETE' })
      expect([method.status, method.json.error.type]).toEqual([405, 'invalid_request_error'])
      const large = await stage.ask(MESSAGES, { body: Buffer.alloc(16 * 1024 * 1024 + 1, 0x20) })
      expect([large.status, large.json.error.type]).toEqual([413, 'request_too_large'])
      const broken = await stage.ask(MESSAGES, { body: '{' })
      expect([broken.status, broken.json.error.type]).toEqual([400, 'invalid_request_error'])
    })

    test('R81, R45 a budget that is used up: rate_limit_error, not to be tried again, and looked up afterwards', async () => {
      const stage = await scene().stage({ key: 50 })
      const heard = await ask(stage)
      expect([heard.status, heard.json.error.type]).toEqual([429, 'rate_limit_error'])
      expect(heard.headers['x-should-retry']).toBe('false')
      expect(heard.headers['retry-after']).toBeUndefined()
      const { body } = await stage.get(`/v2/traces/${heard.headers['agent-trace-id']}`)
      expect(body).toMatchObject({ outcome: 'refused', endpoint: MESSAGES, requested_model: 'claude' })
      expect(stage.one.requests).toEqual([])
      await stage.audit()
    })

    test.each([400, 413, 422, 429, 500, 529])('R81 an upstream’s own %i goes on byte for byte', async (status) => {
      const stage = await scene().stage()
      const body = `{"type": "error","error":{"type":"some_error","message":"prompt is too long: 9 > 8"}, "request_id":"req_u"}`
      stage.one.behave({ status, body: Buffer.from(body), headers: { 'anthropic-note': 'n', 'retry-after': '7' } })
      const heard = await ask(stage)
      expect(heard.status).toBe(status)
      expect(heard.text).toBe(body)
      expect(heard.headers['anthropic-note']).toBe('n')
      if (status === 429) expect(heard.headers['retry-after']).toBe('7')
      expect((await stage.audit()).spent).toBe(0)
    })

    test.each([400, 422])(
      'R81 an upstream’s own %i in another protocol’s shape is told in this one',
      async (status) => {
        const stage = await scene().stage()
        stage.two.behave({
          status,
          body: { error: { code: status, message: 'too long', type: 'invalid_request_error' } },
        })
        const heard = await ask(stage, { model: 'llama-messages' })
        expect(heard.status).toBe(status)
        expect(heard.json).toEqual({ type: 'error', error: { type: 'invalid_request_error', message: 'too long' } })
      },
    )

    test('R80, R81 an error that quotes the credential we sent is told without it', async () => {
      const stage = await scene().stage()
      const error = { type: 'invalid_request_error', message: 'unknown header x-api-key: sk-ant-one' }
      stage.one.behave({ status: 400, body: { type: 'error', error } })
      const heard = await ask(stage)
      expect([heard.status, heard.json.type, heard.json.error.type]).toEqual([400, 'error', 'invalid_request_error'])
      expect(heard.text).toContain('unknown header')
      expect(heard.text).not.toContain('sk-ant-one')
    })

    test('R81 a credential that the upstream refuses is not the client’s: 502, in our words', async () => {
      const stage = await scene().stage()
      stage.one.behave({ status: 401, body: { type: 'error', error: { type: 'authentication_error', message: 'no' } } })
      const heard = await ask(stage)
      expect([heard.status, heard.json.error.type]).toEqual([502, 'api_error'])
    })

    test('R47, R81 failover until the first block; after it an error event', async () => {
      const stage = await scene().stage()
      stage.one.behave({ cut: { after: 2, how: 'reset' } }) // message_start and ping have come
      const heard = await ask(stage, { model: 'claude-both', stream: true })
      expect(heard.headers['agent-resolved-provider']).toBe('claude-two')
      expect(heard.headers['agent-qos-fallback-used']).toBe('true')
      stage.one.behave({ cut: { after: 3, how: 'reset' } })
      const broken = await ask(stage, { model: 'claude-both', stream: true })
      const last = eventsOf(broken.text).at(-1)
      expect(last).toMatchObject({ event: 'error', data: { type: 'error', error: { type: 'api_error' } } })
      expect(moneyIn(broken)).toBe(0)
      await stage.audit()
    })

    test('R81 signed thinking does not go on to another vendor', async () => {
      const stage = await scene().stage()
      stage.one.behave({ status: 529 })
      const messages = [
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: 'EqQB==' }] },
        { role: 'user', content: 'go on' },
      ]
      const plain = await ask(stage, { model: 'claude-both' })
      expect(plain.status).toBe(200)
      stage.two.requests.length = 0
      const signed = await ask(stage, { model: 'claude-both', messages })
      expect(signed.status).toBe(502)
      expect(stage.two.requests).toEqual([])
      const nowhere = await ask(stage, { model: stage.model, messages })
      expect([nowhere.status, nowhere.json.error.message]).toEqual([
        400,
        expect.stringContaining("'messages[1].content[0]'"),
      ])
    })

    test('§11, R26 a keyed stream whose connection breaks: the retry replays it, charged once', async () => {
      const stage = await scene().stage()
      let release = () => {}
      const gate = new Promise<void>((resolve) => {
        release = resolve
      })
      stage.one.behave({ pace: (event) => (event === 4 ? gate : undefined) })
      const keyed = { 'agent-idempotency-key': 'turn-1' }
      const open = stage.open(MESSAGES, { body: asked({ stream: true }), headers: keyed })
      await open.says('content_block_delta')
      open.leave()
      release()
      await stage.until(({ events }) => events.length === 1)
      const again = await stage.ask(MESSAGES, { body: asked({ stream: true }), headers: keyed })
      expect(again.headers['agent-idempotent-replay']).toBe('true')
      expect(eventsOf(again.text).at(-1)?.event).toBe('message_stop')
      expect(stage.one.requests).toHaveLength(1)
      expect((await stage.audit()).spent).toBe(25)
    })

    test('§11 a keyed whole message is replayed as the same bytes', async () => {
      const stage = await scene().stage()
      const keyed = { 'agent-idempotency-key': 'turn-2' }
      const first = await ask(stage, {}, keyed)
      const again = await ask(stage, {}, keyed)
      expect(again.bytes.equals(first.bytes)).toBe(true)
      expect(again.headers['agent-idempotent-replay']).toBe('true')
      expect((await stage.audit()).spent).toBe(25)
    })

    test('R81 a server that speaks both protocols takes Messages as they are', async () => {
      const stage = await scene().stage()
      const heard = await ask(stage, { model: 'llama-messages' }, { 'anthropic-beta': 'x' })
      expect(heard.json.type).toBe('message')
      const sent = await stage.two.request(1)
      expect([sent.path, sent.headers.authorization]).toEqual(['/v1/messages', 'Bearer sk-vllm'])
    })

    test('R52, R81 a cluster that says it speaks Messages gets them as they are', async () => {
      const stage = await scene().stage()
      const endpoint = stage.two.base_url
      const { id } = (await stage.post('/v2/byoc/clusters', { name: 'own', region: 'eu', endpoint })).body
      const beat = { status: 'active', models: [{ id: 'own-model' }], protocols: ['messages'] }
      await stage.post(`/v2/byoc/clusters/${id}/heartbeat`, beat)
      expect((await ask(stage, { model: 'own-model' })).status).toBe(200)
      expect((await stage.two.request(1)).path).toBe('/v1/messages')
    })

    test('R81 tokens are counted by the upstream, for nothing; 404 where it counts none', async () => {
      const stage = await scene().stage()
      stage.one.behave({ body: Buffer.from('{"input_tokens": 14}') })
      const { max_tokens: _, ...body } = asked({ model: 'claude-named' })
      const heard = await stage.ask(`${MESSAGES}/count_tokens?beta=true`, { body })
      expect([heard.status, heard.text]).toEqual([200, '{"input_tokens": 14}'])
      const sent = await stage.one.request(1)
      expect([sent.path, sent.body.model]).toEqual(['/v1/messages/count_tokens?beta=true', 'real'])
      const none = await stage.ask(`${MESSAGES}/count_tokens`, { body: { ...body, model: stage.model } })
      expect([none.status, none.json.error.type]).toEqual([404, 'not_found_error'])
      for (const [wrong, message] of [
        ['[]', 'The body must be a JSON object.'],
        [{ ...body, model: 'm'.repeat(257) }, "'model' must be a name of at most 256 characters."],
      ] as const) {
        const refused = await stage.ask(`${MESSAGES}/count_tokens`, { body: wrong })
        expect([refused.status, refused.json.error.message]).toEqual([400, message])
      }
      expect((await stage.audit()).events).toEqual([])
    })

    test('R81 models as that protocol lists them, in pages where asked', async () => {
      const stage = await scene().stage()
      const all = await stage.ask('/anthropic/v1/models', { method: 'GET' })
      const ids = all.json.data.map(({ id }: { id: string }) => id)
      expect(ids).toContain('claude')
      expect(all.json).toMatchObject({ has_more: false, first_id: ids[0], last_id: ids.at(-1) })
      expect(all.json.data[0]).toEqual({
        id: ids[0],
        type: 'model',
        display_name: ids[0],
        created_at: expect.stringMatching(/^\d{4}-/),
      })
      const page = await stage.ask(`/anthropic/v1/models?limit=2&after_id=${ids[0]}`, { method: 'GET' })
      expect(page.json.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(1, 3))
      expect(page.json.has_more).toBe(true)
      const one = await stage.ask('/anthropic/v1/models/claude', { method: 'GET' })
      expect(one.json.id).toBe('claude')
      expect((await stage.ask('/anthropic/v1/models/no/such', { method: 'GET' })).json.error.type).toBe(
        'not_found_error',
      )
    })

    test('R81 sessions of Claude Code count in usage, and its agents in the trace', async () => {
      const stage = await scene().stage()
      const headers = {
        'x-claude-code-session-id': 'session-7',
        'x-claude-code-agent-id': 'agent-2',
        'x-claude-code-parent-agent-id': 'agent-1',
      }
      const heard = await ask(stage, {}, headers)
      const { body } = await stage.get(`/v2/traces/${heard.headers['agent-trace-id']}`)
      expect(body).toMatchObject({
        agent_id: 'agent-2',
        parent_agent_id: 'agent-1',
        usage: { session_id: 'session-7' },
      })
      const sent = await stage.one.request(1)
      expect(sent.headers['x-claude-code-session-id']).toBeUndefined()
    })

    test('R76 clamp_output: the call gets what the budget buys, and is told; without it 429', async () => {
      const stage = await scene().stage({ key: 400 })
      const more = { max_tokens: 900, thinking: { type: 'enabled', budget_tokens: 1_024 } }
      const refused = await ask(stage, { max_tokens: 900 })
      expect(refused.status).toBe(429)
      expect(stage.one.requests).toEqual([])
      const changed = await stage.patch(`/v2/api-keys/${stage.key_id}`, { clamp_output: true })
      expect(changed.body.clamp_output).toBe(true)
      const heard = await ask(stage, { max_tokens: 900 })
      const bought = Number(heard.headers['agent-output-clamped'])
      expect(heard.status).toBe(200)
      expect(bought).toBe(Math.floor((400 - holdFor(asked({ max_tokens: 900 }), 0)) / 2))
      expect((await stage.one.request(1)).body.max_tokens).toBe(bought)
      expect((await ask(stage, more)).status).toBe(429) // no thinking fits into what is left
      await stage.patch(`/v2/api-keys/${stage.key_id}`, { clamp_output: null })
      expect((await ask(stage, { max_tokens: 900 })).status).toBe(429)
      await stage.audit()
    })

    test('R76 a lowered limit lowers the thinking that must fit into it', async () => {
      const stage = await scene().stage({ key: 4_000 })
      await stage.patch(`/v2/api-keys/${stage.key_id}`, { clamp_output: true })
      const heard = await ask(stage, { max_tokens: 9_000, thinking: { type: 'enabled', budget_tokens: 8_000 } })
      const bought = Number(heard.headers['agent-output-clamped'])
      expect((await stage.one.request(1)).body).toMatchObject({
        max_tokens: bought,
        thinking: { type: 'enabled', budget_tokens: bought - 1 },
      })
    })

    test('0250, R75 chat on Messages: breakpoints where none were set, and what was left out is told', async () => {
      const stage = await scene().stage()
      const body = { messages: [{ role: 'system', content: 'Be brief.' }, ...asked().messages], seed: 7 }
      stage.one.behave({ usage: { input: 111, output: 7, cached: 100 } })
      const heard = await stage.chat({ ...body, model: 'claude' })
      expect([heard.status, heard.headers['agent-ignored-fields'], moneyIn(heard)]).toEqual([200, 'seed', 11 + 50 + 14])
      const marked = { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }
      expect((await stage.one.request(1)).body.system).toEqual([marked])
      await stage.chat({ ...body, model: 'claude-uncached' })
      expect((await stage.one.request(2)).body.system).toEqual([{ type: 'text', text: 'Be brief.' }])
      const refused = await stage.chat({ ...body, model: 'claude', logprobs: true })
      expect([refused.status, refused.json.error.message]).toEqual([400, expect.stringContaining("'logprobs'")])
      expect(stage.one.requests).toHaveLength(2)
      await stage.audit()
    })
  },
  { config: messagesConfig },
)
