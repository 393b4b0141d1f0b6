// §4.11, R42, R43, R47: speech, which comes as it is spoken, and transcriptions of what a form brings: whole, as text, and
// as events.
import { createHash } from 'node:crypto'
import { toFile } from 'openai'
import { expect, test } from 'vitest'
import { moneyIn } from '../support/inference-client.ts'
import { withScene } from '../support/inference-scene.ts'
import { answering, event, flac, mediaConfig, wav } from '../support/media-scene.ts'

const SPEECH = '/v1/audio/speech'
const HEAR = '/v1/audio/transcriptions'
const digestOf = (bytes: Buffer | Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const SOUND = Buffer.alloc(2_600_000)
for (let at = 0; at < SOUND.length; at++) SOUND[at] = (at * 7 + (at >> 8)) & 0xff

withScene(
  (scene) => {
    type TheStage = Awaited<ReturnType<ReturnType<typeof scene>['stage']>>
    const say = (stage: TheStage, more: object = {}, keyed?: string) =>
      stage.ask(SPEECH, {
        body: { model: 'say', input: 'héllo', voice: 'alloy', ...more },
        headers: keyed === undefined ? {} : { 'agent-idempotency-key': keyed },
      })

    test('§4.11 speech by the official client: the bytes, their type, and 15 micros a character', async () => {
      const stage = await scene().stage({ key: 1_000 })
      stage.one.behave(answering('audio/mpeg', SOUND.subarray(0, 1_000), SOUND.subarray(1_000, 5_000)))
      const speech = await stage.openai().audio.speech.create({ model: 'say', input: 'héllo', voice: 'alloy' })
      expect(speech.headers.get('content-type')).toBe('audio/mpeg')
      expect(Buffer.from(await speech.arrayBuffer())).toEqual(SOUND.subarray(0, 5_000))
      expect((await stage.one.request(1)).body).toEqual({ model: 'say', input: 'héllo', voice: 'alloy' })
      expect((await stage.audit()).spent).toBe(75)
      const { body } = await stage.get('/v2/usage')
      expect(body.data[0].units).toEqual({ characters: 5 })
    })

    test('R41 sound goes on as it comes: its first bytes are heard before its last are spoken', async () => {
      const stage = await scene().stage()
      let finish: () => void = () => {}
      stage.one.behave({
        respond(_request, response) {
          response.writeHead(200, { 'content-type': 'audio/mpeg' })
          response.write('first ')
          finish = () => response.end('last')
        },
      })
      const call = stage.open(SPEECH, { body: { model: 'say', input: 'hello' } })
      await call.says('first ')
      finish()
      const heard = await call.heard
      expect([heard.text, moneyIn(heard)]).toEqual(['first last', 75])
    })

    test('§11 keyed: megabytes of sound are replayed byte for byte, and charged once', async () => {
      const stage = await scene().stage({ key: 1_000 })
      stage.one.behave(answering('audio/mpeg', SOUND))
      const [first, again] = [await say(stage, {}, 'k'), await say(stage, {}, 'k')]
      expect([digestOf(first.bytes), moneyIn(first)]).toEqual([digestOf(SOUND), 75])
      expect([digestOf(again.bytes), moneyIn(again), again.headers['content-type']]).toEqual([
        digestOf(SOUND),
        75,
        'audio/mpeg',
      ])
      expect([again.headers['agent-idempotent-replay'], stage.one.requests.length]).toEqual(['true', 1])
      expect((await stage.audit()).spent).toBe(75)
    })

    test('§11 keyed: a client that leaves in the middle finds all of it by its retry', async () => {
      const stage = await scene().stage({ key: 1_000 })
      stage.one.behave(answering('audio/mpeg', SOUND))
      const call = stage.open(SPEECH, {
        body: { model: 'say', input: 'hello' },
        headers: { 'agent-idempotency-key': 'left' },
      })
      await call.head
      call.leave()
      await stage.until(({ events }) => events.length === 1)
      const again = await stage.ask(SPEECH, {
        body: { model: 'say', input: 'hello' },
        headers: { 'agent-idempotency-key': 'left' },
      })
      expect([digestOf(again.bytes), again.headers['agent-idempotent-replay']]).toEqual([digestOf(SOUND), 'true'])
      expect([stage.one.requests.length, (await stage.audit()).spent]).toEqual([1, 75])
    })

    test('R47 sound that breaks off is never a clean end: cut, uncharged, and the key is free', async () => {
      const stage = await scene().stage({ key: 1_000 })
      stage.one.behave({
        respond(_request, response) {
          response.writeHead(200, { 'content-type': 'audio/mpeg' })
          response.write(SOUND.subarray(0, 1_000), () => response.socket?.destroy())
        },
      })
      const broken = await say(stage, {}, 'b')
      expect([broken.complete, broken.text.includes('error')]).toEqual([false, false])
      expect([await stage.keyState('b', SPEECH), (await stage.audit()).spent]).toEqual(['free', 0])
    })

    test('R47 before the first byte the next target speaks; a 200 that is no sound is a failure', async () => {
      const [failing, page] = [{ status: 503, body: {} }, answering('application/json', '{"error":{"message":"x"}}')]
      for (const behaviour of [failing, page, answering('audio/mpeg')]) {
        const stage = await scene().stage()
        stage.one.behave(behaviour)
        stage.two.behave(answering('audio/mpeg', 'sound'))
        const heard = await say(stage)
        expect([heard.text, heard.headers['agent-resolved-provider']]).toEqual(['sound', 'second'])
      }
    })

    test('§4.11 speech as events: they go on as they came', async () => {
      const stage = await scene().stage()
      const events = [
        event({ type: 'speech.audio.delta', audio: 'AAAA' }),
        event({ type: 'speech.audio.done', usage: { input_tokens: 3, output_tokens: 9, total_tokens: 12 } }),
      ]
      stage.one.behave(answering('text/event-stream', ...events))
      const heard = await say(stage, { stream_format: 'sse' })
      expect([heard.text, moneyIn(heard)]).toEqual([events.join(''), 75])
      expect((await stage.audit()).events[0]).toMatchObject({ input_tokens: 3, output_tokens: 9, tokens_estimated: 0 })
    })

    test('R43 speech beyond the budget is refused before anybody is asked', async () => {
      const stage = await scene().stage({ key: 74 })
      expect((await say(stage)).status).toBe(429)
      expect([stage.one.requests.length, (await stage.audit()).events]).toEqual([0, []])
    })

    const hear = async (stage: TheStage, file = wav(10), more: object = {}) =>
      stage.openai().audio.transcriptions.create({ model: 'hear', file: await toFile(file, 'a.wav'), ...more })

    test('§4.11 transcriptions by the official client: 100 micros a second, as the upstream counts them', async () => {
      const stage = await scene().stage({ key: 5_000 })
      stage.one.next(
        { body: { text: 'hello', usage: { type: 'duration', seconds: 9.5 } } },
        { body: { text: 'hello', duration: '8.2', segments: [] } },
        { body: { text: 'hello' } },
      )
      const file = wav(10)
      expect((await hear(stage, file, { language: 'en', timestamp_granularities: ['word', 'segment'] })).text).toBe(
        'hello',
      )
      const { headers, bytes } = await stage.one.request(1)
      const form = await new Response(new Uint8Array(bytes), { headers: headers as Record<string, string> }).formData()
      expect(digestOf(Buffer.from(await (form.get('file') as File).arrayBuffer()))).toBe(digestOf(file))
      expect(form.getAll('timestamp_granularities[]')).toEqual(['word', 'segment'])
      expect([form.get('model'), form.get('language')]).toEqual(['hear', 'en'])
      await hear(stage, file, { response_format: 'verbose_json' })
      await hear(stage, file)
      const { events } = await stage.audit()
      expect(events.map(({ charged_micros }) => charged_micros)).toEqual([950, 820, 1_001])
      const { body } = await stage.get('/v2/usage')
      expect(body.data.at(-1)?.units).toEqual({ audio_seconds: 9.5 })
    })

    test('§4.11 as text: the bytes that the upstream sent, counted by what the file says of itself', async () => {
      const stage = await scene().stage()
      stage.one.behave(answering('text/plain; charset=utf-8', 'hello\n'))
      expect(await hear(stage, wav(2), { response_format: 'text' })).toBe('hello\n')
      expect((await stage.audit()).spent).toBe(201)
    })

    test('§4.11 as events, with tokens of sound', async () => {
      const stage = await scene().stage()
      const usage = { type: 'tokens', input_tokens: 20, input_token_details: { audio_tokens: 18 }, output_tokens: 5 }
      const events = [
        event({ type: 'transcript.text.delta', delta: 'hel' }),
        event({ type: 'transcript.text.done', text: 'hello', usage }),
      ]
      stage.one.behave(answering('text/event-stream', ...events))
      const stream = await stage.openai().audio.transcriptions.create({
        model: 'hear-tokens',
        file: await toFile(wav(1), 'a.wav'),
        stream: true,
      })
      const types: string[] = []
      for await (const one of stream) types.push(one.type)
      expect(types).toEqual(['transcript.text.delta', 'transcript.text.done'])
      expect((await stage.audit()).spent).toBe(30)
    })

    test('R43 held by the length of the sound; compressed sound by the least that speech takes', async () => {
      const stage = await scene().stage({ key: 1_500 })
      const before = await stage.audit()
      await expect(hear(stage, wav(16))).rejects.toThrow('429')
      await expect(hear(stage, Buffer.alloc(8_000, 'mp3'))).rejects.toThrow('429')
      expect([stage.one.requests.length, await stage.audit()]).toEqual([0, before])
      stage.one.behave({ body: { text: 'x', usage: { type: 'duration', seconds: 14 } } })
      await hear(stage, wav(14))
      expect((await stage.audit()).spent).toBe(1_400)
    })

    test('R43 silence in FLAC is held for by the length that its head tells', async () => {
      const stage = await scene().stage({ key: 1_500 })
      const file = flac(16)
      expect(file.length).toBeLessThan(500)
      await expect(hear(stage, file)).rejects.toThrow('429')
      expect([stage.one.requests.length, (await stage.audit()).spent]).toEqual([0, 0])
      stage.one.behave({ body: { text: 'x', usage: { type: 'duration', seconds: 14 } } })
      await hear(stage, flac(14))
      expect((await stage.audit()).spent).toBe(1_400)
    })

    test.each<[string, (head: Buffer) => void]>([
      ['bytes that a sample does not take', (head) => head.writeUInt16LE(65_535, 32)],
      ['bits that no sample has', (head) => head.writeUInt16LE(65_535, 34)],
      ['compressed sound', (head) => head.writeUInt16LE(0x55, 20)],
    ])('R43 a head that tells of %s makes no sound shorter: it is held for all the same', async (_what, lie) => {
      const stage = await scene().stage({ key: 1_500 })
      const file = wav(16)
      file.writeUInt32LE(0xffff_ffff, 28)
      lie(file)
      await expect(hear(stage, file)).rejects.toThrow('429')
      expect([stage.one.requests.length, (await stage.audit()).spent]).toEqual([0, 0])
    })

    const boundary = 'b0undary'
    const formOf = (...parts: string[]) =>
      Buffer.from(`${parts.map((part) => `--${boundary}\r\n${part}\r\n`).join('')}--${boundary}--\r\n`)
    const field = (name: string, value: string) => `content-disposition: form-data; name="${name}"\r\n\r\n${value}`
    const NAMELESS = 'content-disposition: form-data; filename="a.wav"\r\n\r\nRIFF'
    const FILE = 'content-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF'

    test.each([
      ['no file', formOf(field('model', 'hear')), "'file' is required"],
      ['no model', formOf(FILE), "'model' must"],
      ['a model twice', formOf(field('model', 'hear'), field('model', 'say'), FILE), "'model' is given more than once"],
      ['a switch that is none', formOf(field('model', 'hear'), field('stream', 'on'), FILE), "'stream' must"],
      ['two files', formOf(field('model', 'hear'), FILE, FILE), "'file' is required: one"],
      ['no form', Buffer.from('nothing'), 'not a valid form'],
      ['a cut form', formOf(field('model', 'hear'), FILE).subarray(0, -20), 'not a valid form'],
      ['a file without a name', formOf(field('model', 'hear'), NAMELESS), 'must have a name'],
      ['a text without a name', formOf('content-disposition: form-data\r\n\r\nx', FILE), 'must have a name'],
    ])('R76 %s: 400 by name, and nobody is asked', async (_what, body, message) => {
      const stage = await scene().stage()
      const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
      const refused = await stage.ask(HEAR, { body, headers })
      expect([refused.status, refused.json.error.message]).toEqual([400, expect.stringContaining(message)])
      expect([stage.one.requests.length, (await stage.audit()).events]).toEqual([0, []])
      const json = await stage.ask(HEAR, { body: { model: 'hear' } })
      expect(json.status).toBe(415)
      expect(json.json.error.message).toContain('multipart/form-data')
      const nothing = await stage.ask('/v1/images/edits', { method: 'POST' })
      expect([nothing.status, nothing.json.error.message]).toEqual([
        400,
        expect.stringContaining('multipart/form-data'),
      ])
    })
  },
  { config: mediaConfig },
)
