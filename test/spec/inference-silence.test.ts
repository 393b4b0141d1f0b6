// R82 over the wire: headers and signs of life before the first token, and what can still be said after them. The times
// are those of a scene in a hurry; that they are kept to the millisecond is the matter of answer-stream-silence.test.ts.
import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { asked, KEY, lastEvent, STREAMED } from '../support/inference-cases.ts'
import { eventsIn, hintsHeader, moneyIn } from '../support/inference-client.ts'
import { MAX_OUTPUT, PRICES, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'

const LIMIT = 1_000_000
const OURS = ': waiting for the first token\n\n'
const chunk = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`
const USAGE = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 11, completion_tokens: 7 } })}\n\n`
const REST = `${chunk({ content: 'hello' })}${USAGE}data: [DONE]\n\n`

/** Says this at once, and what follows when it is told to. */
function slowly(first: string) {
  const gate = deferred()
  const respond = async (_: unknown, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (first === '') response.flushHeaders()
    else response.write(first)
    await gate.promise
    if (!response.destroyed) response.end(REST)
  }
  return { respond, goOn: gate.resolve }
}

withScene(
  (scene) => {
    const FIRSTS = [
      { first: ': theirs\n\n', told: ': theirs\n\n' },
      { first: chunk({ role: 'assistant' }), told: 'assistant' },
      { first: '', told: OURS },
    ]

    test.each(FIRSTS)('R82 headers come before the first token, where $first comes first', async ({ first, told }) => {
      const stage = await scene().stage({ key: LIMIT })
      const { respond, goOn } = slowly(first)
      stage.one.behave({ respond })
      const call = stage.openChat({ stream: true })
      const head = await call.head
      expect([head.statusCode, head.headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8'])
      expect(head.headers['agent-resolved-provider']).toBe(stage.first)
      await call.says(told)
      await call.says(OURS)
      scene().clock.advance(700)
      goOn()
      const heard = await call.heard
      expect(heard.text.endsWith(`${chunk({ content: 'hello' })}data: [DONE]\n\n`)).toBe(true)
      expect([heard.complete, moneyIn(heard)]).toEqual([true, USUAL_COST])
      const { events } = await stage.audit()
      expect(events).toMatchObject([{ status: 'completed', ttft_ms: 700, attempts: [{ ttft_ms: 700 }] }])
    })

    test('R82 a keyed stream is replayed as the same bytes that were sent, comments included', async () => {
      const stage = await scene().stage({ key: LIMIT })
      const { respond, goOn } = slowly(': theirs\n\n')
      stage.one.behave({ respond })
      const headers = hintsHeader({ qos: { target_ttft_ms: 500 } })
      const call = stage.openChat({ stream: true }, { keyed: KEY, headers })
      await call.says(OURS)
      goOn()
      const heard = await call.heard
      expect(heard.text).toContain(': theirs')
      const again = await stage.chat({ stream: true }, { keyed: KEY, headers })
      expect([again.headers['agent-idempotent-replay'], again.text]).toEqual(['true', heard.text])
      expect(again.headers['agent-qos-target-met']).toBe('true')
      expect(stage.one.requests).toHaveLength(1)
    })

    describe('Agent-QoS-Target-Met', () => {
      test.each([
        [499, 'false'],
        [500, 'true'],
      ])(
        'R82 a target of %i ms that was open when the headers left is told in a trailer: %s',
        async (target_ttft_ms, met) => {
          const stage = await scene().stage()
          const { respond, goOn } = slowly(': theirs\n\n')
          stage.one.behave({ respond })
          const call = stage.openChat({ stream: true }, { headers: hintsHeader({ qos: { target_ttft_ms } }) })
          const head = await call.head
          expect(head.headers).not.toHaveProperty('agent-qos-target-met')
          expect(head.headers.trailer).toContain('agent-qos-target-met')
          scene().clock.advance(500)
          goOn()
          const heard = await call.heard
          expect(heard.trailers['agent-qos-target-met']).toBe(met)
          const trace = await stage.get(`/v2/traces/${heard.headers['agent-trace-id']}`)
          const told = trace.body.headers.find(({ name }: { name: string }) => name === 'agent-qos-target-met')
          expect([told.value, told.sent_as]).toEqual([met, 'trailer'])
        },
      )

      test('R82 one that was missed before is told in the headers', async () => {
        const stage = await scene().stage()
        const { respond, goOn } = slowly('')
        stage.one.behave({
          respond(request, response) {
            scene().clock.advance(501)
            return respond(request, response)
          },
        })
        const call = stage.openChat({ stream: true }, { headers: hintsHeader({ qos: { target_ttft_ms: 500 } }) })
        const head = await call.head
        expect(head.headers['agent-qos-target-met']).toBe('false')
        expect(head.headers.trailer).not.toContain('agent-qos-target-met')
        goOn()
        await call.heard
      })
    })

    describe('failures', () => {
      test.each(STREAMED)('R82 R47 until headers leave, another target answers: $form', async (one) => {
        const stage = await scene().stage({ key: LIMIT })
        stage.one.behave({
          respond(_, response) {
            response.writeHead(200, { 'content-type': 'text/event-stream' })
            response.write(': theirs\n\n', () => response.socket?.resetAndDestroy())
          },
        })
        const heard = await stage.chat(...asked(one, { model: stage.both }))
        expect([heard.status, heard.headers['agent-execution-mode']]).toEqual([200, 'emergency_fallback'])
        expect(heard.text).not.toContain('theirs')
      })

      test.each(STREAMED)('R82 R47 after that a failure is an error event, and nobody pays: $form', async (one) => {
        const stage = await scene().stage({ key: LIMIT })
        let breakOff = () => {}
        stage.one.behave({
          respond(_, response) {
            response.writeHead(200, { 'content-type': 'text/event-stream' })
            response.write(': theirs\n\n')
            breakOff = () => response.socket?.resetAndDestroy()
          },
        })
        const headers = hintsHeader({ qos: { target_ttft_ms: 60_000 } })
        const call = stage.openChat(...asked(one, { model: stage.both }, headers))
        await call.says(': theirs')
        breakOff()
        const heard = await call.heard
        expect(lastEvent(heard).error).toMatchObject({ type: 'server_error', code: 'upstream_error' })
        expect(eventsIn(heard)).not.toContain('[DONE]')
        expect([moneyIn(heard), heard.trailers['agent-qos-target-met']]).toEqual([0, 'false'])
        expect(stage.two.requests).toEqual([])
        const { events } = await stage.audit()
        const attempts = [{ status: 200, failure: 'reset' }]
        expect(events).toMatchObject([{ status: 'upstream_failed', charged_micros: 0, ttft_ms: null, attempts }])
        expect(await stage.keyState(KEY)).toBe('free')
      })

      test('R82 a target that only ever lives and then fails is left alone like any other', async () => {
        const stage = await scene().stage({ key: LIMIT })
        for (let n = 0; n < 5; n++) {
          let breakOff = () => {}
          stage.one.behave({
            respond(_, response) {
              response.writeHead(200, { 'content-type': 'text/event-stream' })
              response.write(': theirs\n\n')
              breakOff = () => response.socket?.resetAndDestroy()
            },
          })
          const call = stage.openChat({ stream: true })
          await call.says(': theirs')
          breakOff()
          await call.heard
        }
        expect((await stage.chat()).status).toBe(503)
      })

      test('R44 a deadline that passes before the first token, after the headers: an error event, no charge', async () => {
        const stage = await scene().stage({ key: LIMIT })
        const { respond } = slowly(': theirs\n\n')
        stage.one.behave({ respond })
        const heard = await stage.chat({ stream: true }, { headers: hintsHeader({ qos: { deadline_ms: 1_500 } }) })
        expect([heard.status, lastEvent(heard).error.code]).toEqual([200, 'deadline_exceeded'])
        expect((await stage.audit()).events).toMatchObject([{ status: 'deadline_exceeded', charged_micros: 0 }])
      })

      test('R26 a client that leaves before the first token: the upstream is told, nothing is held', async () => {
        const stage = await scene().stage({ key: LIMIT })
        const { respond } = slowly(': theirs\n\n')
        stage.one.behave({ respond })
        const call = stage.openChat({ stream: true })
        await call.says(OURS)
        call.leave()
        expect(await (await stage.one.request(1)).over).toBe('left')
        const { events } = await stage.until(({ events, holds }) => events.length === 1 && holds.length === 0)
        const nothing = { charged_micros: 0, direct_cost_micros: 0, input_tokens: 0, output_tokens: 0 }
        expect(events).toMatchObject([{ status: 'client_left', ttft_ms: null, ...nothing }])
      })
    })

    describe('translated streams', () => {
      const ping = 'event: ping\ndata: {"type":"ping"}\n\n'
      test.each([
        ['chat over Messages', '/v1/chat/completions', 'messages', ping, 'data: '],
        ['Responses over Messages', '/v1/responses', 'messages', ping, 'event: error'],
        ['Responses over chat', '/v1/responses', 'chat', ': theirs\n\n', 'event: error'],
        ['Responses as they are', '/v1/responses', 'native', ': theirs\n\n', 'event: error'],
      ])(
        'R82 %s: life before the first token, and an error of its own protocol',
        async (_what, path, model, first, error) => {
          const stage = await scene().stage()
          let breakOff = () => {}
          stage.one.behave({
            respond(_, response) {
              response.writeHead(200, { 'content-type': 'text/event-stream' })
              response.write(first)
              breakOff = () => response.socket?.resetAndDestroy()
            },
          })
          const body = { model, stream: true, messages: [{ role: 'user', content: 'hello' }], input: 'hello' }
          const call = stage.open(path, { body })
          await call.says(OURS)
          breakOff()
          const { text } = await call.heard
          expect(text.split('\n\n').filter((event) => event.startsWith(error))).toHaveLength(1)
          expect(text).toMatch(/The upstream '[a-z-]+' broke off\./)
        },
      )
    })
  },
  {
    config: (one) => {
      const served = (id: string) => [{ id, ...PRICES, max_output_tokens: MAX_OUTPUT }]
      const at = { base_url: one.base_url, max_concurrency: 100 }
      return {
        streams: { headers_after_ms: 250, headers_latest_ms: 300, comment_every_ms: 40 },
        providers: [
          { id: 'messages', protocol: 'anthropic', ...at, models: served('messages') },
          { id: 'chat', ...at, models: served('chat') },
          { id: 'native', responses: true, ...at, models: served('native') },
        ],
      }
    },
  },
)
