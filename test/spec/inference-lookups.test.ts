// R80: every generation can be looked up, by the name that its answer carried, whoever refused or failed it.

import { describe, expect, test } from 'vitest'
import { DAY_MS, MINUTE_MS } from '../../src/core/clock.ts'
import { sql } from '../../src/storage/db.ts'
import { heldTimers } from '../support/held-timers.ts'
import { type Heard, hintsHeader } from '../support/inference-client.ts'
import { CHAT, type Stage, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'
import type { Behaviour } from '../support/upstream.ts'

const WORDS = 'CUDA out of memory on rank 3'
const failing = (status: number, message = WORDS): Behaviour => ({ status, body: { error: { message, type: 'x' } } })
const MEMBERS = ['agent-trace-id', 'x-request-id'] as const

withScene((scene) => {
  const lookUp = (stage: Pick<Stage, 'get'>, { headers }: Heard, by: (typeof MEMBERS)[number] = 'x-request-id') =>
    stage.get(`/v2/traces/${headers[by]}`)
  const written = () => scene().housekeep('write refused generations')
  const rowsOf = ({ project }: Stage) =>
    scene().db.rows<{ count: number; kind: string }>(
      sql`SELECT count, kind FROM refused_call WHERE project_id = ${project.id} ORDER BY count DESC`,
    )

  type Ask = (stage: Stage) => Promise<Heard>
  const REFUSED: [string, string, number, Ask, string | null | undefined][] = [
    [
      'a key without the scope',
      'scope',
      403,
      async (stage) =>
        stage.ask(CHAT, { body: {}, headers: { authorization: `Bearer ${await stage.keyWith('read')}` } }),
      null,
    ],
    ['no JSON', 'validation', 400, (stage) => stage.ask(CHAT, { body: '{' }), null],
    [
      'a body of no type',
      'validation',
      415,
      (stage) => stage.ask(CHAT, { body: 'x', headers: { 'content-type': 'text/plain' } }),
      null,
    ],
    ['no messages', 'validation', 400, (stage) => stage.chat({ messages: 'no' }), undefined],
    ['a model that is none', 'validation', 400, (stage) => stage.chat({ model: 7 }), null],
    ['a key that is malformed', 'validation', 400, (stage) => stage.chat({}, { keyed: 'a b' }), null],
    ['an unknown model', 'not_found', 404, (stage) => stage.chat({ model: 'nobody-has-it' }), 'nobody-has-it'],
    ['a NUL in the model', 'validation', 400, (stage) => stage.chat({ model: 'a\0b' }), 'a b'],
    [
      'an upstream that says it is the client’s mistake',
      'upstream',
      422,
      (stage) => {
        stage.one.behave(failing(422))
        return stage.chat()
      },
      undefined,
    ],
    [
      'the same in a form of its own',
      'upstream',
      400,
      (stage) => {
        stage.one.behave({ status: 422, body: { detail: WORDS } })
        return stage.chat()
      },
      undefined,
    ],
  ]

  test.each(REFUSED)('R80 %s: layer %s, at once and when it was written', async (_case, layer, status, ask, model) => {
    const stage = await scene().stage()
    const heard = await ask(stage)
    expect(heard.status).toBe(status)
    const [at_once, by_request] = [await lookUp(stage, heard, 'agent-trace-id'), await lookUp(stage, heard)]
    expect(at_once.body).toMatchObject({
      object: 'trace',
      id: heard.headers['agent-trace-id'],
      request_id: heard.headers['x-request-id'],
      outcome: 'refused',
      endpoint: CHAT,
      requested_model: model === undefined ? stage.model : model,
      usage: null,
      refusal: { layer, status, type: heard.json.error.type, message: heard.json.error.message, count: 1 },
    })
    expect(by_request.body).toEqual(at_once.body)
    await written()
    expect((await rowsOf(stage)).map(({ kind }) => kind)).toEqual([layer])
    expect((await lookUp(stage, heard)).body).toEqual(at_once.body)
    const agent = Object.entries(heard.headers).filter(([name]) => name.startsWith('agent-'))
    const told = at_once.body.headers.map(({ name, value }: Record<string, string>) => [name, value])
    expect(Object.fromEntries(told)).toEqual(Object.fromEntries(agent))
  })

  test('R80 what was refused names its key; one of another project is not there', async () => {
    const [stage, other] = [await scene().stage({ key: 0 }), await scene().stage()]
    const heard = await stage.chat()
    expect((await lookUp(stage, heard)).body).toMatchObject({
      key_id: stage.key_id,
      target: `provider:${stage.first}`,
      refusal: { layer: 'budget', status: 429, code: 'quota_exceeded' },
    })
    for (const by of MEMBERS) expect((await lookUp(other, heard, by)).status).toBe(404)
    await written()
    for (const by of MEMBERS) expect((await lookUp(other, heard, by)).status).toBe(404)
    expect((await stage.get('/v2/traces/req_none')).status).toBe(404)
  })

  test('R80 a stored response is looked up by its own id, by its project alone', async () => {
    const [stage, other] = [await scene().stage(), await scene().stage()]
    const heard = await stage.ask('/v1/responses', { body: { model: stage.model, input: 'x' } })
    const { body } = await stage.get(`/v2/traces/${heard.json.id}`)
    expect(body.id).toBe(heard.headers['agent-trace-id'])
    expect((await other.get(`/v2/traces/${heard.json.id}`)).status).toBe(404)
    expect((await stage.get('/v2/traces/resp_none')).status).toBe(404)
  })

  test('§11.5 R80 a second request under one key, and the replay: each says how to look it up', async () => {
    const stage = await scene().stage()
    const gate = deferred()
    stage.one.behave({ wait: gate.promise })
    const first = stage.openChat({}, { keyed: 'k' })
    await stage.one.until(() => stage.one.requests.length === 1)
    const second = await stage.chat({}, { keyed: 'k' })
    gate.resolve()
    const answered = await first.heard
    const replay = await stage.chat({}, { keyed: 'k' })
    expect([second.status, answered.status, replay.headers['agent-idempotent-replay']]).toEqual([409, 200, 'true'])
    expect((await lookUp(stage, second)).body.refusal).toMatchObject({ layer: 'idempotency', status: 409 })
    expect((await lookUp(stage, answered)).body).toMatchObject({ outcome: 'completed', refusal: null })
    expect(replay.headers['agent-trace-id']).toBe(answered.headers['agent-trace-id'])
    expect(replay.headers['x-request-id']).toMatch(/^req_/)
  })

  test('R80 a deadline that passed in the queue of a target', async () => {
    const stage = await scene().stage()
    const gate = deferred()
    stage.one.behave({ wait: gate.promise })
    const first = stage.openChat({ model: stage.narrow })
    await stage.one.until(() => stage.one.requests.length === 1)
    const timers = heldTimers()
    const headers = hintsHeader({ qos: { deadline_ms: 5_077 } })
    const waiting = stage.chat({ model: stage.narrow }, { headers })
    await timers.untilSet(5_077, 2) // the call's own, and that of the queue
    timers.pass(5_077)
    const late = await waiting
    gate.resolve()
    await first.heard
    expect(late.status).toBe(504)
    expect((await lookUp(stage, late)).body).toMatchObject({
      outcome: 'refused',
      target: expect.stringMatching(/^provider:narrow-/),
      refusal: { layer: 'deadline', status: 504 },
    })
  })

  test('R80 a fault of ours', async () => {
    const stage = await scene().stage()
    scene().tampering.rows = (statement, run) =>
      statement.text.join('').includes('agent_hints') ? Promise.reject(new Error('broken')) : run(statement)
    const heard = await stage.chat({}, { headers: { 'agent-hints-ref': 'ah_1' } })
    scene().tampering.rows = undefined
    expect(heard.status).toBe(500)
    expect((await lookUp(stage, heard)).body.refusal).toMatchObject({ layer: 'fault', status: 500 })
    expect(toldOf(heard)).toMatchObject([
      { level: 50, trace_id: heard.headers['agent-trace-id'], key_id: stage.key_id, model: stage.model },
    ])
  })

  const toldOf = ({ headers }: Heard) =>
    scene()
      .log.map((line) => JSON.parse(line))
      .filter(({ reqId }) => reqId === headers['x-request-id'])

  describe('R80 what the upstream said', () => {
    test.each<[string, Behaviour, number, Record<string, unknown>]>([
      ['with 500', failing(500), 502, { status: 500, failure: 'status 500', message: WORDS }],
      ['with 429', failing(429), 429, { status: 429, failure: 'rate limited', message: WORDS }],
      ['with 401', failing(401), 502, { status: 401, failure: 'credential refused', message: WORDS }],
      ['in a sentence', { status: 503, body: WORDS }, 502, { status: 503, message: WORDS }],
      ['in a 200', { body: { error: { message: WORDS } } }, 502, { failure: 'reset', message: WORDS }],
    ])('%s: to the client, in the trace, in the log', async (_case, behaviour, status, attempt) => {
      const stage = await scene().stage()
      stage.one.behave(behaviour)
      const heard = await stage.chat()
      expect([heard.status, heard.json.error.message]).toEqual([status, expect.stringContaining(WORDS)])
      expect(heard.json.error.message).toContain(`'${stage.first}'`)
      const { body } = await lookUp(stage, heard)
      expect(body).toMatchObject({
        outcome: 'failed',
        key_id: stage.key_id,
        target: `provider:${stage.first}`,
        attempts: [attempt],
        refusal: { layer: 'upstream', status, message: heard.json.error.message, upstream_message: WORDS },
        usage: { attempts: [attempt] },
      })
      expect(toldOf(heard)).toMatchObject([
        {
          level: 40,
          said: WORDS,
          provider: stage.first,
          target: `provider:${stage.first}`,
          model: stage.model,
          key_id: stage.key_id,
          trace_id: heard.headers['agent-trace-id'],
        },
      ])
      await written()
      expect(await rowsOf(stage)).toEqual([])
    })

    test('of each attempt, though another one answered', async () => {
      const stage = await scene().stage()
      stage.one.behave(failing(503))
      const heard = await stage.chat({ model: stage.both })
      expect(heard.status).toBe(200)
      const { body } = await lookUp(stage, heard)
      expect(body).toMatchObject({
        outcome: 'completed',
        refusal: null,
        attempts: [{ message: WORDS }, { status: 200 }],
      })
      const sentence = body.timeline.find(({ phase }: { phase: string }) => phase === 'attempt').sentence
      expect(sentence).toBe(
        `provider:${stage.first} was called for ${stage.both}, and failed: status 503. It said: ${WORDS}`,
      )
    })

    const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`
    const ERROR_EVENT = event({ error: { message: WORDS, type: 'server_error' } })
    const EVENTS = { 'content-type': 'text/event-stream' }

    test('in an event before any content', async () => {
      const stage = await scene().stage()
      stage.one.behave({ headers: EVENTS, body: ERROR_EVENT })
      const heard = await stage.chat({ stream: true })
      expect([heard.status, heard.json.error.message]).toEqual([502, expect.stringContaining(WORDS)])
      expect((await lookUp(stage, heard)).body).toMatchObject({
        outcome: 'failed',
        attempts: [{ message: WORDS }],
        refusal: { layer: 'upstream', status: 502, upstream_message: WORDS },
      })
      expect(toldOf(heard)).toMatchObject([{ said: WORDS, provider: stage.first, model: stage.model }])
    })

    test('in an event in mid-answer', async () => {
      const stage = await scene().stage()
      const gate = deferred()
      stage.one.behave({
        respond(_request, response) {
          response.writeHead(200, EVENTS)
          response.write(event({ choices: [{ index: 0, delta: { content: 'hello' } }] }))
          void gate.promise.then(() => response.end(ERROR_EVENT))
        },
      })
      const call = stage.openChat({ stream: true })
      await call.says('hello')
      gate.resolve()
      const heard = await call.heard
      expect([heard.status, heard.text]).toEqual([200, expect.stringContaining(WORDS)])
      expect((await lookUp(stage, heard)).body).toMatchObject({
        outcome: 'upstream_failed',
        attempts: [{ failure: 'an error event', message: WORDS }],
        refusal: { layer: 'upstream', status: 200, upstream_message: WORDS },
      })
      expect(toldOf(heard)).toMatchObject([{ said: WORDS, provider: stage.first, model: stage.model }])
    })

    test('or that it broke off', async () => {
      const stage = await scene().stage()
      stage.one.behave({ cut: { after: 2, how: 'reset' } })
      const heard = await stage.chat({ stream: true })
      expect(heard.text).toContain(`The upstream '${stage.first}' broke off. Nothing was charged.`)
      expect((await lookUp(stage, heard)).body).toMatchObject({
        outcome: 'upstream_failed',
        attempts: [{ failure: 'reset', status: 200 }],
      })
    })

    test('never with the credential that it was sent, or another', async () => {
      const stage = await scene().stage()
      const secrets = ['sk-upstream', 'svc_live_abcdefgh', 'Bearer abcdefgh1234']
      stage.one.behave(failing(500, `no: ${secrets.join(' and ')}`))
      const heard = await stage.chat()
      const everywhere = [heard.text, JSON.stringify((await lookUp(stage, heard)).body), scene().log.join('')].join('')
      for (const secret of ['sk-upstream', 'svc_live_abcdefgh', 'abcdefgh1234'])
        expect(everywhere).not.toContain(secret)
      expect(heard.json.error.message).toContain('no: [removed] and [removed]')
    })

    test('never with a credential of the project, whatever it looks like', async () => {
      const stage = await scene().stage()
      const secret = 'correct-horse-battery'
      const credential = { provider: stage.first, name: 'ours', secret, base_url: stage.one.base_url }
      expect((await stage.post('/v2/provider-credentials', credential)).status).toBe(200)
      stage.one.behave({
        respond({ headers }, response) {
          response.writeHead(500).end(`no such horse: ${String(headers.authorization).split(' ')[1]}`)
        },
      })
      const heard = await stage.chat()
      const { attempts } = (await lookUp(stage, heard)).body
      expect(attempts[0]).toMatchObject({
        message: 'no such horse: [removed]',
        target: expect.not.stringMatching(/^prov/),
      })
      expect(heard.text + scene().log.join('')).not.toContain(secret)
      expect(toldOf(heard)).toMatchObject([{ level: 40, said: expect.any(String) }]) // the operator's failed as well
    })

    test('by a cluster of the customer’s: theirs to look after', async () => {
      const stage = await scene().stage()
      const cluster = { name: 'own', region: 'us', endpoint: stage.one.base_url }
      const { id } = (await stage.post('/v2/byoc/clusters', cluster)).body
      await stage.post(`/v2/byoc/clusters/${id}/heartbeat`, { status: 'active', models: [{ id: 'own-model' }] })
      stage.one.behave(failing(500))
      const heard = await stage.chat({ model: 'own-model' })
      expect(heard.status).toBe(502)
      expect((await lookUp(stage, heard)).body.attempts).toMatchObject([{ message: WORDS }])
      expect(toldOf(heard)).toMatchObject([{ level: 30, said: WORDS, key_id: stage.key_id, model: 'own-model' }])
    })

    test('R47 however much it says and however slowly, the next target answers soon', async () => {
      const stage = await scene().stage()
      const gate = deferred()
      stage.one.behave({
        respond(_request, response) {
          response.writeHead(500, { 'content-type': 'text/plain' })
          response.write(`${WORDS} `)
          void gate.promise.then(() => response.end())
        },
      })
      const slow = await stage.chat({ model: stage.both })
      stage.one.behave({ status: 500, body: `${WORDS} ${'x'.repeat(8_000_000)}` })
      const long = await stage.chat({ model: stage.both })
      gate.resolve()
      for (const heard of [slow, long]) {
        const { attempts } = (await lookUp(stage, heard)).body
        expect([heard.status, attempts.length]).toEqual([200, 2])
        expect(attempts[0].message).toMatch(new RegExp(`^${WORDS}`))
        expect(Buffer.byteLength(attempts[0].message)).toBeLessThanOrEqual(2_048)
      }
    })
  })

  test('§7 R80 a 400 without a string for a code goes on without one, and with every other byte', async () => {
    const stage = await scene().stage()
    const [before, after] = ['{"error": {"message": "no", "type": "x", "param": null', ', "code": null}}\n']
    stage.one.behave({ status: 400, body: `${before}${after}` })
    const heard = await stage.chat()
    expect([heard.status, heard.text]).toEqual([400, `${before}}}\n`])
  })

  test('R77 an upstream’s 400 of megabytes is not read, let alone parsed', async () => {
    const stage = await scene().stage()
    stage.one.behave({ status: 400, body: `{"error":{"message":"no","type":"x","a":[${'[],'.repeat(3_000_000)}1]}}` })
    const heard = await stage.chat()
    expect([heard.status, heard.json.error.type]).toEqual([400, 'invalid_request_error'])
    expect((await lookUp(stage, heard)).body.refusal.layer).toBe('upstream')
  })

  test('R80 a flood of equal refusals is counted, and the first of each minute kept', async () => {
    const stage = await scene().stage({ key: 0 })
    const { clock } = scene()
    clock.advance(MINUTE_MS - (clock.now() % MINUTE_MS))
    const flood: Heard[] = []
    for (let n = 0; n < 25; n++) flood.push(await stage.chat())
    const first = flood[0] as Heard
    expect((await lookUp(stage, first)).body.refusal.count).toBe(25)
    await written()
    for (let n = 0; n < 5; n++) await stage.chat()
    expect((await lookUp(stage, first)).body.refusal.count).toBe(30)
    await written()
    expect((await lookUp(stage, first)).body.refusal.count).toBe(30)
    clock.advance(MINUTE_MS)
    const next = await stage.chat()
    expect((await lookUp(stage, next)).body.refusal.count).toBe(1)
    await written()
    expect((await rowsOf(stage)).map(({ count }) => count)).toEqual([30, 1, 1, 1, 1])
    const gone = await lookUp(stage, flood.at(-1) as Heard)
    expect([gone.status, gone.body.error.message]).toEqual([404, expect.stringContaining('first of each minute')])
  })

  test('R80 the refusal itself writes nothing, and is gone after 30 days', async () => {
    const stage = await scene().stage({ key: 0 })
    const heard = await stage.chat()
    expect(await rowsOf(stage)).toEqual([])
    await written()
    scene().clock.advance(30 * DAY_MS - 1)
    await scene().housekeep('sweep refusals and transitions')
    expect(await rowsOf(stage)).toHaveLength(1)
    scene().clock.advance(1)
    await scene().housekeep('sweep refusals and transitions')
    expect(await rowsOf(stage)).toEqual([])
    expect((await lookUp(stage, heard)).status).toBe(404)
  })

  test('R80 another process finds it once it was written', async () => {
    const stage = await scene().stage({ key: 0 })
    const heard = await stage.chat()
    const other = (await scene().startProcess('another')).as(stage.key)
    expect((await lookUp(other, heard)).status).toBe(404)
    await written()
    expect((await lookUp(other, heard)).body.refusal.layer).toBe('budget')
  })
})
