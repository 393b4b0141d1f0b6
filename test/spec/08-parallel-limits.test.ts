// §8.1.2: how many generations of a key run at once. However one ends, its place comes back, and it comes back once.
import { describe, expect, test } from 'vitest'
import { LEASE_MS } from '../../src/counters/counters.ts'
import { ENGINE } from '../support/databases.ts'
import { diceFrom } from '../support/fuzz-values.ts'
import { comesTrue, envelope, KEY } from '../support/inference-cases.ts'
import { hintsHeader, openCall } from '../support/inference-client.ts'
import { anotherProcess, CHAT, type Stage, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'

const RATE_LIMITED = [429, 'rate_limit_error', 'rate_limit_exceeded']
const KEYS = '/v2/api-keys'

const limitTo = async (stage: Stage, max_parallel_requests: number) => {
  const changed = await stage.patch(`${KEYS}/${stage.key_id}`, { max_parallel_requests })
  expect([changed.status, changed.body.max_parallel_requests]).toEqual([200, max_parallel_requests])
}

withScene((scene) => {
  const held = async () => (await scene().metrics.parallelRequests.get()).values[0]?.value ?? 0

  /** As many calls as there are, until one is refused: how many places are free. */
  async function free(stage: Stage, most: number): Promise<number> {
    const gate = deferred()
    stage.one.behave({ wait: gate.promise })
    const before = stage.one.requests.length
    const calls = []
    let refused = false
    while (!refused && calls.length <= most) {
      const call = stage.openChat({ stream: calls.length % 2 === 1 })
      const next = before + calls.length + 1
      refused = await Promise.race([call.heard.then(({ status }) => status === 429), arrived(stage, next)])
      if (!refused) calls.push(call)
    }
    gate.resolve()
    await Promise.all(calls.map((call) => call.heard))
    await comesTrue(async () => (await held()) === 0)
    stage.one.behave({})
    return calls.length
  }

  const arrived = async (stage: Stage, n: number) => {
    await stage.one.request(n)
    return false
  }

  test('§8.1.2 whole answers and streams count alike; over it 429, told like any limit, and nothing is dialled', async () => {
    const stage = await scene().stage()
    await limitTo(stage, 2)
    const gate = deferred()
    stage.one.behave({ wait: gate.promise })
    const open = [stage.openChat(), stage.openChat({ stream: true })]
    await stage.one.request(2)
    const refused = await stage.chat()
    expect(envelope(refused)).toEqual(RATE_LIMITED)
    expect(refused.headers['retry-after']).toBe('1')
    expect(refused.json.error.message).toContain("the key layer's limit max_parallel_requests (2)")
    expect(stage.one.requests).toHaveLength(2)
    gate.resolve()
    expect((await Promise.all(open.map((call) => call.heard))).map(({ status }) => status)).toEqual([200, 200])
    await comesTrue(async () => (await held()) === 0)
    expect((await stage.chat()).status).toBe(200)
    const { events } = await stage.audit()
    expect(events).toHaveLength(3)
  })

  test('§8.1.2 a key without it counts nothing, and reads as ever', async () => {
    const stage = await scene().stage()
    const gate = deferred()
    stage.one.behave({ wait: gate.promise })
    const open = Array.from({ length: 20 }, () => stage.openChat())
    await stage.one.request(20)
    expect(await held()).toBe(0)
    gate.resolve()
    for (const { status } of await Promise.all(open.map((call) => call.heard))) expect(status).toBe(200)
    expect((await stage.get(`${KEYS}/${stage.key_id}`)).body).not.toHaveProperty('max_parallel_requests')
  })

  describe('F9 a place comes back, once', () => {
    test.each<[string, (stage: Stage) => Promise<unknown>]>([
      ['a whole answer', (stage) => stage.chat()],
      ['a stream', (stage) => stage.chat({ stream: true })],
      [
        'an answer that is replayed',
        (stage) => stage.chat({}, { keyed: KEY }).then(() => stage.chat({}, { keyed: KEY })),
      ],
      ['an unknown model', (stage) => stage.chat({ model: 'nobody-has-it' })],
      [
        'an upstream that fails',
        (stage) => {
          stage.one.next({ instead: 'reset' })
          return stage.chat()
        },
      ],
      [
        'a failover',
        (stage) => {
          stage.one.next({ status: 503 })
          return stage.chat({ model: stage.both })
        },
      ],
      [
        'a stream that breaks off',
        (stage) => {
          stage.one.next({ chunks: 5, cut: { after: 2, how: 'reset' } })
          return stage.chat({ stream: true })
        },
      ],
      [
        'a deadline that passes',
        async (stage) => {
          const gate = deferred()
          stage.one.next({ wait: gate.promise })
          const late = await stage.chat({}, { headers: hintsHeader({ qos: { deadline_ms: 100 } }) })
          expect(late.status).toBe(504)
          gate.resolve()
        },
      ],
      [
        'a client that leaves before there is an answer',
        async (stage) => {
          const gate = deferred()
          stage.one.next({ wait: gate.promise })
          const call = stage.openChat()
          await stage.one.request(1)
          call.leave()
          await comesTrue(async () => (await held()) === 0)
          gate.resolve()
        },
      ],
    ])('F9 %s', async (_case, end) => {
      const stage = await scene().stage()
      await limitTo(stage, 3)
      await end(stage)
      await comesTrue(async () => (await held()) === 0)
      expect(await free(stage, 9)).toBe(3)
    })

    test('F9 a hundred calls of all kinds, each left at some byte: no place is lost, and none is there twice', async () => {
      const stage = await scene().stage()
      await limitTo(stage, 5)
      const dice = diceFrom(11)
      stage.one.behave({ chunks: 8, drip_bytes: 40, pace: 0 })
      for (let round = 0; round < 20; round++) {
        const calls = Array.from({ length: 5 }, (_, n) => stage.openChat({ stream: n % 2 === 0 }))
        await Promise.all(
          calls.map(async (call) => {
            if (dice.chance(0.5)) await call.head.catch(() => undefined)
            call.leave()
          }),
        )
        await comesTrue(async () => (await held()) === 0)
      }
      expect(await free(stage, 9)).toBe(5)
    })

    test('R26 a keyed call whose client has left keeps its place until it has ended', async () => {
      const stage = await scene().stage()
      await limitTo(stage, 1)
      const gate = deferred()
      stage.one.behave({ wait: gate.promise })
      const call = stage.openChat({}, { keyed: KEY })
      await stage.one.request(1)
      call.leave()
      expect(envelope(await stage.chat())).toEqual(RATE_LIMITED)
      gate.resolve()
      await comesTrue(async () => (await stage.keyState(KEY)) === 'kept')
      await comesTrue(async () => (await held()) === 0)
      expect((await stage.chat()).status).toBe(200)
    })
  })

  describe('the key that it is a field of', () => {
    test('§4.1 made with it, listed, read, changed, cleared; the same as under /limits', async () => {
      const stage = await scene().stage()
      const made = (await stage.post(KEYS, { name: 'ci', max_parallel_requests: 4 })).body
      expect(made.max_parallel_requests).toBe(4)
      expect((await stage.get(KEYS)).body.data[0].max_parallel_requests).toBe(4)
      const limits = async () => (await stage.get(`${KEYS}/${made.id}/limits`)).body
      expect(await limits()).toMatchObject({ max_parallel_requests: 4, effective: { max_parallel_requests: 4 } })
      await stage.post(`${KEYS}/${made.id}/limits`, { max_parallel_requests: 6 })
      expect((await stage.get(`${KEYS}/${made.id}`)).body.max_parallel_requests).toBe(6)
      await stage.patch(`${KEYS}/${made.id}`, { name: 'other' })
      expect((await limits()).max_parallel_requests).toBe(6)
      const cleared = await stage.patch(`${KEYS}/${made.id}`, { max_parallel_requests: null })
      expect(cleared.body).not.toHaveProperty('max_parallel_requests')
      expect(await limits()).toMatchObject({ max_parallel_requests: null, effective: { max_parallel_requests: null } })
    })

    test.each([0, -1, 1.5, '3', 1_000_000_001, true])('§4.1 400, and nothing stored: %j', async (wrong) => {
      const stage = await scene().stage()
      const body = { max_parallel_requests: wrong }
      for (const send of [
        () => stage.post(KEYS, { name: 'ci', ...body }),
        () => stage.patch(`${KEYS}/${stage.key_id}`, body),
        () => stage.post(`${KEYS}/${stage.key_id}/limits`, body),
      ]) {
        const refused = await scene().storingNothing(send)
        expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining('max_parallel')])
      }
    })

    test('R64 children have the places of their parent, all of them together, and none of their own', async () => {
      const stage = await scene().stage()
      await limitTo(stage, 2)
      const child = async () =>
        (await stage.post(`${KEYS}/${stage.key_id}/children`, { name: 'run', limit_usd: 1, ttl_seconds: 60 })).body
      const [one, two] = [await child(), await child()]
      const own = () => stage.patch(`${KEYS}/${one.id}`, { max_parallel_requests: 9 })
      const refused = await scene().storingNothing(own)
      expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining('its parent')])
      const gate = deferred()
      stage.one.behave({ wait: gate.promise })
      const by = (key: string) => stage.openChat({ max_tokens: 5 }, { headers: { authorization: `Bearer ${key}` } })
      const open = [by(one.key), by(two.key)]
      await stage.one.request(2)
      expect(envelope(await by(one.key).heard)).toEqual(RATE_LIMITED)
      expect(envelope(await stage.chat())).toEqual(RATE_LIMITED)
      gate.resolve()
      await Promise.all(open.map((call) => call.heard))
    })
  })

  test.runIf(ENGINE === 'postgres')(
    '§8.1.2 replicas count together, and what a dead one held is free in half a minute',
    async () => {
      const stage = await scene().stage()
      await limitTo(stage, 4)
      const other = await anotherProcess(scene(), 'another')
      const gate = deferred()
      stage.one.behave({ wait: gate.promise })
      const headers = { authorization: `Bearer ${stage.key}` }
      const elsewhere = () => openCall(other.origin, CHAT, { body: stage.bodyOf(), headers })
      const calls = Array.from({ length: 40 }, (_, n) => (n % 2 ? stage.openChat() : elsewhere()))
      const refused = calls.map(({ heard }) => heard.then(({ status }) => status === 429))
      const firsts = async () =>
        (await Promise.all(refused.map((one) => Promise.race([one, undefined])))).filter(Boolean)
      await comesTrue(async () => (await firsts()).length === 36)
      expect(stage.one.requests).toHaveLength(4)
      gate.resolve()
      await Promise.all(calls.map((call) => call.heard))
      await comesTrue(async () => (await held()) === 0 && (await heldBy(other)) === 0)

      // One that is killed neither renews nor releases.
      const lost = deferred()
      stage.one.behave({ wait: lost.promise })
      const before = stage.one.requests.length
      for (let n = 0; n < 4; n++) elsewhere()
      await stage.one.request(before + 4)
      expect(envelope(await stage.chat())).toEqual(RATE_LIMITED)
      scene().clock.advance(LEASE_MS + 1)
      stage.one.behave({})
      expect((await stage.chat()).status).toBe(200)
      lost.resolve()
      await comesTrue(async () => (await heldBy(other)) === 0)
    },
  )

  const heldBy = async ({ metrics }: Awaited<ReturnType<typeof anotherProcess>>) =>
    (await metrics.parallelRequests.get()).values[0]?.value ?? 0
})
