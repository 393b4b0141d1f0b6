// R26, R77: what is charged where nobody counted, or counted what cannot be; and where the client left before the count
// came, which is last in a stream.
import { describe, expect, test } from 'vitest'
import { comesTrue, KEY, TEXT } from '../support/inference-cases.ts'
import { moneyIn, type OpenCall } from '../support/inference-client.ts'
import { MAX_OUTPUT, PRICES, type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'
import type { Usage } from '../support/upstream.ts'
import { rollEverything } from '../support/usage-answers.ts'

const MOST = 2 ** 53 - 1
const BRIEF_MS = 4_000 // of real time: whoever does not read is waited for on a socket

withScene(
  (scene) => {
    const inputEstimate = (stage: Stage, more: object) => Math.ceil(JSON.stringify(stage.bodyOf(more)).length / 4)

    describe('counts that cannot be', () => {
      const ABSURD: [string, Usage][] = [
        ['cached and written of 2^53', { input: 11, output: 7, cached: MOST, cache_written: MOST }],
        ['output of 2^53', { input: 11, output: MOST }],
        ['a negative one', { input: 11, output: -7 }],
        ['half a token', { input: 11, output: 0.5 }],
      ]

      test.each(ABSURD.flatMap(([what, usage]) => [false, true].map((stream) => ({ what, usage, stream }))))(
        'R77 $what, stream $stream: the estimate is charged, and the event says so',
        async ({ usage, stream }) => {
          const stage = await scene().stage()
          stage.one.behave({ usage })
          const more = { stream }
          const heard = await stage.chat(more)
          const output = Math.ceil(TEXT.length / 4)
          expect([heard.status, moneyIn(heard)]).toEqual([200, inputEstimate(stage, more) + 2 * output])
          const { events } = await stage.audit()
          expect(events).toMatchObject([{ status: 'completed', tokens_estimated: 1, output_tokens: output }])
          const listed = (await stage.get('/v2/usage')).body.data
          expect(listed).toMatchObject([{ tokens_estimated: true }])
        },
      )

      test('R77 one project’s absurd counts stop nobody’s roll-ups', async () => {
        const hostile = await scene().stage()
        hostile.one.next(...Array.from({ length: 3 }, () => ({ usage: { input: MOST, output: MOST, cached: MOST } })))
        for (let n = 0; n < 3; n++) await hostile.chat()
        const other = await scene().stage()
        await other.chat()
        await rollEverything(scene().db)
        for (const stage of [hostile, other]) {
          const [day] = (await stage.get('/v2/usage?group_by=day')).body.data
          expect(day.charged_micros).toBe((await stage.audit()).spent)
        }
      })

      test('R42 what an upstream counted is not an estimate', async () => {
        const stage = await scene().stage()
        await stage.chat()
        expect((await stage.audit()).events).toMatchObject([{ tokens_estimated: 0 }])
      })
    })

    describe('the client leaves before the count', () => {
      /** Once the service has noticed it. */
      async function leave(call: OpenCall) {
        const gone = async () => (await scene().metrics.aborted.get()).values[0]?.value ?? 0
        const before = await gone()
        call.leave()
        await comesTrue(async () => (await gone()) > before)
      }

      const CJK = '你好世界，这是一个测试。'

      test('R26 the count is waited for, and what it says is charged: hidden reasoning too', async () => {
        const stage = await scene().stage({ key: 1_000_000 })
        const gate = deferred()
        const usage = { input: 11, output: 5_000, reasoning: 4_900 }
        stage.one.behave({ text: CJK, chunks: 1, usage, pace: (event) => (event === 2 ? gate.promise : undefined) })
        const call = stage.openChat({ stream: true, max_tokens: 5_000 })
        await call.says(CJK)
        await leave(call)
        stage.one.next({}, {}, {}) // others are served meanwhile, so that it is not by chance that it is still read
        for (let n = 0; n < 3; n++) await stage.chat()
        gate.resolve()
        const { events } = await stage.until((ledger) => ledger.events.length === 4)
        expect(events[3]).toMatchObject({ status: 'client_left', charged_micros: 11 + 2 * 5_000, tokens_estimated: 0 })
        expect(await (await stage.one.request(1)).over).toBe('answered')
        await stage.audit()
      })

      test('R26 where it does not come in two seconds, the upstream is let go and each character is a token', async () => {
        const stage = await scene().stage({ key: 1_000_000 })
        stage.one.behave({ text: CJK, chunks: 1, pace: (event) => (event === 2 ? new Promise(() => {}) : undefined) })
        const more = { stream: true }
        const call = stage.openChat(more)
        await call.says(CJK)
        call.leave()
        const { events } = await stage.until((ledger) => ledger.events.length === 1)
        const charged_micros = inputEstimate(stage, more) + 2 * CJK.length
        expect(events).toMatchObject([{ status: 'client_left', charged_micros, tokens_estimated: 1 }])
        expect(await (await stage.one.request(1)).over).toBe('left')
        await stage.audit()
      })

      test('R26 an upstream that goes on and on is read for a mebibyte at the most', async () => {
        const stage = await scene().stage()
        const gate = deferred()
        const text = 'x'.repeat(6_000_000)
        stage.one.behave({ text, chunks: 60, pace: (event) => (event === 2 ? gate.promise : undefined) })
        const call = stage.openChat({ stream: true })
        await call.says('xxx')
        await leave(call)
        gate.resolve()
        const { events } = await stage.until((ledger) => ledger.events.length === 1)
        expect(events[0]).toMatchObject({ status: 'client_left', tokens_estimated: 1 })
        expect(events[0]?.output_tokens).toBeLessThan(1_500_000 / 4)
        expect(await (await stage.one.request(1)).over).toBe('left')
      })

      test('R26 one that stops reading until the call has taken too long has ended it, and pays', async () => {
        const stage = await scene().stage()
        const characters = 1_000_000 // nearly as many as an event may have, and far more of them than any socket takes
        stage.one.behave({
          respond(_, response) {
            response.writeHead(200, { 'content-type': 'text/event-stream' })
            const choices = [{ index: 0, delta: { content: 'x'.repeat(characters) } }]
            for (let n = 0; n < 40; n++) response.write(`data: ${JSON.stringify({ choices })}\n\n`)
          },
        })
        const call = stage.openChat({ stream: true, model: 'brief' }, {})
        ;(await call.head).pause()
        const { events } = await stage.until((ledger) => ledger.events.length === 1)
        expect(events).toMatchObject([{ status: 'client_left', tokens_estimated: 1 }])
        expect(events[0]?.output_tokens).toBeGreaterThanOrEqual(characters / 4)
        expect(events[0]?.charged_micros).toBeGreaterThan((2 * characters) / 4)
        call.leave()
        await stage.audit()
      })

      test('R26 a keyed one is finished, however long that takes', async () => {
        const stage = await scene().stage()
        const gate = deferred()
        stage.one.behave({ pace: (event) => (event === 2 ? gate.promise : undefined) })
        const call = stage.openChat({ stream: true }, { keyed: KEY })
        await call.says('Hello')
        await leave(call)
        gate.resolve()
        const { events } = await stage.until((ledger) => ledger.events.length === 1)
        expect(events).toMatchObject([{ status: 'completed', charged_micros: USUAL_COST }])
      })
    })
  },
  {
    config: (one) => ({
      providers: [
        {
          ...{ id: 'brief', api_key: 'sk-upstream', base_url: one.base_url },
          timeouts: { connect_ms: BRIEF_MS, first_byte_ms: BRIEF_MS, idle_ms: BRIEF_MS, total_ms: BRIEF_MS },
          models: [{ id: 'brief', ...PRICES, max_output_tokens: MAX_OUTPUT }],
        },
      ],
    }),
  },
)
