// R81: random Messages requests and streams through an upstream that speaks the protocol: the body and every event are
// the same bytes, but for `model`. MESSAGES_RUNS=1000 runs as many.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { withScene } from '../support/inference-scene.ts'
import { MESSAGES, messagesConfig } from '../support/messages-scene.ts'

const numRuns = Number(process.env.MESSAGES_RUNS ?? 40)

const text = fc.string({ unit: 'binary', maxLength: 40 }).map((one) => one.toWellFormed())
const json = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
const name = fc.stringMatching(/^[a-z_]{1,12}$/).map((one) => `x_${one}`) // of no field that is known
const blank = fc.constantFrom('', ' ', '\n', '\t ')
const cache_control = fc.constantFrom({ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h', scope: 'global' })

const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text, cache_control }, { requiredKeys: ['type', 'text'] }),
  fc.record({ type: fc.constant('tool_result'), tool_use_id: text, content: text, is_error: fc.boolean() }),
  fc.record({ type: fc.constant('from_the_future'), data: json }),
)
const message = fc.record({ role: fc.constantFrom('user', 'assistant'), content: fc.oneof(text, fc.array(block)) })

/** Members in any order, with any blanks between them, as JSON text. */
const request = fc
  .record({
    messages: fc.array(message, { minLength: 1, maxLength: 4 }),
    max_tokens: fc.integer({ min: 0, max: 900 }),
    system: fc.option(fc.array(block), { nil: undefined }),
    unknown: fc.dictionary(name, json, { maxKeys: 4 }),
    blanks: fc.array(blank, { minLength: 4, maxLength: 4 }),
    first: fc.boolean(),
  })
  .map(({ unknown, blanks: [a, b, c, d], first, ...known }) => {
    const members = Object.entries({ ...known, ...unknown })
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => `${JSON.stringify(key)}${a}:${b}${JSON.stringify(value)}`)
    const model = `"model"${c}: "claude-named"`
    return `${d}{${(first ? [model, ...members] : [...members, model]).join(`${c},${a}`)}${b}}`
  })

const delta = fc.oneof(
  fc.record({ type: fc.constant('text_delta'), text }),
  fc.record({ type: fc.constant('thinking_delta'), thinking: text }),
  fc.record({ type: fc.constant('signature_delta'), signature: text }),
  fc.record({ type: fc.constant('input_json_delta'), partial_json: text }),
  fc.record({ type: fc.constant('citations_delta'), citation: json }),
)
const event = fc.oneof(
  delta.map((one) => ({ type: 'content_block_delta', index: 0, delta: one })),
  fc.constant({ type: 'ping' }),
  fc.record({ type: name, more: json }),
)
const written = (one: { type: string }, line = '\n') =>
  `event: ${one.type}${line}data: ${JSON.stringify(one)}${line}${line}`
const usage = { input_tokens: 11, output_tokens: 7 }
const stream = fc
  .record({ events: fc.array(event, { maxLength: 12 }), line: fc.constantFrom('\n', '\r\n') })
  .map(({ events, line }) =>
    [
      { type: 'message_start', message: { id: 'msg_1', content: [], usage: { ...usage, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ...events,
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ]
      .map((one) => written(one, line))
      .join(''),
  )

withScene(
  (scene) => {
    test('R81 bodies and events are the same bytes, but for the model', async () => {
      const stage = await scene().stage()
      await fc.assert(
        fc.asyncProperty(request, stream, fc.integer({ min: 1, max: 400 }), async (body, events, piece) => {
          stage.one.requests.length = 0
          stage.one.behave({
            async respond(_request, response) {
              response.writeHead(200, { 'content-type': 'text/event-stream' })
              const bytes = Buffer.from(events)
              for (let at = 0; at < bytes.length; at += piece) response.write(bytes.subarray(at, at + piece))
              response.end()
            },
          })
          const streamed = body.replace('{', '{"stream":true,')
          const heard = await stage.ask(MESSAGES, { body: Buffer.from(streamed) })
          expect(heard.status, heard.text).toBe(200)
          expect(heard.bytes.equals(Buffer.from(events))).toBe(true)
          const sent = await stage.one.request(1)
          expect(sent.bytes.toString()).toBe(streamed.replace('"claude-named"', '"real"'))
        }),
        { numRuns },
      )
      const { events, spent } = await stage.audit()
      expect(spent).toBe(25 * events.length)
    })
  },
  { config: messagesConfig },
)
