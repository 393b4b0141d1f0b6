// R79, 0343: providers added, changed, drained and removed over the API, beside switchyard.yaml, while calls run.
import { expect, test } from 'vitest'
import { sql } from '../../src/storage/db.ts'
import { CHAT, PRICES, settingsFrom, withScene } from '../support/inference-scene.ts'
import { gate } from '../support/wire.ts'

const PATH = '/v2/operator/providers'
const SECRET = 'sk-a-secret-of-the-operators-WXYZ'
const BEDROCK = { protocol: 'bedrock', api_key: undefined, base_url: undefined, region: 'us-east-1' }
const model = (id: string, more: object = {}) => ({ id, ...PRICES, max_output_tokens: 100, ...more })

withScene(
  (scene) => {
    let made = 0
    const entry = (base_url: string, more: object = {}) => {
      const id = `added-${++made}`
      return { id, base_url, api_key: SECRET, models: [model(`m-${id}`)], ...more }
    }

    test('0343 a provider that is added serves the next call, with its prices; its secret is told by four characters', async () => {
      const { operator, one, db, log } = scene()
      const stage = await scene().stage()
      const { post, get } = await operator()
      const wish = entry(one.base_url)
      const { status, body, headers } = await post(PATH, wish)
      expect([status, body.version, body.status, body.source, headers.etag]).toEqual([200, 1, 'active', 'api', '"1"'])
      expect(body.secrets).toEqual({ api_key: '…WXYZ' })
      expect(body.settings.models[0].price).toMatchObject({ input: 1_000_000, output: 2_000_000 })
      const heard = await stage.chat({ model: `m-${wish.id}` })
      expect([heard.status, heard.headers['agent-resolved-provider']]).toEqual([200, wish.id])
      expect(one.requests.at(-1)?.headers.authorization).toBe(`Bearer ${SECRET}`)
      expect((await stage.ledger()).events[0]?.charged_micros).toBe(25)

      const told = [body, (await get(PATH)).body, (await get(`${PATH}/${wish.id}`)).body]
      const versions = (await get(`${PATH}/${wish.id}/versions`)).body
      const [row] = await db.rows<{ sealed: Uint8Array; entered: string }>(sql`
        SELECT sealed, entered FROM operator_provider WHERE id = ${wish.id}`)
      const everywhere = JSON.stringify([told, versions, row?.entered, Buffer.from(row?.sealed ?? []).toString(), log])
      expect(everywhere).not.toContain(SECRET)
    })

    test('0343, 0349 the secret of an application at Entra ID is sealed and never told, in versions neither', async () => {
      const { operator, db } = scene()
      const { post, get } = await operator()
      const entra = { tenant_id: 't-1', client_id: 'c-1', client_secret: SECRET, protocol: 'azure', api_key: undefined }
      const wish = entry('https://unit.openai.azure.com', entra)
      const { status, body } = await post(PATH, wish)
      expect([status, body.secrets]).toEqual([200, { client_secret: '…WXYZ' }])
      expect(body.entered).toMatchObject({ tenant_id: 't-1', client_id: 'c-1' })
      const rows = () =>
        db.rows(sql`
        SELECT p.entered, v.entered AS version FROM operator_provider p JOIN operator_provider_version v
        ON v.provider_id = p.id WHERE p.id = ${wish.id}`)
      const told = async () => [(await get(`${PATH}/${wish.id}`)).body, (await get(`${PATH}/${wish.id}/versions`)).body]
      expect(JSON.stringify([body, await rows(), await told()])).not.toContain(SECRET)

      // As a version before wrote it: still not told, and sealed by the next change.
      const before = JSON.stringify({ ...body.entered, client_secret: SECRET })
      await db.rows(sql`UPDATE operator_provider SET entered = ${before} WHERE id = ${wish.id}`)
      await db.rows(sql`UPDATE operator_provider_version SET entered = ${before} WHERE provider_id = ${wish.id}`)
      expect(JSON.stringify(await told())).not.toContain(SECRET)
      expect((await get(`${PATH}/${wish.id}`)).body.secrets).toEqual({ client_secret: '…WXYZ' })
      await post(`${PATH}/${wish.id}/drain`)
      const [row] = await db.rows<{ entered: string }>(sql`SELECT entered FROM operator_provider WHERE id = ${wish.id}`)
      expect(row?.entered).not.toContain(SECRET)
    })

    test('0343 what is wrong with an entry is told as of the file, field by field, and nothing is stored', async () => {
      const { operator, storingNothing, one } = scene()
      const { post } = await operator()
      const cases: [object, RegExp][] = [
        [{ base_url: 'ftp://x' }, /base_url must be an absolute http or https address/],
        [{ max_concurency: 5 }, /'max_concurency' is not a field that is known here/],
        [{ models: [{ id: 'x', input_usd: 1 }] }, /'models\[0\]\.input_usd' is not a field that is known here/],
        [{ models: [{ id: 'x', max_output_tokens: 5 }] }, /'x' needs input_usd_per_million and output_usd_per_million/],
        [{ models: [model('x'), model('x')] }, /'x' is there twice/],
        [{ timeouts: { connect_ms: 10, total_ms: 5 } }, /timeouts\.connect_ms must not exceed/],
        [{ api_key: 'two words' }, /api_key must be visible ASCII/],
        [BEDROCK, /access_key_id/],
        [{ ...BEDROCK, aws_identity: 'instance' }, /aws_identity cannot be entered here/],
        [{ protocol: 'vertex', api_key: undefined, base_url: undefined, region: 'us-east5' }, /service_account/],
        [{ id: 'Not An Id' }, /'id'/],
      ]
      for (const [more, words] of cases) {
        const { status, body } = await storingNothing(() => post(PATH, entry(one.base_url, more)))
        expect([status, body.error.message]).toEqual([400, expect.stringMatching(words)])
      }
    })

    test('0343 what stands in the file is listed and read-only', async () => {
      const { operator, storingNothing, one } = scene()
      const { post, get, patch, del: remove } = await operator()
      const { data } = (await get(PATH)).body
      expect(data[0]).toMatchObject({ id: 'filed', source: 'file', status: 'active', secrets: { api_key: '…file' } })
      const tries = [
        () => post(PATH, entry(one.base_url, { id: 'filed' })),
        () => patch(`${PATH}/filed`, { version: 1, region: 'eu' }),
        () => post(`${PATH}/filed/drain`),
        () => post(`${PATH}/filed/models`, { version: 1, remove: ['filed-m'] }),
        () => remove(`${PATH}/filed`),
      ]
      for (const attempt of tries) {
        const { status, body } = await storingNothing(attempt)
        expect([status, body.error.code, body.error.message]).toEqual([
          409,
          'conflict',
          expect.stringMatching(/stands in switchyard\.yaml.*read-only/),
        ])
      }
    })

    test('0343 two operators do not overwrite each other; each change is a version with its author', async () => {
      const { operator, storingNothing, one } = scene()
      const [ada, grace] = [await operator(), await operator()]
      const { id } = (await ada.post(PATH, entry(one.base_url))).body
      const first = await ada.patch(`${PATH}/${id}`, { version: 1, region: 'eu' })
      expect([first.status, first.body.version, first.body.settings.region]).toEqual([200, 2, 'eu'])
      for (const sending of [
        { body: { version: 1, region: 'us' } },
        { body: { region: 'us' }, headers: { 'if-match': '"1"' } },
      ]) {
        const { status, body } = await storingNothing(() => grace.send('PATCH', `${PATH}/${id}`, sending))
        expect([status, body.error.code]).toEqual([412, 'version_conflict'])
      }
      const blind = await storingNothing(() => grace.patch(`${PATH}/${id}`, { region: 'us' }))
      expect([blind.status, blind.body.error.message]).toEqual([400, expect.stringMatching(/^'version' is required/)])
      const second = await grace.send('PATCH', `${PATH}/${id}`, {
        body: { api_key: `${SECRET}-2`, max_concurrency: null },
        headers: { 'if-match': '"2"' },
      })
      expect([second.status, second.body.version, second.body.secrets.api_key]).toEqual([200, 3, '…YZ-2'])
      const { data } = (await ada.get(`${PATH}/${id}/versions`)).body
      expect(data.map((one: Record<string, unknown>) => [one.version, one.change, one.fields, one.actor])).toEqual([
        [3, 'changed', ['api_key'], grace.key_id],
        [2, 'changed', ['region'], ada.key_id],
        [1, 'added', ['api_key', 'base_url', 'id', 'models'], ada.key_id],
      ])
      const back = await ada.post(`${PATH}/${id}/restore`, { version: 3, to_version: 1 })
      expect([back.body.version, back.body.settings.region, back.body.secrets.api_key]).toEqual([4, 'global', '…YZ-2'])
    })

    test('0343 changed under calls: a stream ends where it began, the next call goes where the provider is now', async () => {
      const { operator, one, two } = scene()
      const { post, patch } = await operator()
      const stage = await scene().stage()
      const wish = entry(one.base_url)
      await post(PATH, wish)
      const rest = gate()
      one.behave({ pace: (event) => (event > 1 ? rest.promise : undefined) })
      const stream = stage.open(CHAT, { body: stage.bodyOf({ model: `m-${wish.id}`, stream: true }) })
      await one.request(1)
      for (
        let version = 1;
        version <= 3;
        version++ // often, so that no memory of the one before saves it
      )
        await patch(`${PATH}/${wish.id}`, { version, base_url: two.base_url, max_concurrency: 10 + version })
      expect((await stage.chat({ model: `m-${wish.id}` })).status).toBe(200)
      expect([one.requests.length, two.requests.length]).toEqual([1, 1])
      rest.resolve()
      const { status, text } = await stream.heard
      expect([status, text.trimEnd().endsWith('data: [DONE]')]).toEqual([200, true])
    })

    test('0343 a call that waits for a slot while its provider is changed twice is served, and not dropped', async () => {
      const { operator, one } = scene()
      const { post, patch } = await operator()
      const stage = await scene().stage()
      const wish = entry(one.base_url, { max_concurrency: 1 })
      await post(PATH, wish)
      const held = gate()
      one.next({ wait: held.promise })
      const first = stage.openChat({ model: `m-${wish.id}` })
      await one.request(1)
      const waiting = stage.openChat({ model: `m-${wish.id}` })
      const waits = new RegExp(`^switchyard_slots_waiting\\{.*"${wish.id}".*\\} 1$`, 'm')
      await expect.poll(() => scene().metrics.registry.metrics()).toMatch(waits)
      for (const version of [1, 2, 3])
        await patch(`${PATH}/${wish.id}`, { version, timeouts: { connect_ms: 1_000 + version } })
      held.resolve()
      expect([(await first.heard).status, (await waiting.heard).status]).toEqual([200, 200])
    })

    test('0343 drained, it takes no new call and those under way end; resumed, it serves again', async () => {
      const { operator, one, two } = scene()
      const { post, get } = await operator()
      const stage = await scene().stage()
      const [wish, other] = [entry(one.base_url), entry(two.base_url)]
      await post(PATH, { ...wish, models: [model('both'), model('alone')] })
      await post(PATH, { ...other, models: [model('both')] })
      const held = gate()
      one.next({ wait: held.promise })
      const running = stage.openChat({ model: 'both' })
      await one.request(1)
      const { body } = await post(`${PATH}/${wish.id}/drain`)
      expect([body.status, body.version, body.running]).toEqual(['draining', 2, 1])
      expect((await post(`${PATH}/${wish.id}/drain`)).body.version).toBe(2)
      expect((await stage.chat({ model: 'both' })).headers['agent-resolved-provider']).toBe(other.id)
      const alone = await stage.chat({ model: 'alone' })
      expect([alone.status, alone.json.error.message]).toEqual([503, expect.stringMatching(/draining/)])
      held.resolve()
      expect((await running.heard).status).toBe(200)
      expect((await get(`${PATH}/${wish.id}`)).body.running).toBe(0)
      expect(one.requests).toHaveLength(1)
      await post(`${PATH}/${wish.id}/resume`)
      expect((await stage.chat({ model: 'alone' })).status).toBe(200)
    })

    test('0343 removed, it is gone with its secret; not while aliases name it, unless somebody insists', async () => {
      const { operator, storingNothing, one, db } = scene()
      const { post, get, del: remove } = await operator()
      const stage = await scene().stage()
      const wish = entry(one.base_url)
      await post(PATH, wish)
      const targets = [{ provider: wish.id, model: `m-${wish.id}`, weight: 1 }]
      expect((await stage.post('/v2/aliases', { name: 'mine', targets })).status).toBe(200)
      const refused = await storingNothing(() => remove(`${PATH}/${wish.id}`))
      expect([refused.status, refused.body.error.message]).toEqual([409, expect.stringMatching(/1 alias of projects/)])
      expect((await remove(`${PATH}/${wish.id}?force=true`)).body.removed).toBe(true)
      expect((await get(`${PATH}/${wish.id}`)).status).toBe(404)
      expect((await stage.chat({ model: `m-${wish.id}` })).status).toBe(404)
      expect(await db.rows(sql`SELECT id FROM operator_provider WHERE id = ${wish.id}`)).toEqual([])
      const { data } = (await get(`${PATH}/${wish.id}/versions`)).body
      expect(data.map(({ change }: { change: string }) => change)).toEqual(['removed', 'added'])
      expect((await post(PATH, wish)).body.version).toBe(3)
    })

    test('0343 prices are changed model by model', async () => {
      const { operator, one } = scene()
      const { post } = await operator()
      const { id } = (await post(PATH, entry(one.base_url, { models: [model('a'), model('b')] }))).body
      const set = [model('b', { output_usd_per_million: 9 }), model('c')]
      const { body } = await post(`${PATH}/${id}/models`, { version: 1, set, remove: ['a'] })
      const priced = body.settings.models.map((one: { id: string; price: { output: number } }) => [
        one.id,
        one.price.output,
      ])
      expect(priced).toEqual([
        ['b', 9_000_000],
        ['c', 2_000_000],
      ])
      const unknown = await post(`${PATH}/${id}/models`, { version: 2, remove: ['z'] })
      expect([unknown.status, unknown.body.error.message]).toEqual([400, expect.stringMatching(/'z' is none of them/)])
    })

    test('0343 a test says what came back, of what is stored and of what is not', async () => {
      const { operator, one, storingNothing } = scene()
      const { post } = await operator()
      const wish = entry(one.base_url)
      one.behave({ body: { data: [{ id: `m-${wish.id}` }, { id: 'other' }] } })
      const { body } = await post(`${PATH}/test`, wish)
      expect(body).toMatchObject({ outcome: 'listed', models_total: 2, models: [`m-${wish.id}`, 'other'] })
      await post(PATH, wish)
      one.behave({ status: 401, body: {} })
      const refused = (await post(`${PATH}/${wish.id}/test`)).body
      expect([refused.outcome, refused.status]).toEqual(['refused', 401])
      one.behave({ status: 404, body: {} })
      expect((await post(`${PATH}/${wish.id}/test`)).body.outcome).toBe('no_list')
      const nobody = (await post(`${PATH}/test`, entry('http://127.0.0.1:1/v1'))).body
      expect([nobody.outcome, nobody.message]).toEqual(['failed', expect.stringMatching(/ECONNREFUSED/)])
      expect((await post(`${PATH}/filed/test`)).body.outcome).toBe('no_list')
      const wrong = await storingNothing(() => post(`${PATH}/test`, { ...wish, id: 'A' }))
      expect(wrong.status).toBe(400)
    })

    test('R83, 0343 the file is read again: what was added stays; an id that the file has by then stands aside', async () => {
      const { operator, one, two, replaceSettings } = scene()
      const { post, get, del: remove } = await operator()
      const stage = await scene().stage()
      const wish = entry(one.base_url)
      await post(PATH, wish)
      const filed = (more: object[] = []) => settingsFrom({ providers: [fileEntry(one.base_url), ...more] })
      expect(replaceSettings(filed())).toEqual([])
      expect((await stage.chat({ model: `m-${wish.id}` })).status).toBe(200)
      const changes = replaceSettings(filed([{ ...wish, base_url: two.base_url }]))
      expect(changes).toEqual(expect.arrayContaining([`provider '${wish.id}': base_url changed`]))
      await stage.chat({ model: `m-${wish.id}` })
      expect([one.requests.length, two.requests.length]).toEqual([1, 1])
      const { body } = await get(`${PATH}/${wish.id}`)
      expect([body.source, body.set_aside_version]).toEqual(['file', 1])
      expect((await remove(`${PATH}/${wish.id}`)).status).toBe(200)
      expect((await get(`${PATH}/${wish.id}`)).body.set_aside_version).toBeUndefined()
      replaceSettings(filed())
      expect((await get(`${PATH}/${wish.id}`)).status).toBe(404)
    })

    test('0343 every change is on record, once, in the operator’s own log and in nobody else’s', async () => {
      const { operator, one, db } = scene()
      const { post, get, project_id } = await operator()
      const { id } = (await post(PATH, entry(one.base_url))).body
      await post(`${PATH}/${id}/drain`)
      const { data } = (await get('/v2/audit-log?limit=2')).body
      expect(data.map((entry: { action: string; target: string }) => [entry.action, entry.target])).toEqual([
        ['POST /v2/operator/providers/{provider_id}/drain', id],
        ['POST /v2/operator/providers', id],
      ])
      const rows = await db.rows<{ project_id: string }>(sql`SELECT project_id FROM audit_entry WHERE target = ${id}`)
      expect(rows).toEqual([{ project_id }, { project_id }])
    })
  },
  { gateway: false, config: (one) => ({ providers: [fileEntry(one.base_url)] }) },
)

const fileEntry = (base_url: string) => ({
  id: 'filed',
  base_url,
  api_key: 'sk-a-secret-of-the-file',
  models: [model('filed-m')],
})
