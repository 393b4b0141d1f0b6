// Who pays when (R21, R26, R41 to R43): generations that complete, whose client leaves, or whose store is away. After
// each of them nothing is held, and what was spent is the sum of the usage events.
import { describe, expect, test } from 'vitest'
import {
  AWAY,
  asked,
  CASES,
  type Case,
  comesTrue,
  envelope,
  KEY,
  KEYED,
  PLAIN,
  STREAMED,
  TEXT,
  UNKEYED,
} from '../support/inference-cases.ts'
import { eventsIn, moneyIn, saidIn } from '../support/inference-client.ts'
import { CHAT, type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { cutOffNextCommit, deferred, takeAway } from '../support/tampered-db.ts'
import type { Behaviour } from '../support/upstream.ts'

const LIMIT = 1_000_000

/** Says one piece of its text, then waits. */
const paused = (gate: Promise<unknown>): Behaviour => ({ chunks: 3, pace: (event) => (event === 2 ? gate : undefined) })

withScene((scene) => {
  /** Nothing was produced, so nothing is charged, nothing recorded, and the key is free again. */
  async function nothingHappened(stage: Stage) {
    expect((await stage.audit()).events).toEqual([])
    expect(await stage.keyState(KEY)).toBe('free')
  }

  describe('the generation completes', () => {
    test.each(CASES)('R41, R42 charged once, told, recorded: $form', async (one) => {
      const stage = await scene().stage({ key: LIMIT })
      const heard = await stage.chat(...asked(one))
      expect([heard.status, heard.complete, moneyIn(heard)]).toEqual([200, true, USUAL_COST])
      const { events } = await stage.audit()
      expect(events).toMatchObject([{ status: 'completed', charged_micros: USUAL_COST, written_off_micros: 0 }])
      expect(events[0]?.trace_id).toBe(heard.headers['agent-trace-id'])
      expect(await stage.keyState(KEY)).toBe(one.keyed ? 'kept' : 'free')
      expect(heard.headers['agent-idempotent-replay']).toBe(one.keyed ? 'false' : undefined)
    })

    test.each(KEYED)('§11.4 a replay is the same bytes and headers, and costs nothing: $form', async (one) => {
      const stage = await scene().stage({ key: LIMIT })
      const first = await stage.chat(...asked(one))
      const again = await stage.chat(...asked(one))
      expect([again.status, again.headers['agent-idempotent-replay']]).toEqual([200, 'true'])
      expect(again.bytes.equals(first.bytes)).toBe(true)
      expect(again.headers['content-type']).toBe(first.headers['content-type'])
      for (const [name, value] of Object.entries({ ...first.headers, ...first.trailers }))
        if (name.startsWith('agent-') && name !== 'agent-idempotent-replay') expect(again.headers[name]).toBe(value)
      expect((await stage.audit()).spent).toBe(USUAL_COST)
      expect(stage.one.requests).toHaveLength(1)
    })

    test('T-10 a replay is served where the limit is used up', async () => {
      const stage = await scene().stage({ key: LIMIT })
      const [plain] = KEYED as [Case]
      await stage.chat(...asked(plain))
      await stage.post(`/v2/api-keys/${stage.key_id}/budget`, { limit_usd: 0 })
      expect((await stage.chat()).status).toBe(429)
      const again = await stage.chat(...asked(plain))
      expect([again.status, again.headers['agent-idempotent-replay']]).toEqual([200, 'true'])
    })

    test.each(STREAMED)('R41 a client that leaves after the end changes nothing: $form', async (one) => {
      const stage = await scene().stage({ key: LIMIT })
      const call = stage.openChat(...asked(one))
      await call.says('[DONE]')
      call.leave()
      const { events } = await stage.until(({ events }) => events.length === 1)
      expect(events).toMatchObject([{ status: 'completed', charged_micros: USUAL_COST }])
      await stage.audit()
    })

    test('R42 where the upstream reports no usage, what it said is charged by its length', async () => {
      const stage = await scene().stage({ key: LIMIT })
      stage.one.behave({ usage: null })
      const input = Math.ceil(JSON.stringify(stage.bodyOf({ stream: true })).length / 4)
      const output = Math.ceil(TEXT.length / 4)
      expect(moneyIn(await stage.chat({ stream: true }))).toBe(input + 2 * output)
      expect(moneyIn(await stage.chat())).toBeGreaterThan(0)
      await stage.audit()
    })
  })

  describe('the client leaves before the first token', () => {
    test.each(UNKEYED)('R26 the upstream is let go, nobody pays: $form', async (one) => {
      const stage = await scene().stage({ key: LIMIT })
      stage.one.behave({ wait: new Promise(() => {}) })
      const call = stage.openChat(...asked(one))
      const { over } = await stage.one.request(1)
      expect((await stage.ledger()).holds).toHaveLength(1)
      call.leave()
      expect(await over).toBe('left')
      await stage.until(({ holds, events }) => holds.length === 0 && events.length === 1)
      const { events } = await stage.audit()
      const tried = [{ n: 1, failure: 'client_left' }]
      expect(events).toMatchObject([{ status: 'client_left', charged_micros: 0, output_tokens: 0, attempts: tried }])
    })

    test.each(KEYED)('R26 it is finished, kept, charged once and replayed: $form', async (one) => {
      const stage = await scene().stage({ key: LIMIT })
      const gate = deferred()
      stage.one.behave({ wait: gate.promise })
      const call = stage.openChat(...asked(one))
      const { over } = await stage.one.request(1)
      call.leave()
      await expect(call.heard).rejects.toThrow()
      gate.resolve()
      expect(await over).toBe('answered')
      const { events } = await stage.until(({ events }) => events.length === 1)
      expect(events).toMatchObject([{ status: 'completed', charged_micros: USUAL_COST }])
      const retry = await stage.chat(...asked(one))
      expect([retry.headers['agent-idempotent-replay'], moneyIn(retry)]).toEqual(['true', USUAL_COST])
      expect(one.stream ? saidIn(retry) : retry.json.choices[0].message.content).toBe(TEXT)
      expect((await stage.audit()).spent).toBe(USUAL_COST)
    })

    test('R26 one that left while its hints were looked up is noticed too: the upstream is never asked', async () => {
      const stage = await scene().stage({ key: LIMIT })
      const stored = await stage.post('/v2/agent-hints', { qos: { class: 'interactive' } })
      const [reached, go] = [deferred(), deferred()]
      scene().tampering.rows = async (statement, run) => {
        if (!statement.text.join('').includes('FROM agent_hints')) return run(statement)
        reached.resolve()
        await go.promise
        return run(statement)
      }
      const closed = new Promise((resolve) =>
        scene().app.server.once('connection', (socket) => socket.once('close', resolve)),
      )
      const call = stage.openChat({}, { headers: { 'agent-hints-ref': stored.body.id } })
      await reached.promise
      call.leave()
      await closed
      scene().tampering.rows = undefined
      go.resolve()
      await stage.chat()
      expect((await stage.audit()).events).toHaveLength(1)
      expect(stage.one.requests).toHaveLength(1)
    })
  })

  describe('the client leaves in mid-stream', () => {
    test('R26 not keyed: the upstream is let go, and what was produced is paid for', async () => {
      const stage = await scene().stage({ key: LIMIT })
      stage.one.behave(paused(new Promise(() => {})))
      const call = stage.openChat({ stream: true })
      await call.says('Hello fr')
      call.leave()
      expect(await (await stage.one.request(1)).over).toBe('left')
      const { events } = await stage.until(({ events }) => events.length === 1)
      const input = Math.ceil(JSON.stringify(stage.bodyOf({ stream: true })).length / 4)
      const output = Math.ceil('Hello fr'.length / 4)
      expect(events).toMatchObject([{ status: 'client_left', charged_micros: input + 2 * output }])
      await stage.audit()
    })

    test('R26, R43 not keyed: what was produced is charged at most up to the hold', async () => {
      const stage = await scene().stage({ key: LIMIT })
      stage.one.behave({ ...paused(new Promise(() => {})), text: 'x'.repeat(90) })
      const call = stage.openChat({ stream: true, max_tokens: 1 })
      await call.says('xxx')
      const { held } = await stage.ledger()
      call.leave()
      const { events } = await stage.until(({ events }) => events.length === 1)
      expect(events[0]?.charged_micros).toBeLessThanOrEqual(held)
      await stage.audit()
    })

    test('R26 keyed: it is finished and kept, and the retry hears all of it', async () => {
      const stage = await scene().stage({ key: LIMIT })
      const gate = deferred()
      stage.one.behave(paused(gate.promise))
      const call = stage.openChat({ stream: true }, { keyed: KEY })
      await call.says('Hello fr')
      call.leave()
      gate.resolve()
      await stage.until(({ events }) => events.length === 1)
      const retry = await stage.chat({ stream: true }, { keyed: KEY })
      expect([retry.headers['agent-idempotent-replay'], saidIn(retry)]).toEqual(['true', TEXT])
      expect([moneyIn(retry), eventsIn(retry).at(-1)]).toEqual([USUAL_COST, '[DONE]'])
      expect((await stage.audit()).events).toMatchObject([{ status: 'completed' }])
    })

    test('R26 keyed: a retry while it is still being finished gets 409', async () => {
      const stage = await scene().stage({ key: LIMIT })
      const gate = deferred()
      stage.one.behave(paused(gate.promise))
      const call = stage.openChat({ stream: true }, { keyed: KEY })
      await call.says('Hello fr')
      call.leave()
      const early = await stage.chat({ stream: true }, { keyed: KEY })
      expect(envelope(early)).toEqual([409, 'idempotency_conflict', undefined])
      gate.resolve()
      await stage.until(({ events }) => events.length === 1)
      await stage.audit()
      expect(stage.one.requests).toHaveLength(1)
    })

    test('T-28 a keyed stream that broke after its client had left is not kept', async () => {
      const stage = await scene().stage({ key: LIMIT })
      const gate = deferred()
      stage.one.next({ ...paused(gate.promise), cut: { after: 3, how: 'reset' } })
      const call = stage.openChat({ stream: true }, { keyed: KEY })
      await call.says('Hello fr')
      call.leave()
      gate.resolve()
      const { events } = await stage.until(({ events }) => events.length === 1)
      expect(events).toMatchObject([{ status: 'upstream_failed', charged_micros: 0 }])
      await comesTrue(async () => (await stage.keyState(KEY)) === 'free')
      expect((await stage.chat({ stream: true }, { keyed: KEY })).headers['agent-idempotent-replay']).toBe('false')
      await stage.audit()
    })
  })

  describe('the store is away when it is time to settle', () => {
    test.each(PLAIN)('R21 503, nobody pays, and hold and key come back with the store: $form', async (one) => {
      const stage = await scene().stage({ key: LIMIT })
      const gate = deferred()
      stage.one.next({ wait: gate.promise })
      const call = stage.openChat(...asked(one))
      await stage.one.request(1)
      const bringBack = takeAway(scene().tampering)
      gate.resolve()
      expect(envelope(await call.heard)).toEqual(AWAY)
      expect((await stage.ledger()).holds).toHaveLength(1)
      bringBack()
      await stage.until(({ holds }) => holds.length === 0)
      await comesTrue(async () => (await stage.keyState(KEY)) === 'free')
      await nothingHappened(stage)
      expect(moneyIn(await stage.chat(...asked(one)))).toBe(USUAL_COST)
    })

    test.each(STREAMED)('R21 the client has its answer, and the charge is written later: $form', async (one) => {
      const stage = await scene().stage({ key: LIMIT })
      const gate = deferred()
      stage.one.behave(paused(gate.promise))
      const call = stage.openChat(...asked(one))
      await call.says('Hello fr')
      const bringBack = takeAway(scene().tampering)
      gate.resolve()
      const heard = await call.heard
      expect([saidIn(heard), heard.complete, eventsIn(heard).at(-1)]).toEqual([TEXT, true, '[DONE]'])
      expect(moneyIn(heard)).toBeUndefined() // what is not known is not told
      bringBack()
      const { events } = await stage.until(({ events }) => events.length === 1)
      expect(events).toMatchObject([{ status: 'completed', charged_micros: USUAL_COST }])
      await stage.audit()
      if (!one.keyed) return
      const retry = await stage.chat(...asked(one))
      expect([retry.headers['agent-idempotent-replay'], moneyIn(retry)]).toEqual(['true', USUAL_COST])
    })

    test('T-104 a COMMIT that nobody heard of is not made twice', async () => {
      const stage = await scene().stage({ key: LIMIT })
      const gate = deferred()
      const tries = async () => (await scene().metrics.deferredWrites.get()).values[0]?.value ?? 0
      const before = await tries()
      stage.one.behave(paused(gate.promise))
      const call = stage.openChat({ stream: true }, { keyed: KEY })
      await call.says('Hello fr')
      cutOffNextCommit(scene().tampering, true)
      gate.resolve()
      expect(saidIn(await call.heard)).toBe(TEXT)
      await comesTrue(async () => (await tries()) === before + 2) // it was put off, and then refused
      expect((await stage.audit()).events).toHaveLength(1)
      expect(await stage.keyState(KEY)).toBe('kept')
    })
  })

  test('R3 a key that may only read generates nothing', async () => {
    const stage = await scene().stage()
    const authorization = `Bearer ${await stage.keyWith('read')}`
    const heard = await stage.ask(CHAT, { body: stage.bodyOf(), headers: { authorization } })
    expect(envelope(heard)).toEqual([403, 'insufficient_scope', 'insufficient_scope'])
    await nothingHappened(stage)
  })
})
