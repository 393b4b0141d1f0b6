// R47: a call that a target surely did not execute is made there again: told as attempts are, held and charged once.
import { type AddressInfo, createServer, connect as dial, type Server } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { heldTimers } from '../support/held-timers.ts'
import { comesTrue, envelope, UPSTREAM_FAILED } from '../support/inference-cases.ts'
import { hintsHeader } from '../support/inference-client.ts'
import { PRICES, type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import type { TestUpstream } from '../support/upstream.ts'

/** The attempt is counted in the same turn in which its pause begins. */
const FAILED_ONCE = /switchyard_attempts_total\{provider="door"[^}]*result="connect"[^}]*\} 1\n/
const ASKED = [1_000, 1_250] as const
const RATE_LIMITED = [429, 'rate_limit_error', 'rate_limit_exceeded']

const [door, wall] = [await startDoor(), await startDoor()]
afterAll(door.shut)

withScene(
  (scene) => {
    const attemptsOf = async (stage: Stage) => {
      const { events } = await stage.audit()
      return events.map(({ attempts }) =>
        attempts.map(({ kind, provider, status, failure }) => [kind, provider, status, failure]),
      )
    }

    describe('a connection that fails', () => {
      test('R47 is tried again on the same target: one answer, one charge, no fallback', async () => {
        const stage = await scene().stage({ key: 1_000_000 })
        const timers = heldTimers()
        const call = stage.openChat({ model: 'door' })
        await comesTrue(async () => FAILED_ONCE.test(await scene().metrics.registry.metrics()))
        await door.open(stage.one)
        timers.pass(75)
        const heard = await call.heard
        expect([heard.status, heard.headers['agent-charged-micros']]).toEqual([200, String(USUAL_COST)])
        expect(heard.headers['agent-qos-fallback-used']).toBe('false')
        expect(heard.headers['agent-execution-mode']).not.toBe('emergency_fallback')
        expect(stage.one.requests).toHaveLength(1)
        expect(await attemptsOf(stage)).toEqual([
          [
            ['first', 'door', undefined, 'connect'],
            ['retry', 'door', 200, undefined],
          ],
        ])
        expect((await stage.ledger()).spent).toBe(USUAL_COST)
        await door.shut()
      })

      test('R47 as often as the provider says, and never more often: then 502, and nothing is charged', async () => {
        const stage = await scene().stage()
        const heard = await stage.chat({ model: 'wall' })
        expect(envelope(heard)).toEqual(UPSTREAM_FAILED)
        expect(await attemptsOf(stage)).toEqual([
          [
            ['first', 'wall', undefined, 'connect'],
            ['retry', 'wall', undefined, 'connect'],
            ['retry', 'wall', undefined, 'connect'],
          ],
        ])
        expect(envelope(await stage.chat({ model: 'shut' }))).toEqual(UPSTREAM_FAILED)
        expect((await attemptsOf(stage)).at(-1)).toEqual([['first', 'shut', undefined, 'connect']])
      })

      test('R47 then another target is asked: that is a failover', async () => {
        const stage = await scene().stage()
        const heard = await stage.chat({ model: 'either' })
        expect([heard.status, heard.headers['agent-qos-fallback-used']]).toEqual([200, 'true'])
        expect(await attemptsOf(stage)).toEqual([
          [
            ['first', 'ajar', undefined, 'connect'],
            ['retry', 'ajar', undefined, 'connect'],
            ['provider_failover', 'other', 200, undefined],
          ],
        ])
      })
    })

    describe('an upstream that asks to wait', () => {
      test.each([429, 503])('R47 %i is waited for where nobody else is left', async (status) => {
        const stage = await scene().stage({ key: 1_000_000 })
        const timers = heldTimers()
        stage.one.next({ status, headers: { 'retry-after': '1' } })
        const call = stage.openChat({ model: 'busy' })
        await timers.untilSetWithin(ASKED, 1)
        expect((await timers.passUntil(call.heard)).status).toBe(200)
        const [attempts] = await attemptsOf(stage)
        expect(attempts?.map(([kind, , answered]) => [kind, answered])).toEqual([
          ['first', status],
          ['retry', 200],
        ])
        expect((await stage.ledger()).spent).toBe(USUAL_COST)
      })

      test('R47 another target is asked at once, and nobody waits', async () => {
        const stage = await scene().stage()
        stage.one.next({ status: 429, headers: { 'retry-after': '1' } })
        expect((await stage.chat({ model: 'busy-too' })).status).toBe(200)
        const [attempts] = await attemptsOf(stage)
        expect(attempts?.map(([kind]) => kind)).toEqual(['first', 'provider_failover'])
      })

      test('R44 R47 a wait that the deadline does not leave room for is not begun', async () => {
        const stage = await scene().stage()
        stage.one.behave({ status: 429, headers: { 'retry-after': '2' } })
        const heard = await stage.chat({ model: 'busy' }, { headers: hintsHeader({ qos: { deadline_ms: 1_900 } }) })
        expect(envelope(heard)).toEqual(RATE_LIMITED)
        expect(stage.one.requests).toHaveLength(1)
      })

      test('R47 three retries of a call at the most, whatever its targets allow', async () => {
        const stage = await scene().stage()
        const [one, two] = [stage.one, stage.two]
        for (const upstream of [one, two]) upstream.behave({ status: 429, headers: { 'retry-after': '0' } })
        expect(envelope(await stage.chat({ model: 'busy-too' }))).toEqual(RATE_LIMITED)
        expect(one.requests.length + two.requests.length).toBe(5)
      })

      test('R26 a client that leaves meanwhile ends it: nothing is asked, held or charged any more', async () => {
        const stage = await scene().stage()
        const timers = heldTimers()
        stage.one.behave({ status: 429, headers: { 'retry-after': '1' } })
        const call = stage.openChat({ model: 'busy' })
        await stage.one.until(() => stage.one.requests.length === 1) // a timer of somebody else's may be as long
        await timers.untilSetWithin(ASKED, 1)
        call.leave()
        const { events } = await stage.until((ledger) => ledger.events.length === 1)
        expect(events[0]).toMatchObject({ status: 'client_left', charged_micros: 0 })
        timers.pass(5_000)
        expect(stage.one.requests).toHaveLength(1)
        await stage.audit()
      })
    })

    describe('what may have been executed', () => {
      test.each<[string, Parameters<TestUpstream['behave']>[0], boolean]>([
        ['a connection that is reset after the request was sent', { instead: 'reset' }, false],
        ['status 500', { status: 500, headers: { 'retry-after': '0' } }, false],
        ['503 that asks for no wait', { status: 503 }, false],
        ['429 that asks for a long wait', { status: 429, headers: { 'retry-after': '30' } }, false],
        ['a stream that breaks off after bytes came', { chunks: 5, cut: { after: 2, how: 'reset' } }, true],
      ])('R47 is never asked again: %s', async (_case, behaviour, stream) => {
        const stage = await scene().stage()
        stage.one.behave(behaviour)
        const heard = await stage.chat({ model: 'busy', stream })
        expect(heard.status === 200).toBe(stream)
        expect(stage.one.requests).toHaveLength(1)
        const { events } = await stage.until((ledger) => ledger.events.length === 1)
        expect(events[0]?.attempts).toHaveLength(1)
        expect(events[0]?.charged_micros).toBe(0)
        await stage.audit()
      })
    })
  },
  {
    stages: 20,
    config: (one: TestUpstream, two: TestUpstream) => ({
      providers: [
        provider('door', door.base_url, ['door'], 2),
        provider('wall', wall.base_url, ['wall'], 2),
        provider('shut', wall.base_url, ['shut'], 0),
        provider('ajar', wall.base_url, ['either'], 1),
        provider('other', two.base_url, ['either'], 1),
        provider('busy', one.base_url, ['busy', 'busy-too'], 2),
        provider('busy-too', two.base_url, ['busy-too'], 3),
      ],
    }),
  },
)

function provider(id: string, base_url: string, models: string[], retries: number): object {
  return { id, base_url, retries, models: models.map((model) => ({ id: model, ...PRICES, max_output_tokens: 1_000 })) }
}

/** A port that refuses connections until it is opened to an upstream. */
async function startDoor() {
  let server: Server | undefined
  const listen = (port: number, to: number) =>
    new Promise<number>((resolve) => {
      server = createServer((socket) => {
        const onward = dial(to, '127.0.0.1')
        socket.pipe(onward).pipe(socket)
        for (const end of [socket, onward]) end.on('error', () => void socket.destroy())
      }).listen(port, '127.0.0.1', () => resolve(portOf(server)))
    })
  const shut = () => new Promise<void>((done) => (server?.listening ? server.close(() => done()) : done()))
  const port = await listen(0, 0)
  await shut()
  return {
    base_url: `http://127.0.0.1:${port}/v1`,
    open: (to: TestUpstream) => listen(port, to.port),
    shut: async () => void server?.close(),
  }
}

function portOf(server: Server | undefined): number {
  return (server?.address() as AddressInfo | undefined)?.port ?? 0
}
