// R77: what an upstream, or a client, sends is read within a budget, on the whole path: beyond it the call failed, the
// trace says why, and others never noticed.
import { describe, expect, test } from 'vitest'
import { BUDGETS } from '../../src/core/foreign.ts'
import { CHAT, type Stage, withScene } from '../support/inference-scene.ts'

const empties = (count: number) => `{"choices":[${Array(count).fill('[]').join()}]}`
/** 8 MB of it held up everybody for eight seconds, and took 680 MB. */
const MANY = empties(2_700_000)
const MIB = 1024 * 1024

withScene((scene) => {
  async function failureOf(stage: Stage): Promise<(string | undefined)[]> {
    const { events } = await stage.audit()
    return events.flatMap(({ attempts }) => attempts.map(({ failure }) => failure))
  }

  describe('a whole answer', () => {
    test.each([
      ['of 2.7 million empty lists without usage', MANY, 'too_many_parts'],
      ['of more than 16 MiB', Buffer.alloc(BUDGETS.answer.bytes + 1, ' '), 'too_large'],
      ['that nests without end', `{"choices":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'too_many_parts'],
    ])('R77 %s has failed: 502, nothing charged, and the trace says why', async (_what, body, failure) => {
      const stage = await scene().stage({ key: 1_000_000 })
      stage.one.behave({ body })
      const { status, json } = await stage.chat()
      expect([status, json.error.code]).toEqual([502, 'upstream_error'])
      expect(json.error.message).toMatch(/too (large|many)/)
      expect(await failureOf(stage)).toEqual([failure])
      expect(await stage.ledger()).toMatchObject({ spent: 0, held: 0 })
      stage.one.behave({})
      expect((await stage.chat()).status).toBe(200) // on a connection that nothing is left on
    })

    test('R77 another target answers in its place', async () => {
      const stage = await scene().stage()
      stage.one.behave({ body: MANY })
      const { status } = await stage.chat({ model: stage.both })
      expect([status, stage.one.requests.length, stage.two.requests.length]).toEqual([200, 1, 1])
      expect(await failureOf(stage)).toEqual(['too_many_parts', undefined])
    })

    test('R77 while one is searched, others are answered', async () => {
      const stage = await scene().stage()
      const other = await scene().stage()
      const long = `{"id":"${'x'.repeat(15 * MIB)}","choices":[{"message":{"content":"${'word '.repeat(1_000)}"}}]}`
      stage.one.behave(({ body }) => (body.model === stage.model ? { body: long } : {}))
      const large = stage.chat()
      for (let n = 0; n < 3; n++) expect((await other.chat()).status).toBe(200)
      const { status, bytes } = await large
      expect([status, bytes.toString() === long]).toEqual([200, true])
      expect((await stage.audit()).events).toMatchObject([{ output_tokens: 1_250, tokens_estimated: 1 }])
    })
  })

  describe('an event', () => {
    test('R77 of more than 1 MiB has failed', async () => {
      const stage = await scene().stage()
      const content = 'x'.repeat(BUDGETS.event.bytes)
      const chunk = `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\ndata: [DONE]\n\n`
      stage.one.behave({ body: chunk, headers: { 'content-type': 'text/event-stream' } })
      const { status } = await stage.chat({ stream: true })
      expect([status, await failureOf(stage)]).toEqual([502, ['too_large']])
    })
  })

  test('R77 of a stream that is to be kept, 64 MiB are held and no more: it failed, and its key is free', async () => {
    const stage = await scene().stage()
    const choices = [{ index: 0, delta: { content: 'x'.repeat(1_000_000) } }]
    const chunk = `data: ${JSON.stringify({ choices })}\n\n`
    stage.one.behave({
      async respond(_, response) {
        response.setMaxListeners(0)
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (let n = 0; n < 70 && response.writable; n++)
          if (!response.write(chunk)) await new Promise((go) => response.once('drain', go).once('close', go))
        response.end('data: [DONE]\n\n')
      },
    })
    const { text } = await stage.chat({ stream: true }, { keyed: 'k' })
    expect(text.slice(-500)).toContain('broke off')
    expect(await failureOf(stage)).toEqual(['too_large'])
    expect(await stage.keyState('k')).toBe('free')
  })

  describe("a client's body", () => {
    test.each([
      ['a message of a million members', () => `{"a":{${Array.from({ length: 1e6 }, (_, n) => `"k${n}":1`).join()}}}`],
      ['250,001 empty lists', () => `{"a":[${'[],'.repeat(250_001)}1]}`],
      ['two million numbers', () => `{"a":[${'1,'.repeat(2_000_000)}1]}`],
    ])('R77 with %s is refused, and sent to nobody', async (_what, message) => {
      const stage = await scene().stage()
      const body = `{"model":"${stage.model}","messages":[${message()}]}`
      const { status, json } = await stage.ask(CHAT, { body })
      expect([status, json.error.type]).toEqual([400, 'invalid_request_error'])
      expect(json.error.message).toContain('250,000 objects, arrays and members')
      expect(stage.one.requests).toEqual([])
      expect((await stage.audit()).events).toEqual([])
    })

    test('R77 of 15 MiB goes on byte for byte', async () => {
      const stage = await scene().stage()
      const content = `${'words and "quotes" and 模型 '.repeat(400_000)}`
      const body = JSON.stringify({ model: stage.model, messages: [{ role: 'user', content }] })
      expect((await stage.ask(CHAT, { body })).status).toBe(200)
      expect(stage.one.requests[0]?.bytes.equals(Buffer.from(body))).toBe(true)
    })
  })
})
