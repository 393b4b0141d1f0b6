// §bundles: a prefix that is uploaded once, named by a header, put before every call byte for byte, and seen in usage.
import { expect, test } from 'vitest'
import { digest } from '../../src/idempotency/idempotency.ts'
import { sql } from '../../src/storage/db.ts'
import { PDF, upload } from '../support/forms.ts'
import { CHAT, PRICES, type Stage, withScene } from '../support/inference-scene.ts'
import type { Answer } from '../support/service.ts'
import type { Recorded, TestUpstream } from '../support/upstream.ts'
import { rollEverything } from '../support/usage-answers.ts'

const model = (id: string) => ({ id, ...PRICES, max_output_tokens: 100 })
const config = (one: TestUpstream) => ({
  providers: [
    { id: 'anthropic', protocol: 'anthropic', api_key: 'sk-ant', base_url: one.base_url, models: [model('claude')] },
    { id: 'native', api_key: 'sk', base_url: one.base_url, responses: true, models: [model('native')] },
  ],
})
const RULES = 'Always be careful. '.repeat(50)
const BOOK = 'Chapter one. '.repeat(200)
const TOOLS = '[{"type":"function","function":{"name":"search","parameters":{"type":"object","properties":{}}}}]'

withScene(
  (scene) => {
    const artifact = async (stage: Pick<Stage, 'send'>, value: string | Buffer, kind = 'text'): Promise<string> =>
      (await upload(stage, value, { kind, filename: `a.${kind}` })).body.id

    async function bundled(stage: Stage, { withTools = false } = {}): Promise<Answer['body']> {
      const items = [
        { artifact_id: await artifact(stage, RULES), role: 'system' },
        { artifact_id: await artifact(stage, BOOK), role: 'user' },
      ]
      const tools_artifact_id = withTools ? await artifact(stage, TOOLS, 'tools') : null
      const made = await stage.post('/v2/bundles', { name: 'the book', items, tools_artifact_id })
      expect(made.status).toBe(200)
      return made.body
    }
    const withBundle = (id: string) => ({ headers: { 'agent-bundle': id } })
    const lastOf = (stage: Stage) => stage.one.requests.at(-1) as Recorded

    test('§bundles made, found again by what it says, listed, read, deleted; its artifacts stay while it uses them', async () => {
      const stage = await scene().stage()
      const bundle = await bundled(stage, { withTools: true })
      expect(bundle).toMatchObject({
        object: 'bundle',
        name: 'the book',
        prefix_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      })
      expect(await bundled(stage, { withTools: true })).toEqual(bundle)
      const other = await scene().stage()
      const theirs = await bundled(other, { withTools: true })
      expect([theirs.prefix_hash === bundle.prefix_hash, theirs.id === bundle.id]).toEqual([true, false])
      expect((await stage.get('/v2/bundles')).body).toEqual({ object: 'list', data: [bundle], has_more: false })
      expect((await stage.get(`/v2/bundles/${bundle.id}`)).body).toEqual(bundle)
      expect((await other.get(`/v2/bundles/${bundle.id}`)).status).toBe(404)
      for (const id of [bundle.tools_artifact_id, bundle.items[0].artifact_id]) {
        const kept = await scene().storingNothing(() => stage.del(`/v2/artifacts/${id}`))
        expect([kept.status, kept.body.error.message]).toEqual([
          400,
          `The artifact '${id}' is part of a bundle. Delete that first (GET /v2/bundles).`,
        ])
      }
      expect((await stage.del(`/v2/bundles/${bundle.id}`)).body).toEqual({
        id: bundle.id,
        object: 'bundle.deleted',
        deleted: true,
      })
      expect((await stage.del(`/v2/artifacts/${bundle.items[0].artifact_id}`)).status).toBe(200)
      expect((await bundledWith(stage, bundle.items)).status).toBe(404)
    })

    const bundledWith = (stage: Pick<Stage, 'post'>, items: unknown, more: object = {}) =>
      stage.post('/v2/bundles', { items, ...more })

    test('§bundles what it may be made of, and nothing is stored of what it may not', async () => {
      const [stage, other] = [await scene().stage(), await scene().stage()]
      const [text, tools, foreign] = [
        await artifact(stage, RULES),
        await artifact(stage, TOOLS, 'tools'),
        await artifact(other, RULES),
      ]
      const pdf = await artifact(stage, PDF, 'document')
      const user = (artifact_id: string) => ({ artifact_id, role: 'user' })
      const refused: [unknown, object, number, string][] = [
        [[], {}, 400, "'items'"],
        [Array.from({ length: 65 }, () => user(text)), {}, 400, "'items'"],
        [[{ artifact_id: text, role: 'assistant' }], {}, 400, 'role'],
        [[user(foreign)], {}, 404, `'items[0].artifact_id': no artifact '${foreign}'`],
        [[user(text), user(tools)], {}, 400, "'items[1].artifact_id' must name a text"],
        [[{ artifact_id: pdf, role: 'system' }], {}, 400, "as every 'system' turn is"],
        [[user(text)], { tools_artifact_id: text }, 400, "'tools_artifact_id' must name tools"],
      ]
      for (const [items, more, status, says] of refused) {
        const answer = await scene().storingNothing(() => bundledWith(stage, items, more))
        expect([answer.status, answer.body.error.message]).toEqual([status, expect.stringContaining(says)])
      }
      const key = scene().as(await stage.keyWith('inference'))
      expect((await bundledWith(key, [user(text)])).status).toBe(403) // R74
      const large = await bundledWith(stage, [user(await artifact(stage, '\u0001'.repeat(2 ** 20 * 1.5)))])
      expect([large.status, large.body.error.message]).toEqual([413, expect.stringContaining('at most 8 MiB')])
      expect((await stage.get('/v2/bundles')).body.data).toEqual([])
    })

    test('§bundles the official client: the same bytes before every call, counted, echoed, and in usage', async () => {
      const stage = await scene().stage()
      const bundle = await bundled(stage, { withTools: true })
      const client = stage.openai({ defaultHeaders: { 'Agent-Bundle': bundle.id } })
      const sent: string[] = []
      for (const content of ['one', 'two']) {
        stage.one.behave({ usage: { input: 1_000, output: 5, cached: content === 'two' ? 900 : 0 } })
        const asked = client.chat.completions.create({ model: stage.model, messages: [{ role: 'user', content }] })
        const { response } = await asked.withResponse()
        expect(response.headers.get('agent-bundle')).toBe(bundle.id)
        sent.push(lastOf(stage).bytes.toString())
      }
      const prefix = `"messages":[{"role":"system","content":${JSON.stringify(RULES)}},{"role":"user","content":${JSON.stringify(BOOK)}},`
      for (const bytes of sent) {
        expect(bytes).toContain(prefix)
        expect(bytes.startsWith(`{"tools":${TOOLS},`)).toBe(true)
      }
      const events = (await stage.get(`/v2/usage?bundle_id=${bundle.id}`)).body.data
      expect(events.map((event: Record<string, unknown>) => [event.bundle_id, event.cached_tokens])).toEqual([
        [bundle.id, 900],
        [bundle.id, 0],
      ])
      await stage.chat()
      const groups = (await stage.get('/v2/usage?group_by=bundle_id')).body.data
      expect(groups.map((group: Record<string, unknown>) => [group.bundle_id, group.events]).sort()).toEqual(
        [
          [null, 1],
          [bundle.id, 2],
        ].sort(),
      )
      const csv = await stage.get('/v2/usage?group_by=bundle_id', { accept: 'text/csv' })
      expect(csv.bytes.toString()).toContain(bundle.id)
      const day = (days: number) => new Date(scene().clock.now() + days * 86_400_000).toISOString()
      await rollEverything(scene().db)
      const span = `from=${day(-20)}&to=${day(1)}&step=day`
      const steps = (await stage.get(`/v2/usage/timeline?${span}&bundle_id=${bundle.id}`)).body.data
      expect(steps.reduce((sum: number, step: { requests: number }) => sum + step.requests, 0)).toBe(2)
      const [{ trace_id }] = events
      expect(JSON.stringify((await stage.get(`/v2/traces/${trace_id}`)).body)).toContain('agent-bundle')
      const { targets } = (await stage.get(`/v2/bundles/${bundle.id}/warmth`)).body
      expect(targets).toMatchObject([
        { calls: 2, last_cached_tokens: 900, last_cached_share: 0.9, last_input_tokens: 1_000 },
      ])
    })

    test('§bundles any key of the project that makes calls may use it; an unknown one is 404, never ignored', async () => {
      const [stage, other] = [await scene().stage(), await scene().stage()]
      const [bundle, theirs] = [await bundled(stage), await bundled(other)]
      const key = scene().as(await stage.keyWith('inference'))
      const body = stage.bodyOf()
      expect((await key.post(CHAT, body, { 'agent-bundle': bundle.id })).status).toBe(200)
      expect((await key.del(`/v2/bundles/${bundle.id}`)).status).toBe(403)
      await other.del(`/v2/bundles/${theirs.id}`)
      stage.one.requests.length = 0
      for (const id of ['bnd_00000000000000000000', theirs.id, '', 'x'.repeat(200), bundle.items[0].artifact_id]) {
        const refused = await stage.chat({}, withBundle(id))
        expect([refused.status, refused.json.error.message]).toEqual([
          404,
          `'Agent-Bundle': no bundle '${id.slice(0, 64)}' in this project.`,
        ])
      }
      const embeddings = { body: { model: stage.model, input: 'x' }, ...withBundle(bundle.id) }
      expect((await stage.ask('/v1/embeddings', embeddings)).status).toBe(400)
      expect(stage.one.requests).toHaveLength(0)
      await stage.del(`/v2/bundles/${bundle.id}`)
      expect((await stage.chat({}, withBundle(bundle.id))).status).toBe(404)
    })

    test('§bundles Anthropic gets one breakpoint, at the end of the bundle; a client’s four stay four', async () => {
      const stage = await scene().stage()
      const bundle = await bundled(stage, { withTools: true })
      const asked = { model: 'claude', messages: [{ role: 'user', content: 'now?' }] }
      await stage.ask(CHAT, { body: asked, ...withBundle(bundle.id) })
      await stage.ask('/v1/responses', { body: { model: 'claude', input: 'now?' }, ...withBundle(bundle.id) })
      for (const { body, bytes } of stage.one.requests.slice(-2)) {
        expect(bytes.toString().split('"cache_control"')).toHaveLength(2)
        expect(body.messages[0].content[0]).toEqual({ type: 'text', text: BOOK, cache_control: { type: 'ephemeral' } })
        expect(body.messages[0].content[1]).toEqual({ type: 'text', text: 'now?' })
        expect(body.system).toEqual([{ type: 'text', text: RULES }])
        expect(body.tools).toHaveLength(1)
      }
      const marked = (text: string) => ({ type: 'text', text, cache_control: { type: 'ephemeral' } })
      const four = { ...asked, messages: [{ role: 'user', content: ['a', 'b', 'c', 'd'].map(marked) }] }
      await stage.ask(CHAT, { body: four, ...withBundle(bundle.id) })
      expect(lastOf(stage).bytes.toString().split('"cache_control"')).toHaveLength(5)
    })

    test('§bundles on Messages: system before system, turns before turns, tools before tools, one mark', async () => {
      const stage = await scene().stage()
      const bundle = await bundled(stage, { withTools: true })
      const ask = (more: object = {}) =>
        stage.ask('/anthropic/v1/messages', {
          body: { model: 'claude', max_tokens: 10, messages: [{ role: 'user', content: 'now?' }], ...more },
          ...withBundle(bundle.id),
        })
      const heard = await ask()
      expect([heard.status, heard.headers['agent-bundle']]).toEqual([200, bundle.id])
      const rules = { type: 'text', text: RULES }
      const book = { role: 'user', content: [{ type: 'text', text: BOOK, cache_control: { type: 'ephemeral' } }] }
      expect(lastOf(stage).body).toMatchObject({
        system: [rules],
        messages: [book, { role: 'user', content: 'now?' }],
        tools: [{ name: 'search', input_schema: { type: 'object', properties: {} } }],
      })
      const tools = [{ name: 'own', input_schema: { type: 'object' } }]
      await ask({ system: 'caf\u00e9', tools })
      expect(lastOf(stage).body.system).toEqual([rules, { type: 'text', text: 'caf\u00e9' }])
      expect(lastOf(stage).body.tools.map(({ name }: { name: string }) => name)).toEqual(['search', 'own'])
      await ask({ system: [{ type: 'text', text: 'own' }] })
      expect(lastOf(stage).body.system).toEqual([rules, { type: 'text', text: 'own' }])
      expect(lastOf(stage).bytes.toString().split('"cache_control"')).toHaveLength(2)
      const before = stage.one.requests.length
      const twice = await ask({ tools: [{ name: 'search', input_schema: {} }] })
      expect([twice.status, twice.json.type]).toEqual([400, 'error'])
      const unknown = await stage.ask('/anthropic/v1/messages', {
        body: { model: 'claude', max_tokens: 10, messages: [{ role: 'user', content: 'x' }] },
        ...withBundle('bnd_00000000000000000000'),
      })
      expect([unknown.status, unknown.json.error.type]).toEqual([404, 'not_found_error'])
      expect(stage.one.requests).toHaveLength(before)
    })

    test('§bundles OpenAI gets a cache key of the project’s own, unless the client sent one', async () => {
      const [stage, other] = [await scene().stage(), await scene().stage()]
      const [bundle, theirs] = [await bundled(stage), await bundled(other)]
      const keyOf = async (whose: Stage, id: string, more: object = {}) => {
        await whose.chat({ model: 'native', ...more }, withBundle(id))
        return lastOf(whose).body.prompt_cache_key
      }
      const mine = await keyOf(stage, bundle.id)
      expect(mine).toMatch(/^[0-9a-f]{32}$/)
      expect(await keyOf(stage, bundle.id)).toBe(mine)
      expect(await keyOf(other, theirs.id)).not.toBe(mine)
      expect(await keyOf(stage, bundle.id, { prompt_cache_key: 'mine' })).toBe('mine')
      await stage.ask('/v1/responses', { body: { model: 'native', input: 'hi' }, ...withBundle(bundle.id) })
      expect(lastOf(stage).body.prompt_cache_key).toBe(mine)
      expect(lastOf(stage).body.input).toHaveLength(3)
      await stage.chat({}, withBundle(bundle.id))
      expect(lastOf(stage).body.prompt_cache_key).toBeUndefined()
    })

    test('§bundles a chain has it before everything, and does not keep it', async () => {
      const stage = await scene().stage()
      const bundle = await bundled(stage)
      const ask = async (body: object) =>
        (await stage.ask('/v1/responses', { body: { model: stage.model, ...body }, ...withBundle(bundle.id) })).json
      const first = await ask({ input: 'one' })
      await ask({ input: 'two', previous_response_id: first.id })
      const said = lastOf(stage).body.messages.map(({ role, content }: { role: string; content: unknown }) => [
        role,
        content,
      ])
      expect(said.slice(0, 3)).toEqual([
        ['system', RULES],
        ['user', BOOK],
        ['user', 'one'],
      ])
      expect(said.at(-1)).toEqual(['user', 'two'])
      expect(JSON.stringify((await stage.get(`/v1/responses/${first.id}/input_items`)).body)).not.toContain('Chapter')
    })

    test('R43 it counts in what is held', async () => {
      const stage = await scene().stage({ key: 2_000_000 })
      const bundle = await bundled(stage)
      await stage.chat({ max_tokens: 10 }, withBundle(bundle.id))
      const hold = 2 * Math.ceil(lastOf(stage).bytes.length / 2) + 2 * 10
      const limit = async (micros: number) => {
        await scene().db.rows(
          sql`UPDATE api_key SET budget_micros = ${micros}, spent_micros = 0 WHERE id = ${stage.key_id}`,
        )
        return (await stage.chat({ max_tokens: 10 }, withBundle(bundle.id))).status
      }
      expect([await limit(hold - 1), await limit(hold)]).toEqual([429, 200])
    })

    test('R21 warming whose answer was not kept, with a key: a repeat asks nobody twice, and nothing is charged again', async () => {
      const stage = await scene().stage()
      const bundle = await bundled(stage)
      const warm = async () => {
        const headers = { 'agent-idempotency-key': 'warm-it' }
        return (await stage.post(`/v2/bundles/${bundle.id}/warm`, { model: stage.both }, headers)).body
      }
      const first = await warm()
      const { spent } = await stage.audit()
      const route = '/v2/bundles/:bundle_id/warm'
      const name = digest({ project_id: stage.project.id, route, params: { bundle_id: bundle.id }, key: 'warm-it' })
      const gone = await scene().db.rows(sql`DELETE FROM idempotency WHERE digest = ${name} RETURNING digest`)
      expect(gone).toHaveLength(1) // as after a crash
      expect((await warm()).targets).toEqual(first.targets)
      expect([stage.one.requests.length, stage.two.requests.length]).toEqual([1, 1])
      expect((await stage.audit()).spent).toBe(spent)
    })

    test('§bundles warming a cluster that is named twice: 400 naming the field, and nobody is asked', async () => {
      const stage = await scene().stage()
      const bundle = await bundled(stage)
      const url = `/v2/bundles/${bundle.id}/warm`
      const refused = await scene().storingNothing(() =>
        stage.post(url, { model: stage.both, cluster_ids: ['byc_1', 'byc_2', 'byc_1'] }),
      )
      expect([refused.status, refused.body.error.message]).toEqual([400, "'cluster_ids' must not name anything twice."])
      expect(stage.one.requests).toEqual([])
    })

    test('§bundles warming asks each target once, is charged, and never passes what was allowed', async () => {
      const stage = await scene().stage()
      const bundle = await bundled(stage)
      const url = `/v2/bundles/${bundle.id}/warm`
      stage.one.behave({ usage: { input: 900, output: 1, cached: 0 } })
      stage.two.behave({ usage: { input: 900, output: 1, cached: 800 } })
      const warmed = (await stage.post(url, { model: stage.both })).body
      expect(
        warmed.targets.map(({ status, cached_tokens }: Record<string, unknown>) => [status, cached_tokens]).sort(),
      ).toEqual([
        ['warmed', 0],
        ['warmed', 800],
      ])
      expect([stage.one.requests.length, stage.two.requests.length]).toEqual([1, 1])
      expect(lastOf(stage).body).toMatchObject({ max_tokens: 1 })
      const { spent } = await stage.audit()
      expect(spent).toBe(warmed.charged_micros)
      expect(spent).toBe(902 + (100 + 400 + 2))

      // What one call could cost fits to the micro; what both could does not.
      const worst = 2 * Math.ceil(stage.one.requests[0]!.bytes.length / 2) + 2
      const within = async (micros: number) =>
        (await stage.post(url, { model: stage.both, max_cost_usd: micros / 1e6 })).body
      const one = await within(worst - 2) // the name of the other model is shorter by no byte: none fits
      expect(one.targets.map(({ status }: { status: string }) => status)).toEqual(['skipped', 'skipped'])
      const enough = await within(worst + 2)
      expect(enough.targets.map(({ status }: { status: string }) => status)).toEqual(['warmed', 'skipped'])
      stage.one.behave({ usage: { input: 900_000, output: 1 } })
      stage.two.behave({ usage: { input: 900_000, output: 1 } })
      const lying = await within(worst + 2)
      expect(lying.charged_micros).toBe(worst + 2)
      const after = await stage.audit()
      expect(after.spent).toBe(spent + enough.charged_micros + lying.charged_micros)
      // What a target tells beyond what was allowed is written off, and the event says so.
      expect(after.events.at(-1)).toMatchObject({ written_off_micros: 900_002 - lying.charged_micros })
      expect((await stage.post(url, { model: stage.both, cluster_ids: ['byc_x'] })).status).toBe(404)
      expect((await stage.post(url, { model: 'nobody-has-it' })).status).toBe(404)
    })

    test('§bundles nobody outside can name a target: the header of our own calls is a secret of the moment', async () => {
      const stage = await scene().stage()
      expect((await stage.chat({}, { headers: { 'x-switchyard-only': 'provider:two' } })).status).toBe(200)
    })
  },
  { config },
)
