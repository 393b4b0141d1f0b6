// R42, R43, R76, R81: what Messages cost, by the mistakes that others made with them: streams without a price, cached
// tokens that count twice, writes for an hour at the price of five minutes, usage that only the last event tells.
import { expect, test } from 'vitest'
import { moneyIn } from '../support/inference-client.ts'
import { holdFor, withScene } from '../support/inference-scene.ts'
import { ask, asked, messagesConfig } from '../support/messages-scene.ts'
import type { Behaviour } from '../support/upstream.ts'

type Usage = Record<string, unknown>
const event = (one: { type: string; [field: string]: unknown }) =>
  `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`

/** A stream whose two usages are these, and whose text is forty letters. */
function told(start: Usage | undefined, delta: Usage | undefined): Behaviour {
  const events = [
    event({ type: 'message_start', message: { id: 'msg_1', content: [], ...(start && { usage: start }) } }),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x'.repeat(40) } }),
    event({ type: 'content_block_stop', index: 0 }),
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, ...(delta && { usage: delta }) }),
    event({ type: 'message_stop' }),
  ]
  return {
    respond(_request, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(events.join(''))
    },
  }
}

const HOUR = { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 70 }
/** Of `asked({ stream: true })`, four bytes a token. */
const ESTIMATED_INPUT = Math.ceil(JSON.stringify(asked({ stream: true })).length / 4)

withScene(
  (scene) => {
    test.each([
      ['told at the start and at the end', { input_tokens: 11, output_tokens: 1 }, { output_tokens: 7 }, 11 + 14],
      ['zeros at the start', { input_tokens: 0, output_tokens: 0 }, { input_tokens: 11, output_tokens: 7 }, 11 + 14],
      ['zeros at the end, but for the output', { input_tokens: 11 }, { input_tokens: 0, output_tokens: 7 }, 11 + 14],
      ['only at the end', undefined, { input_tokens: 11, output_tokens: 7 }, 11 + 14],
      [
        'the cache only at the end',
        { input_tokens: 11, output_tokens: 1 },
        { cache_read_input_tokens: 100, cache_creation_input_tokens: 10, output_tokens: 7 },
        11 + 50 + 20 + 14,
      ],
      [
        'cached tokens in both, counted once',
        { input_tokens: 11, cache_read_input_tokens: 100 },
        { input_tokens: 11, cache_read_input_tokens: 100, output_tokens: 7 },
        11 + 50 + 14,
      ],
      [
        'an hour and five minutes, each at its price',
        { input_tokens: 11, cache_creation_input_tokens: 100, cache_creation: HOUR },
        { cache_creation_input_tokens: 100, output_tokens: 7 },
        11 + 2 * 30 + 4 * 70 + 14,
      ],
      [
        'searches of the web, each a hundred micros',
        { input_tokens: 11 },
        { output_tokens: 7, server_tool_use: { web_search_requests: 3 } },
        11 + 14 + 300,
      ],
      [
        'a summary that the upstream wrote beside it',
        { input_tokens: 11 },
        {
          output_tokens: 7,
          iterations: [
            { type: 'message', input_tokens: 11, output_tokens: 7 },
            { type: 'compaction', input_tokens: 5, output_tokens: 3 },
          ],
        },
        11 + 14 + 5 + 6,
      ],
      ['no usage at all: estimated', undefined, undefined, ESTIMATED_INPUT + 20],
      [
        'nothing but zeros: estimated',
        { input_tokens: 0, output_tokens: 0 },
        { output_tokens: 0 },
        ESTIMATED_INPUT + 20,
      ],
      ['no output told: that much is estimated', { input_tokens: 11, output_tokens: 0 }, undefined, 11 + 20],
      ['counts that cannot be: estimated', { input_tokens: -5 }, { output_tokens: 7 }, ESTIMATED_INPUT + 20],
    ])('R42, R81 a stream with usage %s', async (what, start, delta, micros) => {
      const stage = await scene().stage()
      stage.one.behave(told(start, delta))
      const heard = await ask(stage, { stream: true })
      expect(moneyIn(heard)).toBe(micros)
      const { events, spent } = await stage.audit()
      expect(spent).toBe(micros)
      expect(events[0]?.tokens_estimated).toBe(what.includes('estimated') ? 1 : 0)
    })

    test('R42, R81 a whole message: reads, writes of either length and searches', async () => {
      const stage = await scene().stage()
      const usage = {
        input_tokens: 11,
        cache_read_input_tokens: 100,
        cache_creation_input_tokens: 100,
        cache_creation: HOUR,
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 4 },
        server_tool_use: { web_search_requests: 1 },
      }
      stage.one.behave({ body: { id: 'msg_1', type: 'message', content: [{ type: 'text', text: 'a' }], usage } })
      const heard = await ask(stage)
      expect(moneyIn(heard)).toBe(11 + 50 + 60 + 280 + 14 + 100)
      expect(heard.headers['agent-direct-cost-micros']).toBe(String(211 + 14 + 100))
    })

    test('R26, R81 who leaves in the middle pays for the input as told and the output as it came', async () => {
      const stage = await scene().stage()
      const never = new Promise<void>(() => {})
      stage.one.behave({ text: 'x'.repeat(40), chunks: 1, pace: (n) => (n === 4 ? never : undefined) })
      const open = stage.open('/anthropic/v1/messages', { body: asked({ stream: true }) })
      await open.says('xxxx')
      open.leave()
      const { events } = await stage.until(({ events }) => events.length === 1)
      expect(events).toMatchObject([{ status: 'client_left', input_tokens: 11, output_tokens: 10, charged_micros: 31 }])
    })

    test('R43 what is held covers an hour’s writes and every search that is allowed', async () => {
      const long = { system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } }] }
      const bound = 2 * holdFor(asked(long), 0) + 2 * 100 // every token at four micros, and a hundred out
      const short = await scene().stage({ key: bound - 1 })
      expect((await ask(short, long)).status).toBe(429)
      const enough = await scene().stage({ key: bound })
      expect((await ask(enough, long)).status).toBe(200)
      const search = { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }] }
      const prompt = Math.ceil(JSON.stringify(asked(search)).length / 2)
      const searching = 2 * (3 * prompt + 20_000 * 3) + 200 + 200
      const refused = await scene().stage({ key: searching - 1 })
      expect((await ask(refused, search)).status).toBe(429)
      const allowed = await scene().stage({ key: searching })
      expect((await ask(allowed, search)).status).toBe(200)
    })

    test.each([
      ['tools[0] without max_uses', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
      ['tools[0].type', { tools: [{ type: 'code_execution_20250825', name: 'code' }] }],
      ['mcp_servers', { mcp_servers: [{ type: 'url', url: 'https://x' }] }],
      ['container', { container: 'c' }],
      ['speed', { speed: 'fast' }],
      ['inference_geo', { inference_geo: 'us' }],
      ['service_tier', { service_tier: 'priority' }],
      ['fallbacks', { fallbacks: [{ model: 'other' }] }],
      ['context_management.edits[0].type', { context_management: { edits: [{ type: 'compact_20260112' }] } }],
    ])('R76 %s is refused on a key with a limit, and taken on one without', async (field, more) => {
      const limited = await scene().stage({ key: 1_000_000 })
      const heard = await ask(limited, more)
      expect([heard.status, heard.json.error.message]).toEqual([400, expect.stringContaining(`'${field}'`)])
      expect(limited.one.requests).toEqual([])
      const free = await scene().stage()
      expect((await ask(free, more)).status).toBe(200)
    })
  },
  { config: messagesConfig, stages: 80 },
)
