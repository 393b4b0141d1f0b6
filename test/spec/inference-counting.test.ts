// §4.11, R81: counting ahead of an answer, on responses and on messages: of what the upstream would get, with the bundle
// and the artifacts in it; and what was the caller's mistake is told as one.
import { describe, expect, test } from 'vitest'
import { upload } from '../support/forms.ts'
import { PRICES, type Stage, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'
import type { Recorded, TestUpstream } from '../support/upstream.ts'

const RESPONSES = '/v1/responses/input_tokens'
const MESSAGES = '/anthropic/v1/messages/count_tokens'
const SECRET = 'sk-ant-of-the-operator'
const model = (id: string) => ({ id, upstream_id: `upstream-${id}`, ...PRICES, max_output_tokens: 100 })
const config = (one: TestUpstream) => ({
  providers: [
    { id: 'anthropic', protocol: 'anthropic', api_key: SECRET, base_url: one.base_url, models: [model('claude')] },
    { id: 'native', api_key: SECRET, base_url: one.base_url, responses: true, models: [model('native')] },
  ],
})
const RULES = 'Always be careful.'
const BOOK = 'Chapter one. '.repeat(20)
/** What one project may have of the memory here, and a file of which four take nearly a quarter. */
const [ROOM_OF_ONE, LARGE_BYTES] = [4 * 2 ** 20, 110 * 2 ** 10]
const UNKNOWN = 'bnd_00000000000000000000'

const ON = [
  { path: RESPONSES, asked: { model: 'native', input: 'now?' } },
  { path: MESSAGES, asked: { model: 'claude', messages: [{ role: 'user', content: 'now?' }] } },
]

withScene(
  (scene) => {
    const artifact = async (stage: Pick<Stage, 'send'>, value: string): Promise<string> =>
      (await upload(stage, value, { kind: 'text', filename: 'a.text' })).body.id

    async function bundled(stage: Stage): Promise<string> {
      const items = [
        { artifact_id: await artifact(stage, RULES), role: 'system' },
        { artifact_id: await artifact(stage, BOOK), role: 'user' },
      ]
      return (await stage.post('/v2/bundles', { items })).body.id
    }

    /** A stage whose upstream counts. */
    async function counting() {
      const stage = await scene().stage()
      stage.one.behave({ body: { input_tokens: 9 } })
      return stage
    }
    const withBundle = (id: string) => ({ headers: { 'agent-bundle': id } })
    const lastOf = (stage: Stage) => stage.one.requests.at(-1) as Recorded
    const named = (...ids: string[]) => [
      { role: 'user', content: ids.map((file_id) => ({ type: 'input_file', file_id })) },
    ]

    describe('with a bundle', () => {
      test('§4.14.2, §10.1 on responses its turns are counted before the client’s', async () => {
        const stage = await counting()
        const id = await bundled(stage)
        const counted = await stage.ask(RESPONSES, { body: ON[0]?.asked, ...withBundle(id) })
        expect([counted.status, counted.json]).toEqual([200, { input_tokens: 9 }])
        const { path, body } = lastOf(stage)
        expect([path, body.model]).toEqual([RESPONSES, 'upstream-native'])
        const said = JSON.stringify(body.input)
        const places = [RULES, BOOK, 'now?'].map((text) => said.indexOf(text))
        expect(places).toEqual([...places].sort((a, b) => a - b))
        expect([places.includes(-1), body.input.length]).toEqual([false, 3])
      })

      test('§4.14.2, §10.1 on messages too, as the message itself would go out', async () => {
        const stage = await counting()
        const id = await bundled(stage)
        const body = { ...ON[1]?.asked, max_tokens: 10 }
        expect((await stage.ask(MESSAGES, { body, ...withBundle(id) })).status).toBe(200)
        const counted = lastOf(stage)
        expect(counted.path).toBe('/v1/messages/count_tokens')
        stage.one.behave({})
        await stage.ask('/anthropic/v1/messages', { body, ...withBundle(id) })
        expect(counted.bytes.toString()).toBe(lastOf(stage).bytes.toString())
        expect(counted.body.messages).toHaveLength(2)
      })

      test.each(ON)('§4.14.3 an unknown one is 404 on $path, never ignored', async ({ path, asked }) => {
        const stage = await counting()
        const refused = await stage.ask(path, { body: asked, ...withBundle(UNKNOWN) })
        expect([refused.status, refused.json.error.message]).toEqual([
          404,
          `'Agent-Bundle': no bundle '${UNKNOWN}' in this project.`,
        ])
        expect(stage.one.requests).toEqual([])
      })

      test.each(ON)('R78 of one project two are counted at a time on $path', async ({ path, asked }) => {
        const stage = await counting()
        const id = await bundled(stage)
        const go = deferred()
        stage.one.behave({ wait: go.promise, body: { input_tokens: 9 } })
        const all = Array.from({ length: 6 }, () => stage.ask(path, { body: asked, ...withBundle(id) }))
        await stage.one.request(2)
        for (let n = 0; n < 3; n++) await fetch(`${scene().origin}/v1/models`) // what was asked has been looked at by then
        expect(stage.one.requests).toHaveLength(2)
        go.resolve()
        for (const { status } of await Promise.all(all)) expect(status).toBe(200)
        expect(stage.one.requests).toHaveLength(6)
      })
    })

    describe('with artifacts', () => {
      test('§4.13.7 what file_id names is counted, and not its name', async () => {
        const stage = await counting()
        const id = await artifact(stage, BOOK)
        const counted = await stage.ask(RESPONSES, { body: { model: 'native', input: named(id) } })
        expect(counted.status).toBe(200)
        expect(lastOf(stage).body.input[0].content).toEqual([{ type: 'input_text', text: BOOK }])
      })

      test('§4.13.7 that of an earlier turn is too', async () => {
        const stage = await scene().stage()
        const id = await artifact(stage, BOOK)
        const first = await stage.ask('/v1/responses', { body: { model: 'native', input: named(id) } })
        stage.one.behave({ body: { input_tokens: 9 } })
        const body = { model: 'native', input: 'and then?', previous_response_id: first.json.id }
        expect((await stage.ask(RESPONSES, { body })).status).toBe(200)
        const { input } = lastOf(stage).body
        expect(input[0].content).toEqual([{ type: 'input_text', text: BOOK }])
        expect(JSON.stringify(input)).not.toContain(id)
      })

      test('§4.13.9 one that is unknown is 404; R74 what another key uploaded is 403; nobody is asked', async () => {
        const stage = await counting()
        const [unknown, id] = ['art_00000000000000000000', await artifact(stage, BOOK)]
        const refused = await stage.ask(RESPONSES, { body: { model: 'native', input: named(unknown) } })
        expect([refused.status, refused.json.error.message]).toEqual([
          404,
          `'input[0].content[0].file_id': no artifact '${unknown}' in this project.`,
        ])
        const other = scene().as(await stage.keyWith('inference'))
        expect((await other.post(RESPONSES, { model: 'native', input: named(id) })).status).toBe(403)
        expect(stage.one.requests).toEqual([])
      })

      test('R78 what they took of the memory is given back, however counting ends', async () => {
        const stage = await counting()
        const large = await artifact(stage, 'x'.repeat(LARGE_BYTES)) // five times four of them are more than it may have
        const four = [large, large, large, large]
        const count = async (...ids: string[]) =>
          (await stage.ask(RESPONSES, { body: { model: 'native', input: named(...ids) } })).status
        for (let n = 0; n < 5; n++) expect(await count(...four, 'art_00000000000000000000')).toBe(404)
        stage.one.behave({ status: 500, body: 'no' })
        for (let n = 0; n < 5; n++) expect(await count(...four)).toBe(502)
        stage.one.behave({ body: { input_tokens: 9 } })
        expect(await count(...four)).toBe(200)
      })
    })

    describe('refused', () => {
      test.each(ON)('§10.1 tags that cannot be read are 400 on $path', async ({ path, asked }) => {
        const stage = await counting()
        const refused = await stage.ask(path, { body: asked, headers: { 'agent-tags': 'no tag' } })
        expect([refused.status, refused.json.error.message]).toEqual([400, expect.stringContaining("'Agent-Tags'")])
        expect(stage.one.requests).toEqual([])
        expect((await stage.ask(path, { body: asked, headers: { 'agent-tags': 'team=search' } })).status).toBe(200)
      })

      const MISTAKES = [400, 413, 422].flatMap((status) => ON.map((on) => ({ status, ...on })))

      test.each(MISTAKES)('R47 a $status in another shape is 400 in its words on $path', async (one) => {
        const { status, path, asked } = one
        const stage = await scene().stage()
        stage.one.behave({ status, body: { error: { message: `prompt is too long, ${SECRET}` } } })
        const refused = await stage.ask(path, { body: asked })
        expect([refused.status, refused.json.error.type]).toEqual([400, 'invalid_request_error'])
        const { message } = refused.json.error
        expect(message).toContain(`The upstream refused this request with status ${status}: prompt is too long`)
        expect(refused.text).not.toContain(SECRET)
      })

      test.each(ON)('R47 one without words is 400 all the same on $path', async ({ path, asked }) => {
        const stage = await scene().stage()
        stage.one.behave({ status: 400, body: '<html>no</html>' })
        const refused = await stage.ask(path, { body: asked })
        expect([refused.status, refused.json.error.message]).toEqual([
          400,
          'The upstream refused this request with status 400.',
        ])
      })

      test.each(ON)('R81 an upstream that has no such method counts none on $path: 404', async ({ path, asked }) => {
        const stage = await scene().stage()
        stage.one.behave({ status: 405, body: { error: { message: 'no such method', type: 'invalid_request_error' } } })
        const refused = await stage.ask(path, { body: asked })
        expect([refused.status, refused.json.error.message]).toEqual([404, expect.stringContaining('counts no tokens')])
      })
    })
  },
  { config, parts: { memory_bytes: 0, least_rooms: { expansions: 2 * ROOM_OF_ONE } } },
)
