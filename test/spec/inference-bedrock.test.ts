// 0300, 0302: AWS Bedrock. Claude by InvokeModel and its event stream, others by the OpenAI-compatible endpoint; signed,
// and refused where AWS would refuse it.
import { expect, test } from 'vitest'
import { chunkMessage, exceptionMessage } from '../support/aws-event-stream.ts'
import { type BedrockAccount, bedrock, exception } from '../support/bedrock-server.ts'
import { MAX_OUTPUT, PRICES, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { asked, eventsOf, MESSAGES } from '../support/messages-scene.ts'

const KEYS = { access_key_id: 'AKIAIOSFODNN7EXAMPLE', secret_access_key: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }
const TOKEN = 'IQoJb3JpZ2luX2VjEXAMPLETOKEN'
const PROFILE = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const ARN = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123'
const REGION = 'us-east-1'
const priced = { ...PRICES, max_output_tokens: MAX_OUTPUT }
const messages = [{ role: 'user' as const, content: 'hello' }]
const claude = (more: object = {}) => asked({ model: 'br-claude', ...more })

withScene(
  (scene) => {
    const account = (more: Partial<BedrockAccount> = {}): BedrockAccount => ({
      ...KEYS,
      session_token: TOKEN,
      region: REGION,
      service: 'bedrock',
      now: scene().clock.now,
      models: [PROFILE, ARN, 'openai.gpt-oss-120b-1:0'],
      ...more,
    })
    const begin = async () => {
      const stage = await scene().stage()
      stage.one.behave(bedrock(account()))
      return stage
    }

    test('0302 a message: signed, its bytes but for what Bedrock demands, and its answer as it came', async () => {
      const { one, ask, audit } = await begin()
      const body =
        '{"model":"br-claude", "max_tokens":100,"stream":false,  "messages":[{"role":"user","content":"hi"}] , "top_k":3}'
      const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'a-1,b-2' }
      const answer = await ask(`${MESSAGES}?beta=true`, { body, headers })
      expect([answer.status, answer.json.type, answer.json.model]).toEqual([200, 'message', PROFILE])
      expect(answer.headers['agent-resolved-provider']).toBe('aws')
      const [sent] = one.requests
      expect(sent?.path).toBe(`/model/${encodeURIComponent(PROFILE)}/invoke`)
      expect(String(sent?.bytes)).toBe(
        '{"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["a-1","b-2"],"max_tokens":100,  "messages":[{"role":"user","content":"hi"}] , "top_k":3}',
      )
      expect(sent?.headers).not.toHaveProperty('anthropic-version')
      expect((await audit()).spent).toBe(USUAL_COST)
    })

    test.each([1, 7, 100_000])(
      '0302 a stream in pieces of %i bytes: Anthropic’s events, byte for byte',
      async (drip_bytes) => {
        const { one, ask, audit } = await begin()
        const odd =
          '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Grüße, 世界"},"x":1.50}'
        const events = [
          '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"c","content":[],"usage":{"input_tokens":100,"cache_read_input_tokens":60,"cache_creation_input_tokens":10,"output_tokens":1}}}',
          '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
          odd,
          '{"type":"something_new","y":[1,2]}',
          '{"type":"content_block_stop","index":0}',
          '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":10}}',
          '{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":100,"outputTokenCount":10}}',
        ]
        one.behave(bedrock(account(), { frames: events.map(chunkMessage), drip_bytes }))
        const answer = await ask(MESSAGES, { body: claude({ stream: true }) })
        expect(answer.text).toBe(events.map((json) => `event: ${JSON.parse(json).type}\ndata: ${json}\n\n`).join(''))
        expect(one.requests[0]?.path).toBe(`/model/${encodeURIComponent(PROFILE)}/invoke-with-response-stream`)
        expect((await audit()).spent).toBe(100 + 30 + 20 + 20) // 100 read, 60 cached, 10 written, 10 said
      },
    )

    test('0302 money where no event tells it: what Bedrock counted, in its headers and at the end of a stream', async () => {
      const { one, ask, audit } = await begin()
      const counts = { input: 50, output: 5, 'cache-read-input': 20, 'cache-write-input': 10 }
      const headers = Object.fromEntries(
        Object.entries(counts).map(([name, count]) => [`x-amzn-bedrock-${name}-token-count`, String(count)]),
      )
      const untold = {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'c',
        content: [{ type: 'text', text: 'a' }],
      }
      one.behave(bedrock(account(), { behaviour: { headers, body: untold } }))
      const whole = await ask(MESSAGES, { body: claude() })
      expect(whole.json.usage).toMatchObject({ input_tokens: 50, output_tokens: 5, cache_read_input_tokens: 20 })
      const frames = [
        { type: 'message_start', message: { ...untold, content: [] } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
        {
          type: 'message_stop',
          'amazon-bedrock-invocationMetrics': {
            inputTokenCount: 50,
            outputTokenCount: 5,
            cacheReadInputTokenCount: 20,
            cacheWriteInputTokenCount: 10,
          },
        },
      ].map(chunkMessage)
      one.behave(bedrock(account(), { frames }))
      const streamed = await ask(MESSAGES, { body: claude({ stream: true }) })
      expect(eventsOf(streamed.text).at(-2)).toMatchObject({
        event: 'message_delta',
        data: { usage: { output_tokens: 5 } },
      })
      const cost = 50 + 10 + 20 + 10
      expect(await audit()).toMatchObject({
        spent: 2 * cost,
        events: [{ tokens_estimated: 0 }, { tokens_estimated: 0 }],
      })
    })

    test('0302 chat on Claude, whole and streamed: translated, with cache breakpoints', async () => {
      const { one, chat, openai } = await begin()
      const whole = await chat({ model: 'br-claude' })
      expect([whole.status, whole.json.object]).toEqual([200, 'chat.completion'])
      expect(one.requests[0]?.body).toMatchObject({ anthropic_version: 'bedrock-2023-05-31', max_tokens: MAX_OUTPUT })
      let text = ''
      for await (const chunk of await openai().chat.completions.create({ model: 'br-claude', messages, stream: true }))
        text += chunk.choices[0]?.delta.content ?? ''
      expect(text).toBe(whole.json.choices[0].message.content)
    })

    test('0302 a model of OpenAI’s protocol: signed, chat as it is, and responses and Messages over it', async () => {
      const { one, chat, ask, openai, audit } = await begin()
      expect((await chat({ model: 'br-gpt' })).status).toBe(200)
      expect((await ask(MESSAGES, { body: asked({ model: 'br-gpt' }) })).json.type).toBe('message')
      expect((await openai().responses.create({ model: 'br-gpt', input: 'hello' })).output_text).toMatch(/\w/)
      expect(new Set(one.requests.map(({ path }) => path))).toEqual(new Set(['/openai/v1/chat/completions']))
      const none = await ask('/v1/embeddings', { body: { model: 'br-gpt', input: 'a' } })
      expect([none.status, none.json.error.message]).toEqual([400, expect.stringContaining('/v1/embeddings')])
      expect((await audit()).spent).toBe(3 * USUAL_COST)
    })

    test('0302 an inference profile by its ARN speaks Messages where the file says so; a key of Bedrock’s is a bearer', async () => {
      const { one, ask } = await begin()
      one.behave(bedrock(account({ api_key: 'ABSK-bedrock-key' })))
      expect((await ask(MESSAGES, { body: asked({ model: 'br-profile' }) })).status).toBe(200)
      expect(one.requests[0]?.path).toBe(`/model/${encodeURIComponent(ARN)}/invoke`)
      expect(one.requests[0]?.headers.authorization).toBe('Bearer ABSK-bedrock-key')
    })

    test('R81 tokens are counted by Bedrock, with a limit that clients of this need not give', async () => {
      const { one, ask } = await begin()
      const { max_tokens: _, ...unlimited } = claude()
      const answer = await ask(`${MESSAGES}/count_tokens`, { body: unlimited })
      expect([answer.status, answer.json]).toEqual([200, { input_tokens: 42 }])
      expect(one.requests[0]?.path).toBe(`/model/${encodeURIComponent(PROFILE)}/count-tokens`)
    })

    test('R75 a beta that the file does not list, and other headers of the protocol, are left out and told', async () => {
      const { one, ask } = await begin()
      const headers = { 'anthropic-beta': 'taken-1,not-taken-2', 'anthropic-new': 'x' }
      const answer = await ask(MESSAGES, { body: asked({ model: 'br-profile' }), headers })
      one.behave(bedrock(account({ api_key: 'ABSK-bedrock-key' })))
      expect(answer.status).toBe(502)
      const taken = await ask(MESSAGES, { body: asked({ model: 'br-profile' }), headers })
      expect(one.requests.at(-1)?.body.anthropic_beta).toEqual(['taken-1'])
      expect(taken.headers['agent-ignored-fields']).toMatch(/anthropic-beta.*not-taken-2.*anthropic-new/)
    })

    test.each([
      ['a clock that is off', { now: () => scene().clock.now() + 6 * 60_000 }, /Signature expired/],
      ['another region', { region: 'eu-west-1' }, /scoped to a valid region/],
      ['keys that were replaced', { secret_access_key: 'x'.repeat(40) }, /signature we calculated does not match/],
      ['a session token that ended', { session_token: 'another' }, /security token included in the request is invalid/],
    ])('0302 refused by AWS: %s; told as ours, and nothing is charged', async (_case, differing, words) => {
      const { one, ask, get, audit } = await begin()
      one.behave(bedrock(account(differing)))
      const answer = await ask(MESSAGES, { body: claude() })
      expect([answer.status, answer.json.error.type]).toEqual([502, 'api_error'])
      expect(answer.json.error.message).toMatch(words)
      const trace = JSON.stringify((await get(`/v2/traces/${answer.headers['agent-trace-id']}`)).body)
      for (const secret of [KEYS.access_key_id, KEYS.secret_access_key, TOKEN, 'Signature='])
        expect(trace + answer.text + scene().log.join('')).not.toContain(secret)
      expect((await audit()).spent).toBe(0)
    })

    test('planted: a body changed on its way, or a header taken away, is refused by what pretends to be AWS', async () => {
      const { one, ask } = await begin()
      await ask(MESSAGES, { body: claude() })
      const [sent] = one.requests
      if (!sent) throw new Error('nothing was sent')
      const { signatureFault } = await import('../support/aws-signature-check.ts')
      expect(signatureFault(sent, account())).toBeUndefined()
      expect(signatureFault({ ...sent, bytes: Buffer.from('{}') }, account())?.[0]).toBe('InvalidSignatureException')
      const headers = { ...sent.headers, 'content-type': 'text/plain' }
      expect(signatureFault({ ...sent, headers }, account())?.[0]).toBe('InvalidSignatureException')
      expect(signatureFault({ ...sent, path: '/model/other/invoke' }, account())?.[0]).toBe('InvalidSignatureException')
    })

    test.each([
      [429, 'ThrottlingException', 429, 'rate_limit_error'],
      [400, 'ServiceQuotaExceededException', 429, 'rate_limit_error'],
      [400, 'ValidationException', 400, 'invalid_request_error'],
      [404, 'ResourceNotFoundException', 404, 'not_found_error'],
      [408, 'ModelTimeoutException', 504, 'timeout_error'],
      [424, 'ModelErrorException', 500, 'api_error'],
      [500, 'InternalServerException', 500, 'api_error'],
      [503, 'ServiceUnavailableException', 503, 'overloaded_error'],
    ])('0302 %i %s is %i %s, in its words', async (status, name, told, type) => {
      const { one, ask, audit } = await begin()
      one.behave(bedrock(account(), { behaviour: exception(status, name, 'As AWS says it.') }))
      const answer = await ask(MESSAGES, { body: claude() })
      expect([answer.status, answer.json.type, answer.json.error]).toEqual([
        told,
        'error',
        { type, message: 'As AWS says it.' },
      ])
      expect((await audit()).spent).toBe(0)
    })

    test.each([
      ['throttled', { behaviour: exception(429, 'ThrottlingException', 'Too many requests.') }],
      ['failed by the model', { behaviour: exception(424, 'ModelErrorException', 'It failed.') }],
      ['broken before anything was said', { frames: [exceptionMessage('modelStreamErrorException', 'It broke.')] }],
      ['tampered with', { frames: [Buffer.from(chunkMessage({ type: 'ping' })).fill(0, 40, 44)] }],
    ])('R47 %s: the next target answers', async (_case, manner) => {
      const { one, two, ask, audit } = await begin()
      one.behave(bedrock(account(), manner))
      two.behave({})
      const answer = await ask(MESSAGES, { body: asked({ model: 'br-both', stream: true }) })
      expect([answer.status, answer.headers['agent-resolved-provider']]).toEqual([200, 'direct'])
      expect((await audit()).spent).toBe(USUAL_COST)
    })

    test('R47 an exception in mid-stream is an error event, in Anthropic’s form, and nothing is charged', async () => {
      const { one, ask, audit } = await begin()
      const frames = [
        chunkMessage({
          type: 'message_start',
          message: { id: 'msg_1', model: 'c', content: [], usage: { input_tokens: 9, output_tokens: 1 } },
        }),
        chunkMessage({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
        chunkMessage({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } }),
        exceptionMessage('throttlingException', 'Too many tokens, please wait.'),
      ]
      one.behave(bedrock(account(), { frames, drip_bytes: 64 }))
      const events = eventsOf((await ask(MESSAGES, { body: claude({ stream: true }) })).text)
      expect(events.at(-1)).toEqual({
        event: 'error',
        data: { type: 'error', error: { type: 'rate_limit_error', message: 'Too many tokens, please wait.' } },
      })
      expect((await audit()).spent).toBe(0)
    })

    test('T-85 what was sent to prove who asks is told on to nobody, also where AWS repeats it in its own words', async () => {
      const { one, ask } = await begin()
      const words = `The token ${TOKEN} of ${KEYS.access_key_id} is not in order.`
      one.behave(bedrock(account(), { behaviour: exception(400, 'ValidationException', words) }))
      const answer = await ask(MESSAGES, { body: claude() })
      const told = 'The token [removed] of [removed] is not in order.'
      expect([answer.status, answer.json.error.message]).toEqual([400, told])
    })

    test('R26 a client that leaves: Bedrock is left too, and what was produced is charged', async () => {
      const { one, open, until } = await begin()
      let left: Promise<unknown> | undefined
      one.behave((request) => {
        left = request.over
        return {
          respond(_request, response) {
            response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
            for (const event of [
              {
                type: 'message_start',
                message: { id: 'msg_1', model: 'c', content: [], usage: { input_tokens: 10, output_tokens: 1 } },
              },
              { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
              { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'four words are here' } },
            ])
              response.write(chunkMessage(event))
          },
        }
      })
      const call = open(MESSAGES, { body: claude({ stream: true }) })
      await call.says('four words')
      call.leave()
      expect(await left).toBe('left')
      const ledger = await until(({ events }) => events.length === 1)
      expect(ledger.events[0]).toMatchObject({ status: 'client_left', input_tokens: 10 })
      expect(ledger.held).toBe(0)
    })

    test('R79, 0300 keys of a project’s own: its region, its profiles, verified where calls go, and never shown', async () => {
      const { one, post, ask, get } = await begin()
      const eu = { region: 'eu-central-1', models: ['eu.anthropic.claude-x'], now: scene().clock.now }
      one.behave(bedrock({ ...account(eu), ...KEYS, session_token: undefined as never }))
      const own = { provider: 'bedrock', name: 'ours', aws: KEYS, region: 'eu-central-1', base_url: one.origin }
      for (const [wrong, field] of [
        [{ ...own, region: undefined }, 'region'],
        [{ ...own, region: 'mars' }, 'region'],
        [{ ...own, base_url: 'https://bedrock-runtime.us-east-1.amazonaws.com' }, 'region'],
        [{ ...own, models: undefined }, 'models'],
        [{ ...own, secret: 'sk-1' }, 'aws'],
        [{ ...own, provider: 'openai', region: undefined }, 'aws'],
        [{ ...own, api_version: '2024-10-21' }, 'api_version'],
        [{ ...own, aws: { ...KEYS, secret_access_key: 'a b' } }, 'aws.secret_access_key'],
      ] as const) {
        const answer = await scene().storingNothing(() => post('/v2/provider-credentials', wrong))
        expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining(`'${field}'`)])
        expect(answer.body.error.message).not.toContain(KEYS.secret_access_key)
      }
      const models = { 'my-claude': 'eu.anthropic.claude-x' }
      const entered = await post('/v2/provider-credentials', { ...own, models })
      expect(entered.body).toMatchObject({ status: 'active', region: 'eu-central-1', masked: 'AKIA…MPLE', models })
      expect((await post(`/v2/provider-credentials/${entered.body.id}/verify`, {})).body.status).toBe('active')
      expect(one.requests.at(-1)?.path).toBe('/model/eu.anthropic.claude-x/invoke')
      const answer = await ask(MESSAGES, { body: asked({ model: 'my-claude' }) })
      expect([answer.status, answer.headers['agent-byok-credential-id']]).toEqual([200, entered.body.id])
      expect(answer.headers['agent-region']).toBe('eu-central-1')
      expect((await post('/v2/project/regions', { allowed_regions: ['eu-central-1'] })).status).toBe(200)
      expect((await ask(MESSAGES, { body: asked({ model: 'my-claude' }) })).status).toBe(200)
      one.behave(bedrock(account({ secret_access_key: 'x'.repeat(40) })))
      expect((await post(`/v2/provider-credentials/${entered.body.id}/verify`, {})).body.status).toBe('refused')
      const shown = JSON.stringify((await get('/v2/provider-credentials')).body) + scene().log.join('')
      for (const secret of [KEYS.access_key_id, KEYS.secret_access_key]) expect(shown).not.toContain(secret)
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
          session_token: TOKEN,
          models: [
            { id: 'br-claude', upstream_id: PROFILE, ...priced },
            { id: 'br-both', upstream_id: PROFILE, ...priced },
            { id: 'br-gpt', upstream_id: 'openai.gpt-oss-120b-1:0', ...priced },
          ],
        },
        {
          id: 'aws-key',
          protocol: 'bedrock',
          region: REGION,
          base_url: one.origin,
          api_key: 'ABSK-bedrock-key',
          betas: ['taken-1'],
          models: [{ id: 'br-profile', upstream_id: ARN, speaks: 'messages', ...priced }],
        },
        {
          id: 'direct',
          protocol: 'anthropic',
          base_url: two.base_url,
          api_key: 'sk-ant',
          models: [{ id: 'br-both', ...priced }],
        },
      ],
    }),
  },
)
