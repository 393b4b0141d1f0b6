// §9, §1: bytes travel unchanged in both directions, but for the few fields that must change; nothing of the client but
// its body reaches the upstream (T-85); and nothing of ours enters a /v1 body.
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { envelopeFindings } from '../support/conformance.ts'
import { eventsIn, hintsHeader, saidIn } from '../support/inference-client.ts'
import { CHAT, holdFor, setKeyLimit, withScene } from '../support/inference-scene.ts'
import type { Behaviour } from '../support/upstream.ts'

/** Written as no serialiser would write it: order, spacing, number forms, escapes, repeated and unknown keys. */
const handwritten = (model: string, more = '') =>
  `{ "temperature" : 1.0, "top_p":1e0 ,\n\t"x_unknown": {"b":[1,2.50,-0],"a":"\\u00e9\\/"},"model" :"${model}",` +
  `"messages":[{"content":"h\u00e9llo \u{1F680}","role":"user"}], "seed":12345678901234567890${more}, "user":"a","user":"b" }`

withScene((scene) => {
  describe('what the upstream gets', () => {
    test('§9.2 a plain body is the client’s, byte for byte', async () => {
      const stage = await scene().stage()
      const body = handwritten(stage.model)
      await stage.ask(CHAT, { body })
      expect(stage.one.requests[0]?.bytes.toString()).toBe(body)
    })

    test('§9.2 so is a stream’s whose client asks for usage itself', async () => {
      const stage = await scene().stage()
      const body = handwritten(stage.model, ', "stream":true,"stream_options" :{ "include_usage":true }')
      await stage.ask(CHAT, { body })
      expect(stage.one.requests[0]?.bytes.toString()).toBe(body)
    })

    test('§9.2 for any other stream, usage is asked for, and no other byte changes', async () => {
      const stage = await scene().stage()
      const bare = handwritten(stage.model, ', "stream":true')
      await stage.ask(CHAT, { body: bare })
      expect(stage.one.requests[0]?.bytes.toString()).toBe(
        bare.replace('{ "temperature"', '{"stream_options":{"include_usage":true}, "temperature"'),
      )
      const own = (options: string) => handwritten(stage.model, `, "stream":true, "stream_options": ${options}`)
      await stage.ask(CHAT, { body: own('{"include_usage":false,"x":1}') })
      expect(stage.one.requests[1]?.bytes.toString()).toBe(own('{"include_usage":true,"x":1}'))
      await stage.ask(CHAT, { body: own('null') })
      expect(stage.one.requests[2]?.bytes.toString()).toBe(own('{"include_usage":true}'))
    })

    test('§9.4 an alias is replaced by the model it stands for, and nothing else', async () => {
      const stage = await scene().stage()
      const targets = [{ provider: stage.first, model: stage.model }]
      await stage.post('/v2/aliases', { name: 'fast', targets })
      await stage.ask(CHAT, { body: handwritten('fast') })
      expect(stage.one.requests[0]?.bytes.toString()).toBe(handwritten(stage.model))
    })

    test('R43 an answer that must be shortened is told so, and nothing else', async () => {
      const stage = await scene().stage()
      const body = handwritten(stage.model)
      await setKeyLimit(scene().db, stage.key_id, holdFor(body, 30))
      await stage.ask(CHAT, { body })
      expect(stage.one.requests[0]?.bytes.toString()).toBe(
        body.replace('{ "temperature"', '{"max_tokens":30, "temperature"'),
      )
    })

    test.each([
      ['/v1/completions', { prompt: 'once' }],
      ['/v1/embeddings', { input: ['a', 'b'] }],
    ])('§9.2 %s goes to the path of the same name', async (path, more) => {
      const stage = await scene().stage()
      const body = JSON.stringify({ model: stage.model, ...more }, undefined, 1)
      expect((await stage.ask(path, { body })).status).toBe(200)
      expect(stage.one.requests[0]).toMatchObject({ path, method: 'POST' })
      expect(stage.one.requests[0]?.bytes.toString()).toBe(body)
    })

    test('T-85 no header of the client’s reaches it; our own do, and no more', async () => {
      const stage = await scene().stage()
      const mine = {
        cookie: 'session=1',
        'x-forwarded-for': '10.0.0.1',
        'openai-organization': 'org',
        'user-agent': 'mine',
        'accept-encoding': 'gzip',
        'x-session-id': 'mine',
        ...hintsHeader({ qos: { target_ttft_ms: 9_000 } }),
      }
      const { headers } = await stage.chat({}, { headers: mine, keyed: 'a' })
      const sent = stage.one.requests[0]?.headers ?? {}
      expect(sent).toEqual({
        host: `127.0.0.1:${stage.one.port}`,
        authorization: 'Bearer sk-upstream',
        'accept-encoding': 'identity',
        'user-agent': 'switchyard',
        'content-type': 'application/json',
        accept: 'application/json',
        'content-length': expect.any(String),
        'x-request-id': headers['agent-trace-id'],
      })
      expect(JSON.stringify(sent)).not.toContain(stage.key)
    })

    test('T-34 a body of nothing but millions of objects is refused before anybody waits for it', async () => {
      const stage = await scene().stage()
      const heard = await stage.ask(CHAT, { body: `{"model":"m","messages":[${'{},'.repeat(5_000_000)}{}]}` })
      expect([heard.status, heard.json.error.message]).toEqual([400, expect.stringContaining('250,000 objects')])
      expect(stage.one.requests).toEqual([])
    })

    test('§7.5 a megabyte of prompt goes through; beyond 16 MiB it is 413', async () => {
      const stage = await scene().stage()
      const long = (bytes: number) => ({ messages: [{ role: 'user', content: 'x'.repeat(bytes) }] })
      expect((await stage.chat(long(2_000_000))).status).toBe(200)
      expect(stage.one.requests[0]?.bytes.length).toBeGreaterThan(2_000_000)
      const refused = await stage.chat(long(17 * 1024 * 1024)).catch(() => undefined)
      if (refused) expect(refused.status).toBe(413) // a client that is still sending may see a reset instead
      expect(stage.one.requests).toHaveLength(1)
    })
  })

  describe('what the client gets', () => {
    test('§9.2 the upstream’s JSON, byte for byte, under its content type', async () => {
      const stage = await scene().stage()
      const body =
        '{"id":"x",\r\n "choices":[ ],"n":1.50,"u":"\\u00e9","usage":{"prompt_tokens":1,"completion_tokens":1}}\n'
      stage.one.behave({ body, headers: { 'content-type': 'application/json; v=2' } })
      const heard = await stage.chat()
      expect([heard.text, heard.headers['content-type']]).toEqual([body, 'application/json; v=2'])
    })

    const chunk = (delta: object) => JSON.stringify({ id: 'c', choices: [{ index: 0, delta }] })
    const STREAM = [
      ': a comment\n\n',
      `data: ${chunk({ role: 'assistant' })}\n\n`,
      `event: x\nid: 7\ndata:${chunk({ content: 'h\u00e9' })}\r\n\r\n`,
      `data: ${chunk({ content: '\u{1F680}\\"usage\\"' })}\n\n`,
      'retry: 10\n\n',
      `data: ${chunk({})}\n\n`,
    ]
    const usage = 'data: {"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n'
    const done = 'data: [DONE]\n\n'

    const speaking = (text: string, piece: number): Behaviour => ({
      async respond(_request, response) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const bytes = Buffer.from(text)
        for (let at = 0; at < bytes.length; at += piece)
          await new Promise((written) => response.write(bytes.subarray(at, at + piece), written))
        response.end()
      },
    })

    test.each([1, 7, 1_000_000])('§9.2 its events, byte for byte, in pieces of %i bytes', async (piece) => {
      const stage = await scene().stage()
      stage.one.behave(speaking([...STREAM, usage, done].join(''), piece))
      const wanting = await stage.chat({ stream: true, stream_options: { include_usage: true } })
      expect(wanting.text).toBe([...STREAM, usage, done].join(''))
      const heard = await stage.chat({ stream: true })
      expect(heard.text).toBe([...STREAM, done].join('')) // what only we had asked for is taken out
      expect(heard.trailers['agent-charged-micros']).toBe('11')
      expect(heard.headers).toMatchObject({
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache, no-store',
        'x-accel-buffering': 'no',
      })
    })

    test('§9.2 a usage that stands beside content stays, whoever asked for it', async () => {
      const stage = await scene().stage()
      const last =
        'data: {"choices":[{"index":0,"delta":{"content":"!"}}],"usage":{"prompt_tokens":2,"completion_tokens":1}}\n\n'
      stage.one.behave(speaking([...STREAM, last, done].join(''), 64))
      const heard = await stage.chat({ stream: true })
      expect([heard.text, heard.trailers['agent-charged-micros']]).toEqual([[...STREAM, last, done].join(''), '4'])
    })

    test('R47 an error that the upstream tells in mid-stream arrives as it was told, once, behind all that came before it', async () => {
      const stage = await scene().stage()
      const [before, last] = [STREAM.slice(0, 3).join(''), `data: ${chunk({ content: 'so far' })}\n\n`]
      const error = 'data: {"error" : {"message":"overloaded","type":"server_error","retry":1}}\n\n'
      let goOn = () => {}
      const gate = new Promise<void>((resolve) => {
        goOn = resolve
      })
      stage.one.behave({
        async respond(_request, response) {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write(before)
          await gate
          response.end(last + error)
        },
      })
      const call = stage.openChat({ stream: true })
      await call.says('id: 7')
      goOn()
      const heard = await call.heard
      expect([heard.text, heard.trailers['agent-charged-micros']]).toEqual([before + last + error, '0'])
    })

    test('§7.1 tokens are passed on as they come, not when all are there', async () => {
      const stage = await scene().stage()
      let goOn = () => {}
      const gate = new Promise<void>((resolve) => {
        goOn = resolve
      })
      stage.one.behave({ chunks: 4, pace: (event) => (event === 3 ? gate : undefined) })
      const call = stage.openChat({ stream: true })
      await call.says('from t') // while the upstream still waits
      goOn()
      expect(saidIn(await call.heard)).toBe('Hello from the upstream.')
    })

    test('R26 a slow reader holds the upstream back, and misses nothing', async () => {
      const stage = await scene().stage()
      const written: number[] = []
      const piece = Buffer.from(`data: ${chunk({ content: 'x'.repeat(256 * 1024) })}\n\n`)
      const PIECES = 150 // more than all the systems' buffers on the way can hold
      stage.one.behave({
        async respond(_request, response) {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          for (let n = 0; n < PIECES; n++) {
            await new Promise((done) => response.write(piece, done))
            written.push(n)
          }
          response.end(done)
        },
      })
      const socket = connect(Number(new URL(scene().origin).port), '127.0.0.1') // nobody reads it yet
      const body = JSON.stringify(stage.bodyOf({ stream: true }))
      socket.write(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${stage.key}\r\nConnection: close\r\n`)
      socket.write(`Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      for (let last = -1, still = 0; still < 20; still = written.length === last ? still + 1 : 0) {
        last = written.length
        await new Promise((turn) => setTimeout(turn, 10))
        if (last === 0) still = 0
      }
      expect(written.length).toBeLessThan(PIECES)
      let bytes = 0
      for await (const part of socket) bytes += part.length
      expect(bytes).toBeGreaterThan(PIECES * piece.length)
      await stage.audit()
    })
  })

  describe('nothing of ours in a /v1 body', () => {
    test('§9.1 an error is the envelope and nothing beside it', async () => {
      const stage = await scene().stage()
      for (const body of ['', 'x', '[]', '{}', '{"model":5}', `{"model":"${stage.model}"}`, '{"model":""}']) {
        const heard = await stage.ask(CHAT, { body })
        expect(heard.status, body).toBe(400)
        expect(envelopeFindings(heard.headers, heard.json)).toEqual([])
      }
      expect(stage.one.requests).toHaveLength(0)
    })

    test('§7.5 a connection serves on after an error', async () => {
      const stage = await scene().stage()
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const ports = new Set<number | undefined>()
      for (const [model, status] of [
        ['nowhere', 404],
        [stage.model, 200],
        ['nowhere', 404],
        [stage.model, 200],
      ] as const) {
        const call = stage.open(CHAT, { body: stage.bodyOf({ model, stream: true }), agent })
        ports.add((await call.head).socket.localPort)
        expect((await call.heard).status).toBe(status)
      }
      agent.destroy()
      expect(ports.size).toBe(1)
    })

    test('§9.1 a stream that ends badly says so in the envelope, as its last event', async () => {
      const stage = await scene().stage()
      stage.one.behave({ cut: { after: 3, how: 'reset' } })
      const heard = await stage.chat({ stream: true })
      const error = JSON.parse(eventsIn(heard).at(-1) ?? '')
      expect(envelopeFindings({ 'content-type': 'application/json' }, error)).toEqual([])
    })
  })
})
