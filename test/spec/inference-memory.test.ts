// R78: what the calls of one project hold of the memory, their bodies and their answers, leaves room for others. There
// are 64 parts of it here, of which one project has 32.
import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { comesTrue } from '../support/inference-cases.ts'
import { CHAT, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'
import type { Behaviour } from '../support/upstream.ts'

const MIB = 2 ** 20
/** A MiB of the 64 that a small server has: sixty-four thousandths say as much, and are read and written sooner. */
const PART = 64 * 2 ** 10
const room = (bytes: number) => ({ memory_bytes: 1, least_rooms: { calls: bytes } })
const REFUSED = [503, '1', expect.stringContaining('Too many large calls')]

const large = (model: string, parts = 12) =>
  JSON.stringify({ model, messages: [{ role: 'user', content: 'x'.repeat(parts * PART) }] })

withScene(
  (scene) => {
    type Stage = Awaited<ReturnType<ReturnType<typeof scene>['stage']>>

    async function refusalOf(stage: Stage, parts?: number) {
      const { status, headers, json } = await stage.ask(CHAT, { body: large(stage.model, parts) })
      return [status, headers['retry-after'], json.error?.message]
    }

    const left = async () => (await scene().metrics.aborted.get()).values[0]?.value ?? 0

    describe('bodies', () => {
      test('R78 beyond its part of the memory a project is told to wait, another is not, and it is given back', async () => {
        const [stage, other] = [await scene().stage(), await scene().stage()]
        const gate = deferred()
        other.one.behave({ wait: gate.promise })
        const waiting = [1, 2].map(() => stage.ask(CHAT, { body: large(stage.model) }))
        await stage.one.request(2)
        expect(await refusalOf(stage)).toEqual(REFUSED)
        const small = stage.chat()
        const others = other.ask(CHAT, { body: large(other.model) })
        await stage.one.request(4)
        gate.resolve()
        const answered = await Promise.all([...waiting, others, small])
        expect(answered.map(({ status }) => status)).toEqual([200, 200, 200, 200])
        await comesTrue(async () => (await refusalOf(stage))[0] === 200)
      })
    })

    test('R26, R78 the body of a keyed call counts as long as it goes on, though its client has left', async () => {
      const stage = await scene().stage()
      const gate = deferred()
      stage.one.behave({ wait: gate.promise })
      for (const n of [1, 2]) {
        const before = await left()
        const call = stage.openChat(JSON.parse(large(stage.model, 10)), { keyed: `left-${n}` })
        await stage.one.request(n)
        call.leave()
        await comesTrue(async () => (await left()) > before)
      }
      expect(await refusalOf(stage, 13)).toEqual(REFUSED)
      gate.resolve()
      await comesTrue(async () => (await refusalOf(stage, 13))[0] === 200)
    })

    describe('answers', () => {
      /** So many bytes of it, and then nothing until the gate opens. */
      const stalling = (head: string, part: string, parts: number, gate: Promise<unknown>): Behaviour => ({
        async respond(_, response) {
          response.writeHead(200, { 'content-type': head })
          for (let n = 0; n < parts; n++) response.write(part)
          await gate
          response.end()
        },
      })
      const held = (text: string) =>
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`

      test('R78 streams that are kept: the one that finds no room breaks off and says so, and others go on', async () => {
        const stage = await scene().stage()
        const other = await scene().stage()
        const gate = deferred()
        stage.one.behave(stalling('text/event-stream', held('x'.repeat(0.9 * PART)), 20, gate.promise))
        const streams = ['a', 'b'].map((keyed) => stage.chat({ stream: true }, { keyed }))
        const first = await Promise.race(streams)
        expect(first.text.slice(-400)).toContain('Too many large calls')
        stage.one.behave({})
        expect((await other.chat()).status).toBe(200)
        gate.resolve()
        await Promise.all(streams)
        await comesTrue(async () => (await refusalOf(stage))[0] === 200)
      })

      test('R78 whole ones: the one that finds no room is 503, and nothing is charged', async () => {
        const stage = await scene().stage()
        const gate = deferred()
        stage.one.behave(stalling('application/json', 'x'.repeat(PART), 12, gate.promise))
        const answers = [1, 2, 3].map(() => stage.chat())
        const first = await Promise.race(answers)
        expect([first.status, first.json.error.message]).toEqual([503, expect.stringContaining('Too many large calls')])
        gate.resolve()
        await Promise.all(answers)
        expect((await stage.audit()).events.filter(({ charged_micros }) => charged_micros > 0)).toEqual([])
      })
    })
  },
  { parts: room(64 * PART) },
)

withScene(
  (scene) => {
    test('R78 one that does not say how large it is counts as the largest until it is there', async () => {
      const stage = await scene().stage()
      const gate = deferred()
      stage.one.behave({ wait: gate.promise })
      const content = randomBytes(150_000).toString('hex')
      const packed = gzipSync(JSON.stringify(stage.bodyOf({ messages: [{ role: 'user', content }] })))
      const unsized = () => stage.ask(CHAT, { headers: { 'content-encoding': 'gzip' }, body: packed })
      const ask = () => stage.ask(CHAT, { body: large(stage.model) })
      const waiting = [ask(), unsized()]
      await stage.one.request(2)
      waiting.push(ask())
      await stage.one.request(3)
      expect((await unsized()).status).toBe(503)
      gate.resolve()
      expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200, 200])
    })
  },
  // For one project it is the largest body there may be, of 16 MiB, and one of these.
  { parts: room(2 * (16 * MIB + 14 * PART)) },
)
