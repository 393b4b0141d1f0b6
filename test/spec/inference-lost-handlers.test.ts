// R22, §11.8: a reservation is renewed for as long as its handler runs, and not for as long as the process does. One
// whose handler ended without giving it back, whatever the store said or did not say, is free after 60 s.
import { afterEach, expect, test } from 'vitest'
import { SECOND_MS } from '../../src/core/clock.ts'
import { unavailable } from '../../src/storage/db.ts'
import { AWAY, comesTrue, envelope, KEY, TEXT } from '../support/inference-cases.ts'
import { type Heard, saidIn } from '../support/inference-client.ts'
import { CHAT, withScene } from '../support/inference-scene.ts'
import { deferred, textOf } from '../support/tampered-db.ts'

const EXPLAIN = '/v2/route-explain'
const outcome = ({ status, headers }: Heard) => [status, headers['agent-idempotent-replay']]

withScene((scene) => {
  afterEach(() => void Object.assign(scene().tampering, { rows: undefined, transaction: undefined }))

  /** A minute of the process' life, in which it renews what it has. */
  async function aMinutePasses(): Promise<void> {
    for (let passed = 0; passed < 60; passed += 15) {
      scene().clock.advance(15 * SECOND_MS)
      await scene().housekeep('renew reservations')
    }
  }

  /** The next reservation is written, but nobody hears of it. */
  function loseAcknowledgement(): void {
    const { tampering } = scene()
    tampering.rows = async (statement, run) => {
      const rows = await run(statement)
      if (!textOf(statement).startsWith('INSERT INTO idempotency')) return rows
      tampering.rows = undefined
      throw unavailable(new Error('Connection terminated unexpectedly'))
    }
  }

  test.each([
    ['a generation', CHAT],
    ['an effect elsewhere', EXPLAIN],
  ])('R22 a reservation that was written unheard is free after 60 s: %s', async (_case, path) => {
    const stage = await scene().stage()
    const body = path === CHAT ? stage.bodyOf() : { model: stage.model }
    const asking = { body, headers: { 'agent-idempotency-key': KEY } }
    loseAcknowledgement()
    expect(envelope(await stage.ask(path, asking))).toEqual(AWAY)
    expect([await stage.keyState(KEY, path), stage.one.requests]).toEqual(['held', []])
    expect(outcome(await stage.ask(path, asking))).toEqual([409, 'false'])
    await aMinutePasses()
    expect(outcome(await stage.ask(path, asking))).toEqual([200, 'false'])
    expect(outcome(await stage.ask(path, asking))).toEqual([200, 'true'])
  })

  test('R22 one that could not be given back, because the store was away, is free after 60 s', async () => {
    const stage = await scene().stage()
    const { tampering } = scene()
    const asking = { body: { model: stage.model }, headers: { 'agent-idempotency-key': KEY } }
    let is_away = false
    tampering.rows = (statement, run) => {
      is_away ||= textOf(statement).startsWith('UPDATE idempotency SET state')
      return is_away ? Promise.reject(unavailable(new Error('away'))) : run(statement)
    }
    expect(envelope(await stage.ask(EXPLAIN, asking))).toEqual(AWAY)
    tampering.rows = undefined
    expect(await stage.keyState(KEY, EXPLAIN)).toBe('held')
    await aMinutePasses()
    expect(outcome(await stage.ask(EXPLAIN, asking))).toEqual([200, 'false'])
  })

  test('§11.6 one whose charge was put off, and then refused for good, is given back with the hold', async () => {
    const stage = await scene().stage({ key: 1_000_000 })
    const { tampering } = scene()
    const gate = deferred()
    stage.one.next({ chunks: 3, pace: (event) => (event === 2 ? gate.promise : undefined) })
    const call = stage.openChat({ stream: true }, { keyed: KEY })
    await call.says('Hello fr')
    const refusals = [unavailable(new Error('away')), Object.assign(new Error('no'), { code: '23514' })]
    tampering.transaction = (work, begin) => {
      const refusal = refusals.shift()
      return refusal ? Promise.reject(refusal) : begin(work)
    }
    gate.resolve()
    expect(saidIn(await call.heard)).toBe(TEXT)
    await comesTrue(async () => refusals.length === 0 && (await stage.keyState(KEY)) === 'free')
    tampering.transaction = undefined
    expect((await stage.until(({ holds }) => holds.length === 0)).events).toEqual([])
    expect(outcome(await stage.chat({ stream: true }, { keyed: KEY }))).toEqual([200, 'false'])
  })

  test('R22 one whose handler runs is renewed, however long it takes', async () => {
    const stage = await scene().stage()
    const gate = deferred()
    stage.one.next({ wait: gate.promise })
    const call = stage.openChat({}, { keyed: KEY })
    await stage.one.request(1)
    for (let minutes = 0; minutes < 3; minutes++) await aMinutePasses()
    expect(outcome(await stage.chat({}, { keyed: KEY }))).toEqual([409, 'false'])
    gate.resolve()
    expect(outcome(await call.heard)).toEqual([200, 'false'])
    expect(outcome(await stage.chat({}, { keyed: KEY }))).toEqual([200, 'true'])
  })
})
