// §4.11, R42, R43, R77: images, drawn and edited: priced by the image or by tokens, as forms and as events, megabytes of
// them, none of which is ever whole in memory.
import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { toFile } from 'openai'
import { expect, test } from 'vitest'
import { type OpenDb, sql } from '../../src/storage/db.ts'
import { comesTrue } from '../support/inference-cases.ts'
import { hintsHeader, moneyIn } from '../support/inference-client.ts'
import { withScene } from '../support/inference-scene.ts'
import { answering, event, mediaConfig } from '../support/media-scene.ts'

const IMAGES = '/v1/images/generations'
const PICTURE = 'aGVsbG8='
const drawn = (n: number, more: object = {}, b64_json = PICTURE) => ({
  created: 1,
  data: Array.from({ length: n }, () => ({ b64_json })),
  ...more,
})
const used = (input: number, output: number, image_tokens = 0) => ({
  usage: {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { text_tokens: input - image_tokens, image_tokens },
  },
})
const LARGE = 'A'.repeat(3_000_000)
const digestOf = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')
const partsIn = (db: OpenDb, project_id: string) =>
  db.rows<{ part: number; bytes: number }>(sql`
    SELECT part, LENGTH(sealed) AS bytes FROM large_body_part WHERE project_id = ${project_id} ORDER BY part`)

withScene(
  (scene) => {
    type TheStage = Awaited<ReturnType<ReturnType<typeof scene>['stage']>>
    const ask = (stage: TheStage, more: object = {}, keyed?: string) =>
      stage.ask(IMAGES, {
        body: { model: 'draw', prompt: 'a cat', ...more },
        headers: keyed === undefined ? {} : { 'agent-idempotency-key': keyed },
      })

    test('R42 by the image: the price of its size, or the dearest; as many as came', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      stage.one.next({ body: drawn(2) }, { body: drawn(1) }, { body: drawn(1) })
      const client = stage.openai()
      const { data } = await client.images.generate({ model: 'draw', prompt: 'a cat', n: 2, size: '1024x1024' })
      expect(data).toHaveLength(2)
      expect((await stage.one.request(1)).body).toEqual({ model: 'draw', prompt: 'a cat', n: 2, size: '1024x1024' })
      await client.images.generate({ model: 'draw', prompt: 'a cat' })
      await client.images.generate({ model: 'draw', prompt: 'a cat', n: 3 })
      const { events } = await stage.audit()
      expect(events.map(({ charged_micros }) => charged_micros)).toEqual([80_000, 80_000, 80_000])
      const { body } = await stage.get('/v2/usage')
      expect(body.data.at(-1)?.units).toEqual({ images: 2, size: '1024x1024' })
    })

    test('R42 by tokens: those of images in at their own price; estimated where nobody tells', async () => {
      const stage = await scene().stage()
      stage.one.next({ body: drawn(1, used(10, 100, 4)) }, { body: drawn(1) })
      const told = await ask(stage, { model: 'draw-tokens' })
      expect(moneyIn(told)).toBe(6 + 4 * 3 + 200)
      await ask(stage, { model: 'draw-tokens' })
      const [, guessed] = (await stage.audit()).events
      expect(guessed).toMatchObject({ tokens_estimated: 1, output_tokens: 1_056 })
    })

    test('R43 held for every image before anybody is asked', async () => {
      const stage = await scene().stage({ key: 119_999 })
      const refused = await ask(stage, { n: 3, size: '1024x1024' })
      expect([refused.status, refused.json.error.code]).toEqual([429, 'quota_exceeded'])
      expect([stage.one.requests.length, (await stage.audit()).events]).toEqual([0, []])
      stage.one.behave({ body: drawn(2) })
      expect((await ask(stage, { n: 2, size: '1024x1024' })).status).toBe(200)
    })

    test('R77 an answer of megabytes passes, its usage is found, and its replay is the same bytes from parts', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      const body = JSON.stringify(drawn(2, used(10, 100), LARGE))
      stage.one.behave({ body })
      const asked = { model: 'draw-tokens', n: 2 }
      const [first, again] = [await ask(stage, asked, 'k'), await ask(stage, asked, 'k')]
      expect([first.status, digestOf(first.bytes), moneyIn(first)]).toEqual([200, digestOf(body), 210])
      expect([again.headers['agent-idempotent-replay'], digestOf(again.bytes), moneyIn(again)]).toEqual([
        'true',
        digestOf(body),
        210,
      ])
      expect(again.headers['content-type']).toBe(first.headers['content-type'])
      expect([stage.one.requests.length, (await stage.audit()).spent]).toEqual([1, 210])
      const parts = await partsIn(scene().db, stage.project.id)
      expect(parts).toHaveLength(Math.ceil(body.length / 262_144))
      scene().clock.advance(1_000)
      const { body: job } = await stage.post('/v2/purge-jobs', {
        filter: { trace_ids: [first.headers['agent-trace-id']] },
        kinds: ['kept_answers'],
        mode: 'erase',
      })
      expect(job.object).toBe('purge_job')
      await scene().housekeep('run purge jobs')
      expect(await partsIn(scene().db, stage.project.id)).toEqual([])
      expect((await ask(stage, asked, 'k')).status).toBe(410)
    })

    test('R77 parts of a kept answer go with their day, and those that nobody names too', async () => {
      const stage = await scene().stage()
      stage.one.behave({ body: drawn(1, {}, LARGE) })
      await ask(stage, {}, 'k')
      expect(await partsIn(scene().db, stage.project.id)).toHaveLength(12)
      scene().clock.advance(25 * 3_600_000)
      await scene().housekeep('sweep kept responses')
      expect(await partsIn(scene().db, stage.project.id)).toEqual([])
    })

    test('§4.11 edits by the official client: every field and file goes on, the model under the target’s name', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      await stage.post('/v2/aliases', { name: 'artist', targets: [{ provider: 'first', model: 'draw-tokens' }] })
      const cat = Buffer.alloc(2_500_000, 'cat')
      stage.one.behave({ body: drawn(1, used(50, 100, 40)) })
      const image = [
        await toFile(cat, 'cät "1".png', { type: 'image/png' }),
        await toFile(Buffer.from('two'), 'two.png', { type: 'image/png' }),
      ]
      await stage.openai().images.edit({ model: 'artist', image, prompt: 'add a hat', n: 1, background: 'opaque' })
      const { path, headers, bytes } = await stage.one.request(1)
      expect([path, headers['content-type']]).toEqual([
        '/v1/images/edits',
        expect.stringMatching(/^multipart\/form-data; boundary=/),
      ])
      const form = await new Response(new Uint8Array(bytes), { headers: headers as Record<string, string> }).formData()
      const files = form.getAll('image[]') as File[]
      expect(files.map(({ name, size, type }) => [name, size, type])).toEqual([
        ['cät "1".png', cat.length, 'image/png'],
        ['two.png', 3, 'image/png'],
      ])
      expect(digestOf(Buffer.from(await (files[0] as File).arrayBuffer()))).toBe(digestOf(cat))
      const texts = [...form.entries()].filter(([, value]) => typeof value === 'string')
      expect(Object.fromEntries(texts)).toEqual({
        model: 'draw-tokens',
        prompt: 'add a hat',
        n: '1',
        background: 'opaque',
      })
      expect((await stage.audit()).spent).toBe(10 + 40 * 3 + 200)
    })

    test('R78 whoever does not read a large answer keeps no slot of the target that made it', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      stage.one.behave({ body: drawn(1, {}, 'A'.repeat(30_000_000)) })
      const body = JSON.stringify({ model: 'draw', prompt: 'a cat' })
      const head = [
        `POST ${IMAGES} HTTP/1.1`,
        ...['host: a', `authorization: Bearer ${stage.key}`, 'content-type: application/json'],
        `content-length: ${body.length}`,
      ]
      const socket = connect(Number(new URL(scene().origin).port), '127.0.0.1').pause()
      socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
      await stage.until(({ events }) => events.length === 1)
      await comesTrue(async () => scene().inference.runningAt('first') === 0)
      expect(socket.destroyed).toBe(false)
      socket.destroy()
    })

    test('R47 a form is sent anew to the next target, whole', async () => {
      const stage = await scene().stage()
      stage.one.behave({ status: 500, body: {} })
      stage.two.behave({ body: drawn(1) })
      const image = await toFile(Buffer.alloc(1_500_000, 'x'), 'x.png')
      await stage.openai().images.edit({ model: 'draw', image, prompt: 'a hat' })
      const [one, two] = [await stage.one.request(1), await stage.two.request(1)]
      expect(one.bytes.length).toBeGreaterThan(1_500_000)
      expect(two.bytes.length).toBe(one.bytes.length)
    })

    test('§4.11 streamed: events of megabytes go on as they came, and the last tells what it took', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      const events = [
        event({ type: 'image_generation.partial_image', b64_json: LARGE, partial_image_index: 0 }),
        event({ type: 'image_generation.completed', b64_json: LARGE, ...used(10, 100) }),
      ]
      stage.one.behave(answering('text/event-stream', ...events))
      const asked = { model: 'draw-tokens', stream: true, partial_images: 1 }
      const [first, again] = [await ask(stage, asked, 's'), await ask(stage, asked, 's')]
      expect(digestOf(first.bytes)).toBe(digestOf(events.join('')))
      expect([first.headers['content-type'], moneyIn(first)]).toEqual(['text/event-stream', 210])
      expect([digestOf(again.bytes), again.headers['agent-idempotent-replay'], moneyIn(again)]).toEqual([
        digestOf(first.bytes),
        'true',
        210,
      ])
      expect([stage.one.requests.length, (await stage.audit()).spent]).toEqual([1, 210])
    })

    test('R47 a stream of images that breaks off ends with an error event, uncharged and not kept', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      stage.one.behave({
        respond(_request, response) {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write(event({ type: 'image_generation.partial_image', b64_json: PICTURE }), () =>
            response.socket?.destroy(),
          )
        },
      })
      const broken = await ask(stage, { model: 'draw-tokens', stream: true }, 'b')
      expect(broken.text).toContain('data: {"error"')
      expect([await stage.keyState('b', IMAGES), (await stage.audit()).spent]).toEqual(['free', 0])
    })

    test('R71 previews of images are worth what the images are: so much is waived at a deadline', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      stage.one.behave({
        respond(_request, response) {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write(event({ type: 'image_generation.partial_image', b64_json: PICTURE }))
        },
      })
      await stage.ask(IMAGES, {
        body: { model: 'draw', prompt: 'a cat', stream: true, n: 2 },
        headers: hintsHeader({ qos: { deadline_ms: 700 } }),
      })
      const { events } = await stage.audit()
      expect(events).toMatchObject([{ status: 'deadline_exceeded', charged_micros: 0, waived_micros: 160_000 }])
    })

    test.each([
      [{ prompt: 7 }, "'prompt' must"],
      [{ n: 'two' }, "'n' must"],
      [{ n: 0 }, "'n' must"],
      [{ stream: 'yes' }, "'stream' must"],
    ])('R76 %j is 400 by name, and nobody is asked', async (more, message) => {
      const stage = await scene().stage()
      const refused = await ask(stage, more)
      expect([refused.status, refused.json.error.message]).toEqual([400, expect.stringContaining(message)])
      expect([stage.one.requests.length, (await stage.audit()).events]).toEqual([0, []])
    })
  },
  { config: mediaConfig },
)
