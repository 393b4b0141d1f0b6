// Who pays when the upstream fails us, or the deadline passes (R44, R45, R47): nobody, in every form, before the first
// content and after it; a keyed call's key is free again; and where another target can answer, it does.
import { describe, expect, test } from 'vitest'
import { heldTimers } from '../support/held-timers.ts'
import {
  asked,
  CASES,
  type Case,
  envelope,
  KEY,
  LATE,
  lastEvent,
  STREAMED,
  times,
  UPSTREAM_FAILED,
} from '../support/inference-cases.ts'
import { eventsIn, hintsHeader, moneyIn } from '../support/inference-client.ts'
import { HASTY, type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'
import type { Behaviour } from '../support/upstream.ts'
import { settled } from '../support/wire.ts'

const LIMIT = 1_000_000
const RATE_LIMITED = [429, 'rate_limit_error', 'rate_limit_exceeded']

withScene(
  (scene) => {
    /** Nothing was produced, so nothing is charged, nothing recorded, and the key is free again. */
    async function nothingHappened(stage: Stage) {
      expect((await stage.audit()).events).toEqual([])
      expect(await stage.keyState(KEY)).toBe('free')
    }

    /** §8.2: the operator sees that it was tried, once; nobody paid, and the key is free. */
    async function cameToNothing(stage: Stage, status: string) {
      const { events } = await stage.audit()
      const nothing = { input_tokens: 0, output_tokens: 0, charged_micros: 0, direct_cost_micros: 0 }
      expect(events).toMatchObject([{ status, ...nothing, ttft_ms: null }])
      for (const { failure } of events[0]?.attempts ?? []) expect(failure).toMatch(/\w/)
      expect(events[0]?.attempts.length).toBe(stage.one.requests.length + stage.two.requests.length)
      expect(await stage.keyState(KEY)).toBe('free')
    }

    /** §11.6: a retry with the same key executes, and is charged like any other. */
    async function retryExecutes(stage: Stage, one: Case) {
      if (!one.keyed) return
      stage.one.behave({})
      const retry = await stage.chat(...asked(one))
      const replayed = retry.headers['agent-idempotent-replay']
      expect([retry.status, replayed, moneyIn(retry)]).toEqual([200, 'false', USUAL_COST])
    }

    /** The upstream was asked, and what it wrote at once has come to us. */
    async function begun(stage: Stage) {
      await stage.one.request(1)
      await settled(() => 0)
    }

    describe('before any content', () => {
      const FAILURES: { how: string; behaviour: Behaviour; answer: unknown[] }[] = [
        { how: 'resets before its head', behaviour: { instead: 'reset' }, answer: UPSTREAM_FAILED },
        { how: 'closes before its head', behaviour: { instead: 'close' }, answer: UPSTREAM_FAILED },
        { how: 'sends rubbish', behaviour: { instead: 'rubbish' }, answer: UPSTREAM_FAILED },
        { how: 'resets after its head', behaviour: { cut: { after: 0, how: 'reset' } }, answer: UPSTREAM_FAILED },
        { how: 'closes after its head', behaviour: { cut: { after: 0, how: 'close' } }, answer: UPSTREAM_FAILED },
        { how: 'answers 500', behaviour: { status: 500, body: 'oops' }, answer: UPSTREAM_FAILED },
        { how: 'answers 503', behaviour: { status: 503, body: 'later' }, answer: UPSTREAM_FAILED },
        { how: 'redirects', behaviour: { status: 302, headers: { location: '/' }, body: '' }, answer: UPSTREAM_FAILED },
        { how: 'refuses our key', behaviour: { status: 401, body: '{}' }, answer: UPSTREAM_FAILED },
        {
          how: 'lacks it',
          behaviour: { status: 404, body: '{}' },
          answer: [404, 'invalid_request_error', 'model_not_found'],
        },
        { how: 'has no money left', behaviour: { status: 402, body: '{}' }, answer: UPSTREAM_FAILED },
        { how: 'limits our rate', behaviour: { status: 429, body: '{}' }, answer: RATE_LIMITED },
      ]

      test.each(times(FAILURES, CASES))('R47 it $how: nobody pays ($form)', async ({ behaviour, answer, ...one }) => {
        const stage = await scene().stage({ key: LIMIT })
        stage.one.behave(behaviour)
        const heard = await stage.chat(...asked(one))
        expect(envelope(heard)).toEqual(answer)
        expect(moneyIn(heard)).toBeUndefined()
        await cameToNothing(stage, 'failed')
        await retryExecutes(stage, one)
      })

      test.each(STREAMED)('R47 a stream that ends with nothing in it: nobody pays ($form)', async (one) => {
        const stage = await scene().stage({ key: LIMIT })
        stage.one.behave({ cut: { after: 1, how: 'end' } })
        expect(envelope(await stage.chat(...asked(one)))).toEqual(UPSTREAM_FAILED)
        await cameToNothing(stage, 'failed')
      })

      test('R49 a 429 of the upstream tells how long to wait, as the upstream did', async () => {
        const stage = await scene().stage()
        stage.one.behave({ status: 429, body: '{}', headers: { 'retry-after': '7' } })
        expect((await stage.chat()).headers['retry-after']).toBe('7')
      })

      test.each(CASES)('R47 a 400 is the client’s to read, byte for byte, and nobody pays: $form', async (one) => {
        const stage = await scene().stage({ key: LIMIT })
        const body = '{ "error" : {"message":"bad temperature","type":"invalid_request_error","param":"temperature"}}'
        stage.one.behave({ status: 400, body })
        const heard = await stage.chat(...asked(one))
        expect([heard.status, heard.text]).toEqual([400, body])
        await nothingHappened(stage)
        await retryExecutes(stage, one)
      })

      test('R80 a 400 that quotes the credential we sent is told without it, to the client and in the trace', async () => {
        const stage = await scene().stage()
        const message = 'no such field; the request had Authorization: Bearer sk-upstream'
        stage.one.behave({ status: 400, body: { error: { message, type: 'invalid_request_error', code: 'odd' } } })
        const heard = await stage.chat()
        expect(envelope(heard)).toEqual([400, 'invalid_request_error', undefined])
        expect(heard.text).toContain('no such field')
        expect(heard.text).not.toContain('sk-upstream')
        const { body } = await stage.get(`/v2/traces/${heard.headers['agent-trace-id']}`)
        expect(JSON.stringify(body)).toContain('no such field')
        expect(JSON.stringify(body)).not.toContain('sk-upstream')
        await nothingHappened(stage)
      })

      test.each(['', '<html>', 'null', '[]'])(
        'R47 a 200 that is no answer (%j) is a failure: nobody pays',
        async (body) => {
          const stage = await scene().stage({ key: LIMIT })
          stage.one.behave({ body })
          expect(envelope(await stage.chat())).toEqual(UPSTREAM_FAILED)
          await cameToNothing(stage, 'failed')
          expect((await stage.chat({ model: stage.both })).headers['agent-resolved-provider']).toBe(stage.second)
        },
      )

      test('R2 a refusal that is no envelope becomes one', async () => {
        const stage = await scene().stage({ key: LIMIT })
        stage.one.behave({ status: 422, body: '<html>' })
        expect(envelope(await stage.chat())).toEqual([400, 'invalid_request_error', undefined])
        await nothingHappened(stage)
      })

      test.each(CASES)('R47 no first byte in time: 502 ($form)', async (one) => {
        const stage = await scene().stage({ key: LIMIT })
        const timers = heldTimers()
        stage.one.behave({ wait: new Promise(() => {}) })
        const call = stage.openChat(...asked(one, { model: stage.hasty }))
        const { over } = await stage.one.request(1)
        timers.pass(HASTY.first_byte_ms)
        expect(envelope(await call.heard)).toEqual(UPSTREAM_FAILED)
        expect(await over).toBe('left')
        await cameToNothing(stage, 'failed')
      })
    })

    describe('in the middle of its answer', () => {
      const BREAKS: { how: string; cut: NonNullable<Behaviour['cut']> }[] = [
        { how: 'resets', cut: { after: 3, how: 'reset' } },
        { how: 'closes', cut: { after: 3, how: 'close' } },
        { how: 'ends without a word', cut: { after: 3, how: 'end' } },
        {
          how: 'tells an error',
          cut: { after: 3, how: { event: { error: { message: 'no', type: 'server_error' } } } },
        },
      ]

      test.each(times(BREAKS, STREAMED))(
        'R47 it $how: an error event, no clean end, nobody pays ($form)',
        async ({ cut, ...one }) => {
          const stage = await scene().stage({ key: LIMIT })
          stage.one.behave({ chunks: 3, cut })
          const heard = await stage.chat(...asked(one))
          expect([heard.status, eventsIn(heard).includes('[DONE]')]).toEqual([200, false])
          expect(lastEvent(heard).error).toMatchObject({ type: 'server_error', message: expect.any(String) })
          const { events } = await stage.audit()
          expect(events).toMatchObject([{ status: 'upstream_failed', charged_micros: 0, direct_cost_micros: 0 }])
          expect(moneyIn(heard)).toBe(0)
          expect(await stage.keyState(KEY)).toBe('free')
          await retryExecutes(stage, one)
        },
      )

      test.each(CASES)('R47 it falls silent: nobody pays ($form)', async (one) => {
        const stage = await scene().stage({ key: LIMIT })
        const timers = heldTimers()
        stage.one.behave({ cut: { after: one.stream ? 2 : 10, how: 'silence' } })
        const call = stage.openChat(...asked(one, { model: stage.hasty }))
        await (one.stream ? call.says('data: ') : begun(stage))
        timers.pass(HASTY.idle_ms)
        const heard = await call.heard
        const { events } = await stage.audit()
        if (one.stream) {
          expect(lastEvent(heard).error).toMatchObject({ code: 'upstream_error' })
          expect(events).toMatchObject([{ status: 'upstream_failed', charged_micros: 0 }])
        } else {
          expect(envelope(heard)).toEqual(UPSTREAM_FAILED)
          expect(events).toMatchObject([{ status: 'failed', charged_micros: 0 }])
        }
        expect(await stage.keyState(KEY)).toBe('free')
      })

      test.each(CASES)('R47 it drips beyond its total time: cut off, nobody pays ($form)', async (one) => {
        const stage = await scene().stage({ key: LIMIT })
        const timers = heldTimers()
        let drip = deferred()
        const dripped = async () => {
          await drip.promise
          drip = deferred()
        }
        const endless = { text: 'x'.repeat(500), chunks: 500, pace: dripped }
        const dripping: Behaviour = {
          async respond(_request, response) {
            response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
            for (response.write(' '); !response.destroyed; response.write(' ')) await dripped()
          },
        }
        stage.one.behave(one.stream ? endless : dripping)
        const call = stage.openChat(...asked(one, { model: stage.hasty }))
        await begun(stage)
        for (let passed_ms = 0; passed_ms < HASTY.total_ms; passed_ms += 4_000) {
          drip.resolve()
          await begun(stage)
          timers.pass(4_000) // less than it may be silent
        }
        const heard = await call.heard
        if (one.stream) expect(lastEvent(heard).error).toMatchObject({ code: 'upstream_error' })
        else expect(envelope(heard)).toEqual(UPSTREAM_FAILED)
        expect((await stage.audit()).spent).toBe(0)
        expect(await (await stage.one.request(1)).over).toBe('left')
      })
    })

    describe('the deadline', () => {
      test.each(CASES)('R44, R45 passes before the first byte: 504, nobody pays ($form)', async (one) => {
        const stage = await scene().stage({ key: LIMIT })
        const timers = heldTimers()
        stage.one.behave({ wait: new Promise(() => {}) })
        const call = stage.openChat(...asked(one, {}, hintsHeader({ qos: { deadline_ms: 5_000 } })))
        await stage.one.request(1)
        timers.pass(5_000)
        const heard = await call.heard
        expect(envelope(heard)).toEqual(LATE)
        expect(heard.headers).toMatchObject({ 'x-should-retry': 'false', 'agent-qos-admission': 'admitted' })
        expect(heard.headers).not.toHaveProperty('retry-after')
        expect(await (await stage.one.request(1)).over).toBe('left')
        await cameToNothing(stage, 'deadline_exceeded')
        await retryExecutes(stage, one)
      })

      test.each(CASES)('R44 passes after the head, before any content: 504 ($form)', async (one) => {
        const stage = await scene().stage({ key: LIMIT })
        const timers = heldTimers()
        stage.one.behave({ cut: { after: one.stream ? 1 : 10, how: 'silence' } })
        const deadline_ms = one.stream ? 900 : 5_000 // R82: the headers of a stream leave after a second
        const call = stage.openChat(...asked(one, {}, hintsHeader({ qos: { deadline_ms } })))
        await begun(stage)
        timers.pass(deadline_ms)
        expect(envelope(await call.heard)).toEqual(LATE)
        await cameToNothing(stage, 'deadline_exceeded')
      })

      test.each(STREAMED)('R44 R82 passes after the headers left, before any content: $form', async (one) => {
        const stage = await scene().stage({ key: LIMIT })
        const timers = heldTimers()
        stage.one.behave({ cut: { after: 1, how: 'silence' } })
        const call = stage.openChat(...asked(one, {}, hintsHeader({ qos: { deadline_ms: 5_000 } })))
        await begun(stage)
        timers.pass(1_000)
        expect((await call.head).statusCode).toBe(200)
        timers.pass(4_000)
        const heard = await call.heard
        expect(lastEvent(heard).error).toMatchObject({ type: 'deadline_exceeded', code: 'deadline_exceeded' })
        expect(moneyIn(heard)).toBe(0)
        await cameToNothing(stage, 'deadline_exceeded')
        await retryExecutes(stage, one)
      })

      test.each(STREAMED)('R44 passes in mid-stream: an error event, nobody pays ($form)', async (one) => {
        const stage = await scene().stage({ key: LIMIT })
        const timers = heldTimers()
        stage.one.behave({ cut: { after: 3, how: 'silence' } })
        const call = stage.openChat(...asked(one, {}, hintsHeader({ qos: { deadline_ms: 5_000 } })))
        await call.says('data: ')
        timers.pass(5_000)
        const heard = await call.heard
        expect(lastEvent(heard).error).toMatchObject({ type: 'deadline_exceeded', code: 'deadline_exceeded' })
        expect(eventsIn(heard)).not.toContain('[DONE]')
        expect((await stage.audit()).events).toMatchObject([{ status: 'deadline_exceeded', charged_micros: 0 }])
        expect(moneyIn(heard)).toBe(0)
        expect(await (await stage.one.request(1)).over).toBe('left')
        expect(await stage.keyState(KEY)).toBe('free')
      })

      test.each(CASES)('R44 passes while queued: 504, and the upstream never hears of it ($form)', async (one) => {
        const stage = await scene().stage({ key: LIMIT })
        const gate = deferred()
        stage.one.next({ wait: gate.promise })
        const before = stage.openChat({ model: stage.narrow })
        await stage.one.request(1)
        const timers = heldTimers()
        const late = stage.chat(...asked(one, { model: stage.narrow }, hintsHeader({ qos: { deadline_ms: 5_077 } })))
        await timers.untilSet(5_077, 2) // the call's own, and that of the queue
        timers.pass(5_077)
        const heard = await late
        expect(envelope(heard)).toEqual(LATE)
        expect(heard.headers).toMatchObject({
          'x-should-retry': 'false',
          'agent-qos-admission': 'expired_before_start',
        })
        expect(stage.one.requests).toHaveLength(1)
        expect(await stage.keyState(KEY)).toBe('free')
        gate.resolve()
        await before.heard
        expect((await stage.audit()).events).toHaveLength(1)
      })
    })

    describe('failover', () => {
      const FIRST: { how: string; behaviour: Behaviour }[] = [
        { how: 'a 500', behaviour: { status: 500, body: '{}' } },
        { how: 'a reset', behaviour: { instead: 'reset' } },
        { how: 'a 429', behaviour: { status: 429, body: '{}' } },
        { how: 'a 401', behaviour: { status: 401, body: '{}' } },
        { how: 'a cut behind the head', behaviour: { cut: { after: 0, how: 'reset' } } },
      ]

      test.each(times(FIRST, CASES))(
        'R47 after $how the next target answers, and is paid once ($form)',
        async ({ behaviour, ...one }) => {
          const stage = await scene().stage({ key: LIMIT })
          stage.one.behave(behaviour)
          const heard = await stage.chat(...asked(one, { model: stage.both }))
          expect([heard.status, moneyIn(heard)]).toEqual([200, USUAL_COST])
          expect(heard.headers).toMatchObject({
            'agent-execution-mode': 'emergency_fallback',
            'agent-qos-fallback-used': 'true',
            'agent-resolved-provider': stage.second,
          })
          const { events } = await stage.audit()
          expect(events).toMatchObject([{ status: 'completed', mode: 'emergency_fallback' }])
          expect(events[0]?.attempts).toMatchObject([
            { n: 1, kind: 'first', provider: stage.first, failure: expect.any(String) },
            { n: 2, kind: 'provider_failover', provider: stage.second, status: 200 },
          ])
        },
      )

      test('R47 after content there is none: the second upstream is never asked', async () => {
        const stage = await scene().stage({ key: LIMIT })
        stage.one.behave({ cut: { after: 2, how: 'reset' } })
        const heard = await stage.chat({ model: stage.both, stream: true })
        expect(lastEvent(heard).error).toMatchObject({ code: 'upstream_error' })
        expect(stage.two.requests).toHaveLength(0)
        await stage.audit()
      })

      test('R47 where both fail, the first one’s reason is told and nobody pays', async () => {
        const stage = await scene().stage({ key: LIMIT })
        stage.one.behave({ status: 429, body: '{}' })
        stage.two.behave({ instead: 'reset' })
        expect(envelope(await stage.chat({ model: stage.both }))).toEqual(RATE_LIMITED)
        await cameToNothing(stage, 'failed')
      })

      test('R47 five failures in a row and the target is left alone; after 30 s one call tries it again', async () => {
        const stage = await scene().stage()
        stage.one.behave({ status: 500, body: '{}' })
        for (let n = 0; n < 5; n++) await stage.chat({ model: stage.both })
        expect([stage.one.requests.length, stage.two.requests.length]).toEqual([5, 5])
        const sixth = await stage.chat({ model: stage.both })
        expect(sixth.headers).toMatchObject({ 'agent-execution-mode': 'live', 'agent-qos-fallback-used': 'false' })
        expect(envelope(await stage.chat())).toEqual([503, 'server_error', 'unavailable'])
        expect(stage.one.requests).toHaveLength(5)
        scene().clock.advance(30_000)
        stage.one.behave({})
        expect((await stage.chat()).status).toBe(200)
      })

      test.each([
        ['a 503, which was surely not executed', { status: 503, body: '{}' }, 200],
        ['a 500, which perhaps was', { status: 500, body: '{}' }, 502],
        ['a reset, which perhaps was', { instead: 'reset' }, 502],
      ] as [string, Behaviour, number][])('§11 retry_safety: after %s', async (_how, behaviour, status) => {
        const stage = await scene().stage({ key: LIMIT })
        stage.one.behave(behaviour)
        const careful = hintsHeader({ safety: { retry_safety: 'idempotent_generation_only' } })
        const heard = await stage.chat({ model: stage.both }, { headers: careful })
        expect(heard.status).toBe(status)
        expect(stage.two.requests).toHaveLength(status === 200 ? 1 : 0)
        await stage.audit()
      })
    })

    // The last one: what it sent and gave up may reach the upstream a moment later.
    test('T-99 an answer at the very moment of the deadline is one or the other, never both', async () => {
      const stage = await scene().stage({ key: LIMIT })
      stage.one.behave({ wait: 40 })
      const calls = Array.from({ length: 60 }, (_, n) =>
        stage.chat({ stream: n % 2 === 0 }, { headers: hintsHeader({ qos: { deadline_ms: 36 + (n % 16) } }) }),
      )
      let told = 0
      for (const heard of await Promise.all(calls)) {
        expect([200, 504]).toContain(heard.status)
        if (heard.status === 504) expect(moneyIn(heard)).toBeUndefined()
        told += moneyIn(heard) ?? 0
      }
      expect((await stage.audit()).spent).toBe(told)
    })
  },
  { stages: 140 },
)
