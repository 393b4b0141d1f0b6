// A stream is over when the upstream has said its last word, whatever its wire does then; and who hears that word finds
// all of it done: charged, stored, kept (R26, R41, R47). Also: clients that no trailer reaches, or that never read.
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { heldTimers } from '../support/held-timers.ts'
import { asked, envelope, KEY, PLAIN, STREAMED, times, UPSTREAM_FAILED } from '../support/inference-cases.ts'
import { hintsHeader, moneyIn } from '../support/inference-client.ts'
import { CHAT, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { deferred, textOf } from '../support/tampered-db.ts'
import { settled } from '../support/wire.ts'

const LIMIT = 1_000_000
const USAGE = { prompt_tokens: 11, completion_tokens: 7 }
const chunk = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`
const USAGE_CHUNK = `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\n`
const ALL = `${chunk('hello')}${USAGE_CHUNK}data: [DONE]\n\n`

/** All of an answer, and then whatever `after` does with the wire. */
const saysAll = (after: (response: ServerResponse) => void) => (_: unknown, response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(ALL, () => after(response))
}

withScene((scene) => {
  const WIRES = [
    { wire: 'stays open for ever', after: () => {} },
    { wire: 'is reset', after: (response: ServerResponse) => void response.socket?.resetAndDestroy() },
    { wire: 'is closed without an end', after: (response: ServerResponse) => void response.socket?.destroy() },
    { wire: 'goes on speaking', after: (response: ServerResponse) => void response.write(chunk('more')) },
  ]

  test.each(times(WIRES, STREAMED))('R26 R47 after the last word the wire $wire: $form', async ({ after, ...one }) => {
    const stage = await scene().stage({ key: LIMIT })
    stage.one.behave({ respond: saysAll(after) })
    const heard = await stage.chat(...asked(one))
    expect([heard.complete, heard.text.trimEnd().endsWith('data: [DONE]'), moneyIn(heard)]).toEqual([
      true,
      true,
      USUAL_COST,
    ])
    expect(heard.text).not.toContain('more')
    expect((await stage.audit()).events).toMatchObject([{ status: 'completed', charged_micros: USUAL_COST }])
    if (!one.keyed) return
    const again = await stage.chat(...asked(one))
    expect([again.headers['agent-idempotent-replay'], again.text]).toEqual(['true', heard.text])
  })

  test('R41 the connection of an answer that has ended serves the next', async () => {
    const stage = await scene().stage()
    const sockets = async () => (await stage.chat({ stream: true })) && stage.one.requests.at(-1)?.socket
    expect(await sockets()).toBe(await sockets())
  })

  test.each(STREAMED)('R41 nobody hears the last word before the charge is written: $form', async (one) => {
    const stage = await scene().stage({ key: LIMIT })
    const [reached, go] = [deferred(), deferred()]
    scene().tampering.rows = async (statement, run) => {
      if (!textOf(statement).includes('INSERT INTO usage_event')) return run(statement)
      scene().tampering.rows = undefined
      reached.resolve()
      await go.promise
      return run(statement)
    }
    const parts: string[] = []
    const gate = deferred()
    stage.one.behave({ pace: (event) => (event < 2 ? undefined : gate.promise) })
    const call = stage.openChat(...asked(one))
    const head = await call.head
    head.on('data', (part) => parts.push(String(part)))
    gate.resolve()
    await reached.promise
    expect(parts.join('')).not.toContain('[DONE]')
    go.resolve()
    const { text } = await call.heard
    expect(text).toContain('[DONE]')
  })

  test('R26 a client that leaves once usage is told pays what was told', async () => {
    const stage = await scene().stage({ key: LIMIT })
    const told = { choices: [{ index: 0, delta: { content: 'hello' } }], usage: USAGE }
    stage.one.behave({
      respond(_, response) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(`data: ${JSON.stringify(told)}\n\n`)
      },
    })
    const call = stage.openChat({ stream: true })
    await call.says('hello')
    call.leave()
    const { events } = await stage.until(({ events }) => events.length === 1)
    expect(events).toMatchObject([{ status: 'client_left', charged_micros: USUAL_COST }])
  })

  describe('clients', () => {
    /** As it goes over the wire, with this version of HTTP. */
    function speak(stage: { key: string }, version: string, body: string, headers: Record<string, string> = {}) {
      const socket = connect(Number(new URL(scene().origin).port), '127.0.0.1')
      const lines = Object.entries({
        host: 'switchyard',
        authorization: `Bearer ${stage.key}`,
        'content-type': 'application/json',
        'content-length': String(body.length),
        ...headers,
      }).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(`POST ${CHAT} HTTP/${version}\r\n${lines.join('')}\r\n`)
      return socket
    }

    test('§1 HTTP/1.0, which many a proxy speaks, gets the whole stream and its headers; no slot is lost', async () => {
      const stage = await scene().stage({ key: LIMIT })
      const body = JSON.stringify(stage.bodyOf({ model: stage.narrow, stream: true }))
      for (let n = 0; n < 3; n++) {
        const socket = speak(stage, '1.0', body)
        socket.write(body)
        const parts: Buffer[] = []
        socket.on('data', (part) => void parts.push(part))
        await once(socket, 'close')
        const text = Buffer.concat(parts).toString()
        expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
        expect(text).toMatch(/content-type: text\/event-stream/i)
        expect(text).toMatch(/agent-trace-id: /i)
        expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true)
      }
      expect((await stage.audit()).spent).toBe(3 * USUAL_COST)
    })

    test('R44 one that never reads holds nothing beyond its deadline', async () => {
      const stage = await scene().stage({ key: LIMIT })
      const timers = heldTimers()
      stage.one.behave({
        respond(_, response) {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          for (let n = 0; n < 24; n++) response.write(chunk('x'.repeat(500_000))) // more than all buffers hold
        },
      })
      const body = JSON.stringify(stage.bodyOf({ stream: true }))
      const socket = speak(stage, '1.1', body, hintsHeader({ qos: { deadline_ms: 5_000 } }))
      socket.pause()
      socket.write(body)
      await stage.one.request(1)
      await settled(() => socket.bytesRead)
      timers.pass(5_000)
      const { events } = await stage.until(({ holds, events }) => holds.length === 0 && events.length === 1)
      expect(events).toMatchObject([{ status: 'deadline_exceeded', charged_micros: 0 }])
      socket.destroy()
    })

    test('R44 a deadline counts from the first line of a request, not from the last byte of its body', async () => {
      const stage = await scene().stage({ key: LIMIT })
      const body = JSON.stringify(stage.bodyOf({}))
      const arrived = once(scene().app.server, 'request')
      const socket = speak(stage, '1.1', body, { ...hintsHeader({ qos: { deadline_ms: 1_000 } }), connection: 'close' })
      await arrived
      scene().clock.advance(2_000)
      socket.write(body)
      const parts: Buffer[] = []
      socket.on('data', (part) => void parts.push(part))
      await once(socket, 'close')
      expect(Buffer.concat(parts).toString()).toMatch(/^HTTP\/1\.1 504 /)
      expect(stage.one.requests).toEqual([])
    })
  })

  describe('R47 a 200 that is no answer', () => {
    const BODIES = [
      { what: 'an error', body: { error: { message: 'Provider returned error', code: 502 } } },
      { what: 'half an answer', body: '{"choices":[{"message":{"content":"he' },
      { what: 'a page', body: '<html>' },
      { what: 'nothing chosen', body: { id: 'x', choices: [] } },
    ]

    test.each(times(BODIES, PLAIN))('has $what: nobody pays, and the key is free ($form)', async ({ body, ...one }) => {
      const stage = await scene().stage({ key: LIMIT })
      stage.one.behave({ body })
      expect(envelope(await stage.chat(...asked(one)))).toEqual(UPSTREAM_FAILED)
      expect((await stage.audit()).spent).toBe(0)
      expect(await stage.keyState(KEY)).toBe('free')
    })

    test.each(BODIES)('has $what: the next target answers, chat and Responses over it alike', async ({ body }) => {
      const stage = await scene().stage({ key: LIMIT })
      stage.one.behave({ body })
      const heard = await stage.chat({ model: stage.both })
      expect([heard.status, heard.headers['agent-execution-mode']]).toEqual([200, 'emergency_fallback'])
      const response = await stage.post('/v1/responses', { model: stage.both, input: 'hello' })
      expect(response.status).toBe(200)
    })
  })
})
