// §8.1.2: tokens per minute and streams at once, on generations that complete, fail, are replayed, or whose client
// leaves. Whatever happens, what was taken and not used comes back.
import { RateLimitError } from 'openai'
import { describe, expect, test } from 'vitest'
import { diceFrom } from '../support/fuzz-values.ts'
import { comesTrue, envelope, KEY } from '../support/inference-cases.ts'
import type { Heard } from '../support/inference-client.ts'
import { CHAT, type Stage, withScene } from '../support/inference-scene.ts'
import { countStatements, deferred } from '../support/tampered-db.ts'

const RATE_LIMITED = [429, 'rate_limit_error', 'rate_limit_exceeded']
/** What the upstream's usual answer says it took. */
const USUAL_TOKENS = 18

const limitTo = async (stage: Stage, limits: object) => {
  expect((await stage.post(`/v2/api-keys/${stage.key_id}/limits`, limits)).status).toBe(200)
}

/** What the body that a stage sends counts as on arrival. */
const onArrival = (stage: Stage, more: object = {}, output = 1_000) =>
  Math.ceil(JSON.stringify(stage.bodyOf(more)).length / 4) + output

const tokensLeft = async (stage: Stage) =>
  Number((await stage.ask('/v1/models', { method: 'GET' })).headers['x-ratelimit-remaining-tokens'])

withScene((scene) => {
  const openStreams = async () => (await scene().metrics.openStreams.get()).values[0]?.value ?? 0

  describe('tokens per minute', () => {
    test.each([
      ['a plain answer', {}],
      ['a stream', { stream: true }],
    ])('§8.1.2 estimated on arrival, settled to the actual: %s', async (_case, more) => {
      const stage = await scene().stage()
      await limitTo(stage, { tokens_per_minute: 5_000 })
      const heard = await stage.chat(more)
      expect(heard.headers['x-ratelimit-remaining-tokens']).toBe(String(5_000 - onArrival(stage, more)))
      await comesTrue(async () => (await tokensLeft(stage)) === 5_000 - USUAL_TOKENS)
    })

    test('§8.1.2 R15 a long conversation that the key may not send is refused, and not read again and again', async () => {
      const stage = await scene().stage()
      const input = 'A long story. '.repeat(2_000)
      const { json: first } = await stage.ask('/v1/responses', { body: { model: stage.model, input } })
      await limitTo(stage, { tokens_per_minute: 5_000 })
      const statements = countStatements(scene().tampering)
      const goOn = () =>
        stage.ask('/v1/responses', { body: { model: stage.model, input: 'Go on.', previous_response_id: first.id } })
      const chains = async () =>
        (await statements.while(async () => expect(envelope(await goOn())).toEqual(RATE_LIMITED))).filter((text) =>
          text.includes('stored_response'),
        )
      expect(await chains()).toHaveLength(1) // nobody knows yet how long it is
      for (let n = 0; n < 3; n++) expect(await chains()).toEqual([])
      scene().tampering.rows = undefined
      await limitTo(stage, { tokens_per_minute: 50_000 })
      expect((await goOn()).status).toBe(200)
    })

    test('T-61 T-67 refused by tokens: Retry-After is true, and the request itself is not counted', async () => {
      const stage = await scene().stage()
      const estimate = onArrival(stage)
      await limitTo(stage, { tokens_per_minute: estimate, requests_per_minute: 50 })
      await stage.chat()
      const before = await stage.ask('/v1/models', { method: 'GET' })
      scene().clock.advance(3_000)
      const refused = await stage.chat()
      expect(envelope(refused)).toEqual(RATE_LIMITED)
      expect(refused.headers).toMatchObject({
        'retry-after': '58',
        ratelimit: `"key-tokens";r=${estimate - USUAL_TOKENS};t=58`,
        'x-ratelimit-reset-tokens': '58s',
        'x-ratelimit-remaining-requests': before.headers['x-ratelimit-remaining-requests'],
      })
      expect(refused.json.error.message).toBe(
        `This would exceed the key layer's limit tokens_per_minute (${estimate}). This request counts as ${estimate} ` +
          `until it has ended, and ${estimate - USUAL_TOKENS} are left. Retry after 58 s.`,
      )
      scene().clock.advance(57_000)
      expect((await stage.chat()).status).toBe(429)
      scene().clock.advance(1_000)
      expect((await stage.chat()).status).toBe(200)
      expect(stage.one.requests).toHaveLength(2)
    })

    test('R49, T-69 more than the whole limit: after the time that is told, a smaller one is admitted', async () => {
      const stage = await scene().stage()
      await limitTo(stage, { tokens_per_minute: 500 })
      stage.one.behave({ usage: { input: 500, output: 0 } })
      expect((await stage.chat({ max_tokens: 300 })).status).toBe(200)
      const refused = await stage.chat({ max_tokens: 5_000 })
      scene().clock.advance(Number(refused.headers['retry-after']) * 1_000)
      expect([refused.status, (await stage.chat({ max_tokens: 300 })).status]).toEqual([429, 200])
    })

    test('T-69 more than the whole limit: waiting does not help, fewer tokens do', async () => {
      const stage = await scene().stage()
      await limitTo(stage, { tokens_per_minute: 500 })
      const refused = await stage.chat({ max_tokens: 5_000 })
      expect(envelope(refused)).toEqual(RATE_LIMITED)
      expect(refused.headers).toMatchObject({ 'retry-after': '61', 'x-should-retry': 'false' })
      expect(refused.json.error.message).toMatch(/limit tokens_per_minute \(500\) ever allows\. .* send fewer tokens/)
      expect((await stage.chat({ max_tokens: 300 })).status).toBe(200)
    })

    test('§8.1.2 a caller that says how much it wants needs no more than that', async () => {
      const stage = await scene().stage()
      await limitTo(stage, { tokens_per_minute: 5_000 })
      const heard = await stage.chat({ max_tokens: 10, n: 3 })
      const estimate = onArrival(stage, { max_tokens: 10, n: 3 }, 30)
      expect(heard.headers['x-ratelimit-remaining-tokens']).toBe(String(5_000 - estimate))
    })

    test.each([
      ['the upstream fails', { status: 500 }, 502],
      ['the upstream refuses', { status: 400, body: { error: { message: 'no' } } }, 400],
    ])('§8.1.2 nothing was generated, so nothing is counted: %s', async (_case, behaviour, status) => {
      const stage = await scene().stage()
      await limitTo(stage, { tokens_per_minute: 5_000 })
      stage.one.behave(behaviour)
      expect((await stage.chat()).status).toBe(status)
      expect(await tokensLeft(stage)).toBe(5_000)
    })

    test.each([
      ['a body that is not valid', { messages: [] }, 400],
      ['a model that nobody knows', { model: 'nobody-knows-this' }, 404],
    ])('R15 %s costs a request and no tokens', async (_case, more, status) => {
      const stage = await scene().stage()
      await limitTo(stage, { tokens_per_minute: 5_000 })
      expect((await stage.chat(more)).status).toBe(status)
      expect(await tokensLeft(stage)).toBe(5_000)
    })

    test('R24 T-11 a replay costs a request and no tokens, and is given where tokens and streams have run out', async () => {
      const stage = await scene().stage()
      await stage.chat({ stream: true }, { keyed: KEY })
      await limitTo(stage, { tokens_per_minute: 1, concurrent_streams: 1 })
      const requests = async () =>
        Number((await stage.ask('/v1/models', { method: 'GET' })).headers['x-ratelimit-remaining-requests'])
      const before = await requests()
      const again = await stage.chat({ stream: true }, { keyed: KEY })
      expect([again.status, again.headers['agent-idempotent-replay']]).toEqual([200, 'true'])
      expect(await requests()).toBe(before - 2) // the replay, and the asking
      expect(envelope(await stage.chat())).toEqual(RATE_LIMITED)
    })

    test('F10 three hundred calls at once: what is counted in the end is what was used, to the token', async () => {
      const stage = await scene().stage()
      const limit = 60 * onArrival(stage)
      await limitTo(stage, { tokens_per_minute: limit })
      const dice = diceFrom(10)
      let used = 0
      const heard: Promise<Heard>[] = []
      for (let n = 0; n < 300; n++) {
        const usage = { input: 1 + dice.below(20), output: dice.below(400) }
        stage.one.next({ usage })
        heard.push(stage.chat({}))
      }
      for (const { status, json } of await Promise.all(heard)) {
        if (status === 200) used += json.usage.prompt_tokens + json.usage.completion_tokens
        else expect(status).toBe(429)
      }
      expect(used).toBeGreaterThan(0)
      expect(await tokensLeft(stage)).toBe(Math.max(0, limit - used))
    })

    test('§8.1.2 the official client reads a refusal as what it is', async () => {
      const stage = await scene().stage()
      await limitTo(stage, { tokens_per_minute: 1 })
      const asked = stage.openai().chat.completions.create(stage.bodyOf() as never)
      const error = await asked.catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(RateLimitError)
      expect(error).toMatchObject({ code: 'rate_limit_exceeded', type: 'rate_limit_error' })
    })
  })

  describe('streams at once', () => {
    /** Says its first words, then nothing until the gate opens. */
    const paused = (gate: Promise<unknown>) => ({
      chunks: 3,
      pace: (event: number) => (event === 2 ? gate : undefined),
    })

    async function openOne(stage: Stage, more: object = {}) {
      const call = stage.openChat({ stream: true, ...more })
      await call.head
      return call
    }

    test('§8.1.2 no more than the key may have open; the next as soon as one has ended', async () => {
      const stage = await scene().stage()
      await limitTo(stage, { concurrent_streams: 2 })
      const gate = deferred()
      stage.one.behave(paused(gate.promise))
      const open = [await openOne(stage), await openOne(stage)]
      const refused = await stage.chat({ stream: true })
      expect(envelope(refused)).toEqual(RATE_LIMITED)
      expect(refused.headers['retry-after']).toBe('1')
      expect(refused.json.error.message).toContain("the key layer's limit concurrent_streams (2)")
      expect((await stage.ask(CHAT, { body: stage.bodyOf({ stream: false, model: stage.model }) })).status).toBe(200)
      gate.resolve()
      await Promise.all(open.map((call) => call.heard))
      await comesTrue(async () => (await stage.chat({ stream: true })).status === 200)
    })

    test('T-67 refused by streams: no tokens are counted either', async () => {
      const stage = await scene().stage()
      await limitTo(stage, { concurrent_streams: 1, tokens_per_minute: 1_000_000 })
      const gate = deferred()
      stage.one.behave(paused(gate.promise))
      const open = await openOne(stage)
      const before = await tokensLeft(stage)
      expect((await stage.chat({ stream: true })).status).toBe(429)
      expect(await tokensLeft(stage)).toBe(before)
      gate.resolve()
      await open.heard
    })

    test('F9 three hundred streams, each left at some byte: no place is lost', async () => {
      const stage = await scene().stage()
      await limitTo(stage, { concurrent_streams: 5 })
      const dice = diceFrom(9)
      stage.one.behave({ chunks: 5, drip_bytes: 130, pace: 0 }) // so that events are cut, too
      let left = 0
      for (let round = 0; round < 60; round++) {
        const calls = Array.from({ length: 5 }, () => stage.openChat({ stream: true }))
        await Promise.all(calls.map((call) => leaveSomewhere(call, dice.below(900))))
        left += calls.length
        await comesTrue(async () => (await openStreams()) === 0)
      }
      process.stdout.write(`F9: ${left} streams left at a random byte, ${await openStreams()} places lost\n`)

      const gate = deferred()
      stage.one.behave(paused(gate.promise))
      const open = await Promise.all(Array.from({ length: 5 }, () => openOne(stage)))
      expect((await Promise.all(open.map((call) => call.head))).map(({ statusCode }) => statusCode)).toEqual(
        Array(5).fill(200),
      )
      expect(await openStreams()).toBe(5)
      gate.resolve()
      await Promise.all(open.map((call) => call.heard))
      await comesTrue(async () => (await openStreams()) === 0)
    })

    /** Reads so many bytes of the answer, if it has so many, and breaks off. */
    async function leaveSomewhere(call: ReturnType<Stage['openChat']>, bytes: number): Promise<void> {
      const head = await call.head.catch(() => undefined)
      let read = 0
      if (head && bytes > 0)
        await new Promise<void>((enough) => {
          head.on('data', (part: Buffer) => {
            read += part.length
            if (read >= bytes) enough()
          })
          head.once('close', enough)
        })
      call.leave()
    }

    test('R26 a keyed stream whose client has left keeps its place until it has ended', async () => {
      const stage = await scene().stage()
      await limitTo(stage, { concurrent_streams: 1 })
      const gate = deferred()
      stage.one.behave(paused(gate.promise))
      const call = stage.openChat({ stream: true }, { keyed: KEY })
      await call.head
      call.leave()
      expect(envelope(await stage.chat({ stream: true }))).toEqual(RATE_LIMITED)
      gate.resolve()
      await comesTrue(async () => (await stage.keyState(KEY)) === 'kept')
      await comesTrue(async () => (await openStreams()) === 0)
      expect((await stage.chat({ stream: true })).status).toBe(200)
    })

    test('§8.1.2 a stream that the upstream breaks off gives its place back', async () => {
      const stage = await scene().stage()
      await limitTo(stage, { concurrent_streams: 1 })
      for (const how of ['reset', 'close', 'end'] as const) {
        stage.one.behave({ chunks: 5, cut: { after: 2, how } })
        await stage.chat({ stream: true })
        await comesTrue(async () => (await openStreams()) === 0)
      }
      stage.one.behave({})
      expect((await stage.chat({ stream: true })).status).toBe(200)
    })
  })
})

withScene(
  (scene) => {
    test('§8.1 in shadow, tokens and streams are refused nobody, and counted', async () => {
      const stage = await scene().stage()
      const gate = deferred()
      stage.one.behave({ chunks: 3, pace: (event) => (event === 2 ? gate.promise : undefined) })
      const calls = Array.from({ length: 3 }, () => stage.openChat({ stream: true }))
      for (const call of calls) expect((await call.head).statusCode).toBe(200)
      gate.resolve()
      await Promise.all(calls.map((call) => call.heard))
      const { values } = await scene().metrics.limitsSpared.get()
      expect(values.map(({ labels, value }) => [labels.limit, value])).toEqual([
        ['tokens_per_minute', 3],
        ['concurrent_streams', 2],
      ])
      expect(await tokensLeft(stage)).toBe(10)
    })
  },
  { stages: 1, config: () => ({ limits: { key: { tokens_per_minute: 10, concurrent_streams: 1 }, shadow: ['key'] } }) },
)
