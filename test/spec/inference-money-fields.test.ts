// R76 over the whole path: fields that decide money are what they must be, or nobody is called; a clamp is told, under
// the name that the model takes; and what has no price is refused where a limit is to be kept.
import { describe, expect, test } from 'vitest'
import { comesTrue, envelope } from '../support/inference-cases.ts'
import { moneyIn } from '../support/inference-client.ts'
import { CHAT, holdFor, PRICES, type Stage, setKeyLimit, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'
import { SERVICE_ACCOUNT } from '../support/vertex-server.ts'

const LIMIT = 1_000_000
const INVALID = [400, 'invalid_request_error', undefined]

/** Refused, by name; and nobody was asked, nothing held, nothing recorded. */
async function refused(stage: Stage, body: string | object, field: string, path = CHAT) {
  const heard = await stage.ask(path, { body })
  expect([envelope(heard), heard.json.error.message]).toEqual([INVALID, expect.stringContaining(`'${field}'`)])
  expect(stage.one.requests).toHaveLength(0)
  expect((await stage.audit()).events).toEqual([])
}

const CLAUDE_ON_BEDROCK = 'anthropic.claude-sonnet-5-v1:0'
const CLAUDE_ON_VERTEX = 'claude-sonnet-5@20260101'

const model = (id: string) => ({ id, ...PRICES, max_output_tokens: 1_000 })

withScene(
  (scene) => {
    const both = [
      ['with a limit', { key: LIMIT }],
      ['without one', {}],
    ] as const

    describe('fields that decide money', () => {
      test.each(both)(
        'R76 of the wrong type or range: 400 to a key %s, and nobody is called',
        async (_whose, limits) => {
          const stage = await scene().stage(limits)
          const cases: [object, string][] = [
            [{ max_completion_tokens: '4000' }, 'max_completion_tokens'],
            [{ max_tokens: -5 }, 'max_tokens'],
            [{ max_tokens: 0 }, 'max_tokens'],
            [{ max_tokens: '100' }, 'max_tokens'],
            [{ n: '64' }, 'n'],
            [{ n: 129 }, 'n'],
            [{ best_of: 0 }, 'best_of'],
            [{ Max_Tokens: 4_000, max_tokens: 1 }, 'max_tokens'],
            [{ stream: 'yes' }, 'stream'],
            [{ stream: true, stream_options: { include_usage: 'no' } }, 'stream_options.include_usage'],
          ]
          for (const [more, field] of cases) await refused(stage, stage.bodyOf(more), field)
          const response = { model: stage.model, input: 'hello', max_output_tokens: 2.5 }
          await refused(stage, response, 'max_output_tokens', '/v1/responses')
        },
      )

      test.each(both)(
        'R76 given twice, in any spelling: 400 to a key %s, and nobody is called',
        async (_whose, limits) => {
          const stage = await scene().stage(limits)
          const body = JSON.stringify(stage.bodyOf()).slice(0, -1)
          await refused(stage, `${body},"max_tokens":4000,"max_tokens":1}`, 'max_tokens')
          await refused(stage, `${body},"max_tokens":4000,"max\\u005ftokens":1}`, 'max_tokens')
          await refused(stage, `${body},"n":64,"n":1}`, 'n')
          await refused(stage, `${body},"model":${JSON.stringify(stage.model)}}`, 'model')
          const response = `{"model":"${stage.model}","input":"a","max_output_tokens":9,"max_output_tokens":1}`
          await refused(stage, response, 'max_output_tokens', '/v1/responses')
        },
      )

      test('R76 null is as good as nothing', async () => {
        const stage = await scene().stage({ key: LIMIT })
        const nothing = { n: null, max_tokens: null, max_completion_tokens: null, stream: null, stream_options: null }
        expect((await stage.chat(nothing)).status).toBe(200)
      })
    })

    describe('a clamp', () => {
      /** What is told, and what the upstream was asked for. */
      async function clamped(stage: Stage, body: object, path = CHAT) {
        await setKeyLimit(scene().db, stage.key_id, holdFor(body, 37) + 1)
        const { headers, status } = await stage.ask(path, { body })
        const { max_tokens, max_completion_tokens, max_output_tokens } = stage.one.requests[0]?.body ?? {}
        expect([status, headers['agent-output-clamped']]).toEqual([200, '37'])
        return { max_tokens, max_completion_tokens, max_output_tokens }
      }

      test.each([
        ['llama-4', 'max_tokens'],
        ['gpt-4o-custom', 'max_tokens'],
        ['o3-custom', 'max_completion_tokens'],
        ['openai/gpt-5.4', 'max_completion_tokens'],
        ['deployed', 'max_completion_tokens'], // by the operator's word
      ])('R76 is told, and %s hears of it as %s', async (name, field) => {
        const stage = await scene().stage()
        expect(await clamped(stage, stage.bodyOf({ model: name }))).toEqual({ [field]: 37 })
      })

      test('R76 of a response over chat, under the name that the model takes', async () => {
        const stage = await scene().stage()
        const body = { model: 'o3-custom', input: 'hello' }
        expect(await clamped(stage, body, '/v1/responses')).toEqual({ max_completion_tokens: 37 })
      })

      test('R76 is in the trace, and absent where nothing was clamped', async () => {
        const stage = await scene().stage()
        await clamped(stage, stage.bodyOf())
        const [event] = (await stage.audit()).events
        const { headers } = (await stage.get(`/v2/traces/${event?.trace_id}`)).body
        expect(headers).toContainEqual(expect.objectContaining({ name: 'agent-output-clamped', value: '37' }))
        await setKeyLimit(scene().db, stage.key_id, LIMIT)
        expect((await stage.chat()).headers).not.toHaveProperty('agent-output-clamped')
      })
    })

    describe('fields that change the price', () => {
      const audio = { voice: 'alloy', format: 'wav' }
      const cached = [{ type: 'text', text: 'hello', cache_control: { type: 'ephemeral', ttl: '1h' } }]
      const CHANGING: [object, string][] = [
        [{ service_tier: 'priority' }, 'service_tier'],
        [{ service_tier: 'flex' }, 'service_tier'],
        [{ web_search_options: {} }, 'web_search_options'],
        [{ audio }, 'audio'],
        [{ modalities: ['text', 'audio'] }, 'modalities'],
        [{ prediction: { type: 'content', content: 'x' } }, 'prediction'],
        [{ tools: [{ type: 'function', function: { name: 'f' } }, { type: 'web_search' }] }, 'tools[1].type'],
        [{ messages: [{ role: 'user', content: cached }] }, 'cache_control.ttl'],
      ]

      test.each(CHANGING)('R76 %j: refused on a limited key, on without one', async (more, field) => {
        const limited = await scene().stage({ key: LIMIT })
        await refused(limited, limited.bodyOf(more), field)
        const capped = await scene().stage({ project: LIMIT })
        await refused(capped, capped.bodyOf(more), field)
        const free = await scene().stage()
        expect((await free.chat(more)).status).toBe(200)
        expect(free.one.requests[0]?.body).toMatchObject(more)
      })

      test.each(['web_search', 'file_search', 'code_interpreter', 'image_generation', 'computer_use_preview'])(
        'R76 a hosted tool of the Responses API, %s: refused on a limited key',
        async (type) => {
          const stage = await scene().stage({ key: LIMIT })
          const body = { model: 'native', input: 'hello', tools: [{ type }] }
          await refused(stage, body, 'tools[0].type', '/v1/responses')
        },
      )

      test.each([{ type: 'item_reference', id: 'msg_theirs' }, { id: 'rs_theirs' }])(
        'R76 what points at the upstream’s own state, %j, brings any length: refused on a limited key, on without one',
        async (reference) => {
          const body = { model: 'native', input: [{ role: 'user', content: 'go on' }, reference] }
          await refused(await scene().stage({ key: LIMIT }), body, 'input[1]', '/v1/responses')
          const free = await scene().stage()
          expect((await free.ask('/v1/responses', { body })).status).toBe(200)
        },
      )

      const compacting = { edits: [{ type: 'compact_20260112' }] }
      const CHANGING_MESSAGES: [object, string][] = [
        [{ inference_geo: 'us' }, 'inference_geo'],
        [{ speed: 'fast' }, 'speed'],
        [{ mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'x' }] }, 'mcp_servers'],
        [{ context_management: compacting }, 'context_management.edits[0].type'],
        [{ container: { skills: [] } }, 'container'],
      ]

      test.each(['claude', CLAUDE_ON_BEDROCK, CLAUDE_ON_VERTEX])(
        'R76, R81 what Messages have no price for, asked of %s by chat or responses: refused on a limited key',
        async (name) => {
          const stage = await scene().stage({ key: LIMIT })
          for (const [more, field] of CHANGING_MESSAGES)
            await refused(stage, stage.bodyOf({ model: name, ...more }), field)
          const response = { model: name, input: 'hello', inference_geo: 'us' }
          await refused(stage, response, 'inference_geo', '/v1/responses')
        },
      )

      test('R76, R81 without a limit they go along, and with one what says the same as nothing', async () => {
        const free = await scene().stage()
        for (const [more] of CHANGING_MESSAGES) {
          expect((await free.chat({ model: 'claude', ...more })).status).toBe(200)
          expect(free.one.requests.at(-1)?.body).toMatchObject(more)
        }
        const limited = await scene().stage({ key: LIMIT })
        const usual = { inference_geo: 'global', speed: 'standard', mcp_servers: [], container: null }
        const tools = [{ type: 'function', function: { name: 'f' } }]
        expect((await limited.chat({ model: 'claude', tools, ...usual })).status).toBe(200)
        expect((await limited.chat({ speed: 'fast' })).status).toBe(200) // of another protocol, and not known there
      })

      test('R76 what costs no more than usual is let through', async () => {
        const stage = await scene().stage({ key: LIMIT })
        const usual = [
          { service_tier: 'auto', modalities: ['text'], audio: null, prediction: null, web_search_options: null },
          { service_tier: 'default', tools: [{ type: 'function', function: { name: 'f' } }] },
          {
            messages: [{ role: 'user', content: [{ ...cached[0], cache_control: { type: 'ephemeral', ttl: '5m' } }] }],
          },
        ]
        for (const more of usual) expect((await stage.chat(more)).status).toBe(200)
      })

      test('R76 an hour in the cache is held and charged at its own price, where it has one', async () => {
        const stage = await scene().stage({ key: LIMIT })
        const gate = deferred()
        const usage = {
          input_tokens: 10,
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 50,
          cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
          output_tokens: 5,
        }
        const content = [{ type: 'text', text: 'hi' }]
        const body = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content, usage }
        stage.one.next({ wait: gate.promise, body: { ...body, stop_reason: 'end_turn' } })
        const asked = stage.bodyOf({ model: 'claude', max_tokens: 10, messages: [{ role: 'user', content: cached }] })
        const call = stage.open(CHAT, { body: asked })
        await comesTrue(async () => stage.one.requests.length === 1)
        // Each token of the prompt at four: an hour's price, and not two as for five minutes.
        const bytes = JSON.stringify(asked).length
        expect((await stage.ledger()).held).toBe(4 * Math.ceil(bytes / 2) + 2 * 10)
        gate.resolve()
        expect(moneyIn(await call.heard)).toBe(10 + 20 * 2 + 30 * 4 + 5 * 2)
        await stage.audit()
      })
    })
  },
  {
    config: (one) => ({
      providers: [
        {
          id: 'mixed',
          base_url: one.base_url,
          models: ['llama-4', 'gpt-4o-custom', 'o3-custom', 'openai/gpt-5.4'].map(model),
        },
        {
          id: 'azure',
          base_url: one.base_url,
          output_limit_field: 'max_completion_tokens',
          models: [model('deployed')],
        },
        { id: 'native', base_url: one.base_url, responses: true, models: [model('native')] },
        {
          id: 'claude',
          protocol: 'anthropic',
          base_url: one.base_url,
          api_key: 'k',
          models: [{ ...model('claude'), cache_write_1h_usd_per_million: 4 }],
        },
        {
          id: 'aws',
          protocol: 'bedrock',
          base_url: one.base_url,
          region: 'us-east-1',
          api_key: 'ABSK-k',
          models: [model(CLAUDE_ON_BEDROCK)],
        },
        {
          id: 'google',
          protocol: 'vertex',
          base_url: one.base_url,
          region: 'us-east5',
          service_account: JSON.stringify(SERVICE_ACCOUNT),
          models: [model(CLAUDE_ON_VERTEX)],
        },
      ],
    }),
  },
)
