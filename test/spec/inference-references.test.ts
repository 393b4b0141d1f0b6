// §artifacts: `file_id: "art_…"` in a prompt: the upstream gets the contents, everything is counted with them, and
// nothing keeps them but the artifact.
import { describe, expect, test } from 'vitest'
import { sql } from '../../src/storage/db.ts'
import { PDF, PNG, upload } from '../support/forms.ts'
import { CHAT, holdFor, PRICES, type Stage, withScene } from '../support/inference-scene.ts'
import type { TestUpstream } from '../support/upstream.ts'

const CLAUDE = { id: 'claude', ...PRICES, max_output_tokens: 100 }
const NATIVE = { id: 'native', ...PRICES, max_output_tokens: 100 }
const config = (one: TestUpstream) => ({
  providers: [
    { id: 'anthropic', protocol: 'anthropic', api_key: 'sk-ant', base_url: one.base_url, models: [CLAUDE] },
    { id: 'native', api_key: 'sk', base_url: one.base_url, responses: true, models: [NATIVE] },
  ],
  retention: { full_fidelity: true },
})
const RULES = 'Be careful.\n"Always."'
const dataOf = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`

withScene(
  (scene) => {
    const artifact = async (stage: Pick<Stage, 'send'>, value: string | Buffer, kind = 'text'): Promise<string> =>
      (await upload(stage, value, { kind, filename: `a.${kind}` })).body.id
    const fileOf = (file_id: string) => ({ type: 'file', file: { file_id } })
    const ask = (content: unknown[]) => [{ role: 'user', content }]

    test('§artifacts the official client refers to a text, an image and a document by file_id', async () => {
      const stage = await scene().stage()
      const ids = [
        await artifact(stage, RULES),
        await artifact(stage, PNG, 'image'),
        await artifact(stage, PDF, 'document'),
      ]
      await stage.openai().chat.completions.create({
        model: stage.model,
        messages: [
          {
            role: 'user',
            content: [
              ...ids.map((file_id) => ({ type: 'file' as const, file: { file_id } })),
              { type: 'text', text: '?' },
            ],
          },
        ],
      })
      expect(stage.one.requests.at(-1)?.body.messages[0].content).toEqual([
        { type: 'text', text: RULES },
        { type: 'image_url', image_url: { url: dataOf('image/png', PNG) } },
        { type: 'file', file: { filename: 'a.document', file_data: dataOf('application/pdf', PDF) } },
        { type: 'text', text: '?' },
      ])
      await scene().housekeep('write artifact use')
      expect((await stage.get(`/v2/artifacts/${ids[0]}`)).body.last_used_at).not.toBeNull()
    })

    test('§artifacts every other byte of the body goes on as it came', async () => {
      const stage = await scene().stage()
      const id = await artifact(stage, RULES)
      const before = `{ "model" :"${stage.model}",\n "messages": [{"role":"user","content":[ {"type":"text","text":"art_ \\u00e9"},`
      const after = ` , {"type":"text","text":"1.0e1"}]}], "temperature": 1.0e0, "x": [ 1 ,2 ] }`
      const part = `{"type":"file", "file": {"file_id":"${id}"}}`
      await stage.ask(CHAT, { body: Buffer.from(`${before}${part}${after}`) })
      const inline = JSON.stringify({ type: 'text', text: RULES })
      expect(stage.one.requests.at(-1)?.bytes.toString()).toBe(`${before}${inline}${after}`)
    })

    test('§artifacts a text that only looks like a reference is none', async () => {
      const stage = await scene().stage()
      const body = {
        model: stage.model,
        messages: ask([{ type: 'text', text: 'art_00000000000000000000' }, fileOf('file-abc')]),
        metadata: { file_id: 'art_00000000000000000000' },
      }
      expect((await stage.ask(CHAT, { body })).status).toBe(200)
      expect(stage.one.requests.at(-1)?.bytes.toString()).toBe(JSON.stringify(body))
    })

    test('§artifacts on responses, for an upstream that speaks it, one that speaks chat, and Messages', async () => {
      const stage = await scene().stage()
      const [text, image] = [await artifact(stage, RULES), await artifact(stage, PNG, 'image')]
      const content = [
        { type: 'input_file', file_id: text },
        { type: 'input_image', file_id: image, detail: 'low' },
      ]
      const input = [{ role: 'user', content }]
      for (const model of ['native', stage.model, 'claude'])
        expect((await stage.ask('/v1/responses', { body: { model, input } })).status, model).toBe(200)
      const [native, chat, claude] = stage.one.requests.map(({ body }) => body)
      const url = dataOf('image/png', PNG)
      expect(native.input[0].content).toEqual([
        { type: 'input_text', text: RULES },
        { type: 'input_image', image_url: url, detail: 'low' },
      ])
      expect(chat.messages[0].content).toEqual([
        { type: 'text', text: RULES },
        { type: 'image_url', image_url: { url, detail: 'low' } },
      ])
      expect(claude.messages[0].content.map(({ type }: { type: string }) => type)).toEqual(['text', 'image'])
    })

    test('§artifacts a chain keeps the reference: deleted, it is dead there too', async () => {
      const stage = await scene().stage()
      const id = await artifact(stage, 'a chapter of the book')
      const input = [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }]
      const first = (await stage.ask('/v1/responses', { body: { model: stage.model, input } })).json
      const items = (await stage.get(`/v1/responses/${first.id}/input_items`)).body.data
      expect(JSON.stringify(items)).toContain(id)
      expect(JSON.stringify(items)).not.toContain('a chapter')
      const next = { model: stage.model, input: 'and then?', previous_response_id: first.id }
      expect((await stage.ask('/v1/responses', { body: next })).status).toBe(200)
      expect(JSON.stringify(stage.one.requests.at(-1)?.body)).toContain('a chapter of the book')
      await stage.del(`/v2/artifacts/${id}`)
      const dead = await stage.ask('/v1/responses', { body: next })
      expect([dead.status, dead.json.error.message]).toEqual([
        404,
        `'input[0].content[0].file_id': no artifact '${id}' in this project.`,
      ])
    })

    test('§artifacts the line of a session keeps the reference, not the contents', async () => {
      const stage = await scene().stage()
      const id = await artifact(stage, 'what the line need not hold')
      const session = (await stage.post('/v2/sessions')).body.id
      const headers = { 'x-session-id': session }
      await stage.chat({ messages: ask([fileOf(id)]) }, { headers })
      const [event] = (await stage.get(`/v2/sessions/${session}/events`)).body.data.slice(-1)
      expect(JSON.stringify(event.content)).toContain(id)
      expect(JSON.stringify(event)).not.toContain('need not hold')
    })

    describe('§artifacts refused, and nobody is called', () => {
      const refusedAs = async (stage: Stage, messages: unknown, headers = {}) => {
        const { status, json } = await stage.chat({ messages }, { headers })
        expect(stage.one.requests).toHaveLength(0)
        return [status, json.error.message]
      }

      test('§artifacts unknown, foreign and deleted are one 404 that names the parameter', async () => {
        const [stage, other] = [await scene().stage(), await scene().stage()]
        const [foreign, gone] = [await artifact(other, 'theirs'), await artifact(stage, 'mine')]
        await stage.del(`/v2/artifacts/${gone}`)
        for (const id of ['art_00000000000000000000', foreign, gone])
          expect(await refusedAs(stage, ask([{ type: 'text', text: 'x' }, fileOf(id)]))).toEqual([
            404,
            `'messages[0].content[1].file.file_id': no artifact '${id}' in this project.`,
          ])
      })

      test('R74 what another key uploaded is not for this one to have a model tell', async () => {
        const stage = await scene().stage()
        const id = await artifact(stage, 'for the maker')
        const other = scene().as(await stage.keyWith('inference'))
        const body = { model: stage.model, messages: ask([fileOf(id)]) }
        const refused = await other.post(CHAT, body)
        expect([refused.status, refused.body.error.type]).toEqual([403, 'insufficient_scope'])
        expect(stage.one.requests).toHaveLength(0)
        await upload(other, 'for the maker')
        expect((await other.post(CHAT, body)).status).toBe(200)
      })

      test('§artifacts tools are no part of a message, and only an image is one', async () => {
        const stage = await scene().stage()
        const tools = await artifact(stage, '[{"type":"function","function":{"name":"f"}}]', 'tools')
        expect(await refusedAs(stage, ask([fileOf(tools)]))).toEqual([
          400,
          "'messages[0].content[0].file.file_id' must not name tools: put them into a bundle.",
        ])
        const text = await artifact(stage, RULES)
        const input = [{ role: 'user', content: [{ type: 'input_image', file_id: text }] }]
        const refused = await stage.ask('/v1/responses', { body: { model: stage.model, input } })
        expect([refused.status, refused.json.error.message]).toEqual([
          400,
          "'input[0].content[0].file_id' must name an image.",
        ])
      })

      test('R77 one artifact named ten thousand times is bounded by what it comes to', async () => {
        const stage = await scene().stage()
        const [small, large] = [await artifact(stage, 'x'.repeat(100)), await artifact(stage, 'y'.repeat(5_000))]
        const named = (id: string) => ask(Array.from({ length: 10_000 }, () => fileOf(id)))
        expect(await refusedAs(stage, named(large))).toEqual([
          413,
          'With the artifacts that it names, the body has more than 32 MiB.',
        ])
        const started = performance.now()
        expect((await stage.chat({ messages: named(small) })).status).toBe(200)
        expect(performance.now() - started).toBeLessThan(10_000)
        expect(stage.one.requests[0]?.body.messages[0].content).toHaveLength(10_000)
        stage.one.requests.length = 0
        // Escapes count as what they become.
        const escapes = await artifact(stage, '\u0001'.repeat(2 ** 20))
        expect((await refusedAs(stage, ask(Array(6).fill(fileOf(escapes)))))[0]).toBe(413)
      })

      test('R43 the hold and the estimate are of what the upstream gets', async () => {
        const stage = await scene().stage({ key: 2_000_000 })
        const id = await artifact(stage, 'z'.repeat(100_000))
        const body = { model: stage.model, messages: ask([fileOf(id)]), max_tokens: 10 }
        const expanded = { ...body, messages: ask([{ type: 'text', text: 'z'.repeat(100_000) }]) }
        const hold = holdFor(expanded, 10)
        await scene().db.rows(sql`UPDATE api_key SET budget_micros = ${hold - 1} WHERE id = ${stage.key_id}`)
        expect((await stage.ask(CHAT, { body })).status).toBe(429)
        await scene().db.rows(sql`UPDATE api_key SET budget_micros = ${hold} WHERE id = ${stage.key_id}`)
        expect((await stage.ask(CHAT, { body })).status).toBe(200)
        await stage.audit()
      })
    })
  },
  { config },
)
