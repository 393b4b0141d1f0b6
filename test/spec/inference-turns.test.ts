// R77: whatever a client asks and an upstream answers, nobody else waits for long while it is read, translated and
// written: no turn of the event loop grows with the square of anything, and no text is taken for its characters.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { describe, expect, test } from 'vitest'
import { upload } from '../support/forms.ts'
import { CHAT, PRICES, withScene } from '../support/inference-scene.ts'

const CLAUDE = { id: 'claude', ...PRICES, max_output_tokens: 1_000 }
const MIB = 1024 * 1024
/** Clients and upstreams of these tests are in this process, and a machine may be slow. */
const TURN_MAX_MS = 2_000

/** The longest that anybody waited for the event loop meanwhile. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  const held = monitorEventLoopDelay({ resolution: 5 })
  held.enable()
  await work()
  held.disable()
  return held.max / 1e6
}

withScene(
  (scene) => {
    describe('what a client asks', () => {
      test.each<[string, string, object]>([
        [
          'forty thousand calls of tools in one turn of a conversation',
          '/v1/responses',
          {
            input: Array.from({ length: 40_000 }, (_, n) => ({
              ...{ type: 'function_call', call_id: `${n}`, name: 'f', arguments: '' },
            })),
          },
        ],
        ['a tool whose parameters are a text', CHAT, { tools: [toolOf('x'.repeat(8 * MIB))] }],
        ['a message that is a text', CHAT, { messages: ['x'.repeat(8 * MIB)] }],
        [
          'an object of the upstream’s that is a text',
          CHAT,
          { output_config: 'x'.repeat(8 * MIB), reasoning_effort: 'low' },
        ],
      ])('R77 %s: 400, nobody is called, and others do not wait', async (_what, path, more) => {
        const stage = await scene().stage()
        const body = path === CHAT ? { ...stage.bodyOf({ model: 'claude' }), ...more } : { model: stage.model, ...more }
        let status = 0
        const turn_ms = await longestTurn(async () => {
          status = (await stage.ask(path, { body })).status
        })
        expect([status, stage.one.requests.length]).toEqual([400, 0])
        expect(turn_ms).toBeLessThan(TURN_MAX_MS)
      })
    })

    describe('what a bundle is made of', () => {
      // Written out, each is six times as large: that alone took half of this on a machine with nothing else to do.
      test('R77 R78 a text of control characters: 413, and others do not wait while its size is found', async () => {
        const stage = await scene().stage()
        const text = '\u0001'.repeat(8 * MIB)
        const { id } = (await upload(stage, text)).body
        const ask = async () =>
          expect(
            (await stage.ask('/v2/bundles', { body: { items: [{ artifact_id: id, role: 'user' }] } })).status,
          ).toBe(413)
        // The best of a few, and beside what it takes to write it out here and now: others may want the processor.
        const turns_ms: number[] = []
        const written_ms: number[] = []
        for (let n = 0; n < 3; n++) {
          turns_ms.push(await longestTurn(ask))
          const from_ms = performance.now()
          expect(Buffer.from(JSON.stringify(text)).length).toBe(48 * MIB + 2)
          written_ms.push(performance.now() - from_ms)
        }
        expect(Math.min(...turns_ms)).toBeLessThan(Math.max(...written_ms))
      })
    })

    describe('what an upstream answers', () => {
      const NESTED = `{"command":[${'[],'.repeat(2_000_000)}[]]}`
      const completion = (args: string) => ({
        ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
        choices: [{ index: 0, finish_reason: 'tool_calls', message: messageOf(args) }],
      })
      const messageOf = (args: string) => ({
        ...{ role: 'assistant', content: null },
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'local_shell', arguments: args } }],
      })

      test.each<[string, string, object, (body: never) => unknown]>([
        [
          'a message',
          '/anthropic/v1/messages',
          { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
          ({ content: [use] }: { content: [{ input: { arguments: string } }] }) => use.input.arguments.length,
        ],
        [
          'a response',
          '/v1/responses',
          { input: 'Hi', tools: [{ type: 'local_shell' }] },
          ({ output: [call] }: { output: [{ action: { command: string[] } }] }) => call.action.command[2]?.length,
        ],
      ])('R77 millions of lists in what %s calls a tool with: a text, and others do not wait', async (...row) => {
        const [, path, asked, toldLength] = row
        const stage = await scene().stage()
        stage.one.behave({ body: completion(NESTED), as_path: CHAT })
        let told: unknown
        const turn_ms = await longestTurn(async () => {
          const { status, json } = await stage.ask(path, { body: { model: stage.model, ...asked } })
          told = [status, toldLength(json as never)]
        })
        expect(told).toEqual([200, NESTED.length])
        expect(turn_ms).toBeLessThan(TURN_MAX_MS)
      })
    })

    describe('a stream that is told again at its end', () => {
      const logprobs = { content: Array(100_000).fill({ a: 1 }) }
      const [few, text] = [{ content: 'x' }, { content: 'y'.repeat(900_000) }]

      test.each<[string, number, object, string]>([
        ['a hundred thousand probabilities', 1, { delta: few, logprobs }, 'response.completed'],
        ['two million of them, which is more than is told', 20, { delta: few, logprobs }, 'error'],
        ['4 MB of text', 5, { delta: text }, 'response.completed'],
        ['more text than is told', 20, { delta: text }, 'response.failed'],
      ])('R77 %s: nobody else waits for it', async (_what, count, choice, last) => {
        const stage = await scene().stage()
        const chunk = `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`
        stage.one.behave({
          body: `${chunk.repeat(count)}data: [DONE]\n\n`,
          headers: { 'content-type': 'text/event-stream' },
        })
        let heard = ''
        const turn_ms = await longestTurn(async () => {
          const body = { model: stage.model, input: 'Hi', stream: true, store: false }
          heard = (await stage.ask('/v1/responses', { body })).text
        })
        const end = heard.slice(heard.lastIndexOf('\nevent: ')).trim()
        expect(end.slice(0, end.indexOf('\n'))).toBe(`event: ${last}`)
        const told = JSON.parse(end.slice(end.indexOf('data: ') + 'data: '.length))
        expect(told.type).toBe(last)
        if (last !== 'error') {
          expect(told.response.status).toBe(last.slice('response.'.length))
          const numbers = [...heard.matchAll(/^data: \{"type":"[^"]+","sequence_number":(\d+)/gm)].map(([, n]) =>
            Number(n),
          )
          expect(numbers).toEqual(numbers.map((_, at) => at))
        }
        expect(turn_ms).toBeLessThan(TURN_MAX_MS)
      })
    })
  },
  {
    stages: 20,
    config: (one) => ({
      providers: [
        { id: 'anthropic', protocol: 'anthropic', api_key: 'sk-ant', base_url: one.base_url, models: [CLAUDE] },
      ],
    }),
  },
)

const toolOf = (parameters: unknown) => ({ type: 'function', function: { name: 'f', parameters } })
