// R73, R79 over the whole path: what happens when a project's own clusters and credentials cannot take a call, who is
// told, and where a credential's secret goes.
import { describe, expect, test } from 'vitest'
import { SECOND_MS } from '../../src/core/clock.ts'
import { sql } from '../../src/storage/db.ts'
import { envelope } from '../support/inference-cases.ts'
import { moneyIn, openCall } from '../support/inference-client.ts'
import { anotherProcess, type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { countStatements } from '../support/tampered-db.ts'

const FEES = { byok_micros: 3, byoc_micros: 4 }
const FALLBACK = { 'agent-execution-mode': 'emergency_fallback', 'agent-qos-fallback-used': 'true' }
const LIVE = { 'agent-execution-mode': 'live', 'agent-qos-fallback-used': 'false' }

interface Line {
  kind: string
  about: { type: string; id: string }
  sentence: string
}

const linesOf = async (stage: Stage, kind: string): Promise<Line[]> =>
  (await stage.get('/v2/attention')).body.data.filter((line: Line) => line.kind === kind)

withScene(
  (scene) => {
    async function clusterOf(stage: Stage, report: object = { models: [{ id: stage.model }] }) {
      const asked = { name: 'atlas', region: 'eu-1', endpoint: stage.two.base_url, orchestrator: 'kserve' }
      const { body } = await stage.post('/v2/byoc/clusters', asked)
      const beat = (told: object) => stage.post(`/v2/byoc/clusters/${body.id}/heartbeat`, { status: 'active', ...told })
      await beat(report)
      return { id: body.id as string, beat }
    }

    async function credentialOf(stage: Stage, more: object = {}): Promise<string> {
      const { status, body } = await stage.post('/v2/provider-credentials', {
        provider: stage.first,
        name: 'mine',
        secret: 'sk-of-the-customer',
        ...more,
      })
      expect(status).toBe(200)
      return body.id
    }

    const statusOf = async (stage: Stage, id: string) => (await stage.get(`/v2/provider-credentials/${id}`)).body.status

    const bound = (stage: Stage, boundary: string) => stage.post('/v2/project/boundary', { boundary })

    describe('own_first', () => {
      test.each([
        ['draining', 'the cluster is draining'],
        ['down', 'the cluster is down'],
        ['silent', 'the cluster has not reported for 45 seconds'],
      ])('R73 a cluster that is %s: a failover, in headers, usage, trace and attention', async (what, reason) => {
        const stage = await scene().stage()
        const { id, beat } = await clusterOf(stage)
        expect((await stage.chat()).headers).toMatchObject({ 'agent-execution-profile': 'byoc_native', ...LIVE })
        if (what === 'silent') scene().clock.advance(46 * SECOND_MS)
        else await beat({ status: what })
        const heard = await stage.chat()
        expect(heard.headers).toMatchObject({ 'agent-execution-profile': 'managed_provider', ...FALLBACK })
        expect(moneyIn(heard)).toBe(USUAL_COST)
        const trace_id = heard.headers['agent-trace-id'] as string
        const { body: trace } = await stage.get(`/v2/traces/${trace_id}`)
        expect(trace.usage.mode).toBe('emergency_fallback')
        const told = Object.fromEntries(trace.headers.map(({ name, value }: Record<string, string>) => [name, value]))
        expect(told).toMatchObject(FALLBACK)
        const [line] = await linesOf(stage, 'own_capacity_left')
        expect(line?.about).toMatchObject({ type: 'byoc_cluster', id })
        expect(line?.sentence).toContain(`A call left atlas`)
        expect(line?.sentence).toContain(reason)
      })

      test('R73 one that fails, or has its breaker open, is told of too; an hour later it is forgotten', async () => {
        const stage = await scene().stage()
        await clusterOf(stage)
        stage.two.behave({ status: 500 })
        for (let n = 0; n < 5; n++) expect((await stage.chat()).headers).toMatchObject(FALLBACK)
        expect((await linesOf(stage, 'own_capacity_left'))[0]?.sentence).toContain('a call failed there: status 500')
        expect((await stage.chat()).headers).toMatchObject(FALLBACK) // not dialled any more
        const [line] = await linesOf(stage, 'own_capacity_left')
        expect(line?.sentence).toContain('6 calls left atlas')
        expect(line?.sentence).toContain('left alone')
        scene().clock.advance(3_600 * SECOND_MS)
        expect(await linesOf(stage, 'own_capacity_left')).toEqual([])
      })

      test('§5.8 another project hears nothing of it', async () => {
        const [stage, other] = [await scene().stage(), await scene().stage()]
        const { beat } = await clusterOf(stage)
        await beat({ status: 'draining' })
        await stage.chat()
        expect(await linesOf(other, 'own_capacity_left')).toEqual([])
      })
    })

    describe('own_only', () => {
      test.each(['draining', 'down'])(
        'R73 a cluster that is %s: 503 with the reason, and nothing leaves',
        async (status) => {
          const stage = await scene().stage()
          const { beat } = await clusterOf(stage)
          await bound(stage, 'own_only')
          await beat({ status, models: [] }) // it has unloaded them: they are its own all the same
          const heard = await stage.chat()
          expect(envelope(heard)).toEqual([503, 'server_error', 'unavailable'])
          expect(heard.json.error.message).toContain(`the cluster is ${status}`)
          expect(heard.json.error.message).toContain('own_only')
          expect(stage.one.requests).toHaveLength(0)
          expect((await stage.audit()).events).toEqual([])
        },
      )

      test('R73 one that fails: 502, and nothing leaves', async () => {
        const stage = await scene().stage()
        await clusterOf(stage)
        await bound(stage, 'own_only')
        stage.two.behave({ status: 500 })
        expect((await stage.chat()).status).toBe(502)
        expect(stage.one.requests).toHaveLength(0)
      })

      test('R73, R52 models that it listed itself are its own, also while it is away, also in another process', async () => {
        const stage = await scene().stage()
        stage.two.behave({ models: [stage.model] })
        const { beat } = await clusterOf(stage, {})
        await bound(stage, 'own_only')
        expect((await stage.chat()).headers['agent-resolved-provider']).toBe('atlas')
        await beat({ status: 'draining' })
        expect((await stage.chat()).status).toBe(503)
        const other = await anotherProcess(scene(), 'another')
        const headers = { authorization: `Bearer ${stage.key}` }
        const ask = () => openCall(other.origin, '/v1/chat/completions', { body: stage.bodyOf(), headers }).heard
        expect((await ask()).status).toBe(503)
        await beat({ status: 'active' })
        stage.two.behave({ status: 500 }) // it cannot be asked, and does not answer
        expect((await ask()).status).toBe(502)
        expect(stage.one.requests).toHaveLength(0)
      })

      test('R73 an alias says otherwise for itself, and can be told to stay again', async () => {
        const stage = await scene().stage()
        const { id, beat } = await clusterOf(stage)
        await bound(stage, 'own_only')
        await beat({ status: 'draining' })
        const targets = [
          { cluster_id: id, model: stage.model },
          { provider: stage.first, model: stage.model, weight: 0 },
        ]
        const { body: alias } = await stage.post('/v2/aliases', { name: 'fast', targets, boundary: 'own_first' })
        expect(alias.boundary).toBe('own_first')
        const fast = () => stage.chat({ model: 'fast' })
        expect((await fast()).headers).toMatchObject({ 'agent-resolved-provider': stage.first, ...FALLBACK })
        const told = (await stage.post('/v2/route-explain', { model: 'fast' })).body
        expect(told).toMatchObject({ candidates: [{ provider: stage.first }], dropped: [{ target: `cluster:${id}` }] })
        expect((await stage.post('/v2/aliases/fast/boundary', { boundary: null })).body).not.toHaveProperty('boundary')
        expect((await fast()).status).toBe(503)
        expect((await stage.chat()).status).toBe(503)
      })
    })

    describe('credentials', () => {
      test('R73 three refusals in a row: `refused`, not routed to, told; each call until then was a failover', async () => {
        const stage = await scene().stage()
        const id = await credentialOf(stage)
        for (let n = 0; n < 3; n++) {
          expect(await statusOf(stage, id)).toBe('active')
          stage.one.next({ status: n === 1 ? 403 : 401, body: '{}' })
          expect((await stage.chat()).headers).toMatchObject({
            'agent-execution-profile': 'managed_provider',
            ...FALLBACK,
          })
        }
        expect(await statusOf(stage, id)).toBe('refused')
        const dialled = stage.one.requests.length
        const fourth = await stage.chat()
        expect(fourth.headers).toMatchObject({ 'agent-execution-profile': 'managed_provider', ...FALLBACK })
        expect(stage.one.requests.length).toBe(dialled + 1)
        expect(await linesOf(stage, 'credential_refused')).toMatchObject([{ about: { id } }])
        const [left] = await linesOf(stage, 'own_capacity_left')
        expect(left?.sentence).toMatch(/4 calls left mine .* refused the credential/)
        stage.one.next({ models: [] })
        expect((await stage.post(`/v2/provider-credentials/${id}/verify`)).body.status).toBe('active')
        expect((await stage.chat()).headers).toMatchObject({ 'agent-execution-profile': 'byok', ...LIVE })
      })

      test('R73 a call that is taken in between ends the row; other failures neither count nor end it', async () => {
        const stage = await scene().stage()
        const id = await credentialOf(stage)
        const refused = async () => {
          stage.one.next({ status: 401, body: '{}' })
          await stage.chat()
        }
        await refused()
        stage.one.next({ status: 429, body: '{}' })
        await stage.chat()
        await refused()
        expect((await stage.chat()).headers['agent-execution-profile']).toBe('byok')
        await refused()
        await refused()
        expect(await statusOf(stage, id)).toBe('active')
        await refused()
        expect(await statusOf(stage, id)).toBe('refused')
      })

      test('R73 refusals are counted over all replicas', async () => {
        const stage = await scene().stage()
        const id = await credentialOf(stage)
        const other = await anotherProcess(scene(), 'replica')
        const headers = { authorization: `Bearer ${stage.key}` }
        stage.one.next({ status: 401, body: '{}' })
        await stage.chat()
        for (let n = 0; n < 2; n++) {
          stage.one.next({ status: 401, body: '{}' })
          await openCall(other.origin, '/v1/chat/completions', { body: stage.bodyOf(), headers }).heard
        }
        expect(await statusOf(stage, id)).toBe('refused')
      })

      test('R73 a call that is taken, with none refused before it, writes nothing about the credential', async () => {
        const stage = await scene().stage()
        await credentialOf(stage)
        await stage.chat()
        const statements = countStatements(scene().tampering)
        const seen = await statements.while(() => stage.chat())
        scene().tampering.rows = undefined
        expect(seen.filter((text) => /UPDATE provider_credential/.test(text))).toEqual([])
      })

      test('R73 own_only: a credential that is refused is 502, then 503; nothing is billed', async () => {
        const stage = await scene().stage()
        await credentialOf(stage)
        await bound(stage, 'own_only')
        stage.one.behave({ status: 401, body: '{}' })
        for (let n = 0; n < 3; n++) expect((await stage.chat()).status).toBe(502)
        const heard = await stage.chat()
        expect(envelope(heard)).toEqual([503, 'server_error', 'unavailable'])
        expect(heard.json.error.message).toContain('refused the credential')
        expect((await stage.audit()).spent).toBe(0)
      })

      test('R73 it is verified at the address, and with the secret, that its calls use', async () => {
        const stage = await scene().stage()
        const [at_operators, at_own] = [
          await credentialOf(stage),
          await credentialOf(stage, { base_url: stage.two.base_url }),
        ]
        for (const [id, upstream] of [
          [at_operators, stage.one],
          [at_own, stage.two],
        ] as const) {
          upstream.requests.length = 0
          const { status, body } = await stage.post(`/v2/provider-credentials/${id}/verify`)
          expect([status, body.status]).toEqual([200, 'active'])
          const { method, path, headers } = await upstream.request(1)
          expect([method, path, headers.authorization]).toEqual(['GET', '/v1/models', 'Bearer sk-of-the-customer'])
        }
      })

      test('R79 400: an operator’s upstream is not used with a made-up secret, for the fee; nothing is stored', async () => {
        const stage = await scene().stage()
        const free = { provider: 'up', name: 'free ride', secret: 'anything' }
        const answer = await scene().storingNothing(() => stage.post('/v2/provider-credentials', free))
        expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request_error'])
        expect(answer.body.error.message).toMatch(/^'base_url' must be given for 'up'/)
        expect((await stage.chat({ model: 'keyless' })).headers['agent-execution-profile']).toBe('managed_provider')
      })

      test('R79 one that was entered while it was allowed reaches the operator’s upstream no more', async () => {
        const stage = await scene().stage()
        const id = await credentialOf(stage)
        await scene().db.rows(sql`UPDATE provider_credential SET provider = 'up' WHERE id = ${id} RETURNING id`)
        const heard = await stage.chat({ model: 'keyless' })
        expect(heard.headers).toMatchObject({ 'agent-execution-profile': 'managed_provider', ...FALLBACK })
        const verify = await stage.post(`/v2/provider-credentials/${id}/verify`)
        expect([verify.status, verify.body.error.message]).toEqual([400, expect.stringContaining("'base_url'")])
      })

      test.each(['constructor', '__proto__', 'typo'])('R79 400 on %s without an address', async (provider) => {
        const stage = await scene().stage()
        const asked = { provider, name: 'x', secret: 'sk-0123456789' }
        const answer = await scene().storingNothing(() => stage.post('/v2/provider-credentials', asked))
        expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining("'base_url'")])
        const own = { base_url: stage.two.base_url, ...asked }
        expect((await stage.post('/v2/provider-credentials', own)).status).toBe(200)
      })
    })

    describe('aliases of the operator', () => {
      test('R83 every project may use them, and its own of the same name wins', async () => {
        const stage = await scene().stage()
        const heard = await stage.chat({ model: 'house' })
        expect(heard.headers).toMatchObject({ 'agent-resolved-provider': 'up', 'agent-resolved-model': 'keyless' })
        const { data } = (await stage.get('/v1/models')).body
        expect(data).toContainEqual(expect.objectContaining({ id: 'house', owned_by: 'alias' }))
        const [shown] = (await stage.get('/v2/gateway')).body.aliases
        expect(shown).toEqual({
          name: 'house',
          release_id: heard.headers['agent-alias-release'],
          targets: [{ provider: 'up', model: 'keyless', weight: 1 }],
        })
        const targets = [{ provider: stage.first, model: stage.model }]
        const { body: own } = await stage.post('/v2/aliases', { name: 'house', targets })
        expect((await stage.chat({ model: 'house' })).headers).toMatchObject({
          'agent-resolved-provider': stage.first,
          'agent-alias-release': own.current_release_id,
        })
        await stage.del('/v2/aliases/house')
        expect((await stage.chat({ model: 'house' })).headers['agent-alias-release']).toBe(shown.release_id)
      })

      test('R83 they are the operator’s: no project changes or deletes them', async () => {
        const stage = await scene().stage()
        const targets = [{ provider: stage.first, model: stage.model }]
        for (const ask of [
          () => stage.del('/v2/aliases/house'),
          () => stage.post('/v2/aliases/house/releases', { targets }),
          () => stage.post('/v2/aliases/house/boundary', { boundary: 'own_only' }),
        ])
          expect((await scene().storingNothing(ask)).status).toBe(404)
      })
    })

    describe('targets of aliases', () => {
      test.each([
        ['an unknown provider', (_stage: Stage) => ({ provider: 'typo', model: 'm' }), 'provider'],
        ['a model that it does not list', (stage: Stage) => ({ provider: stage.first, model: 'nowhere' }), 'model'],
        ['an unknown cluster', () => ({ cluster_id: 'byc_none', model: 'm' }), 'cluster_id'],
        ['an unknown credential', () => ({ credential_id: 'pcr_none', model: 'm' }), 'credential_id'],
      ])('§9.4 400 on %s, with an alias and with a release; nothing is stored', async (_case, target, field) => {
        const stage = await scene().stage()
        await stage.post('/v2/aliases', { name: 'fast', targets: [{ provider: stage.first, model: stage.model }] })
        const targets = [{ provider: stage.first, model: stage.model }, target(stage)]
        for (const [url, body] of [
          ['/v2/aliases', { name: 'other', targets }],
          ['/v2/aliases/fast/releases', { targets }],
        ] as const) {
          const answer = await scene().storingNothing(() => stage.post(url, body))
          expect([answer.status, answer.body.error.message]).toEqual([
            400,
            expect.stringContaining(`'targets[1].${field}'`),
          ])
        }
      })

      test('§9.4 a provider that takes unlisted models may be asked for any', async () => {
        const stage = await scene().stage()
        const targets = [{ provider: 'up', model: 'whatever' }]
        expect((await stage.post('/v2/aliases', { name: 'any', targets })).status).toBe(200)
      })

      test('§9.4 a target that vanished: listed as dropped with its reason, and 503 with it, not 404', async () => {
        const stage = await scene().stage()
        const { id } = await clusterOf(stage)
        await stage.post('/v2/aliases', { name: 'fast', targets: [{ cluster_id: id, model: stage.model }] })
        await stage.del(`/v2/byoc/clusters/${id}`)
        const { body } = await stage.post('/v2/route-explain', { model: 'fast' })
        expect(body).toMatchObject({
          decision: 'none_fit',
          dropped: [{ target: `cluster:${id}`, reason: 'the cluster is not registered any more' }],
        })
        const heard = await stage.chat({ model: 'fast' })
        expect(envelope(heard)).toEqual([503, 'server_error', 'unavailable'])
        expect(heard.json.error.message).toContain('not registered any more')
      })

      test('R83 a target of weight 0 stands by: it gets nothing, until the others cannot take the call', async () => {
        const stage = await scene().stage()
        const targets = [
          { provider: stage.first, model: stage.both },
          { provider: stage.second, model: stage.both, weight: 0 },
        ]
        await stage.post('/v2/aliases', { name: 'fast', targets })
        for (let n = 0; n < 8; n++)
          expect((await stage.chat({ model: 'fast' })).headers['agent-resolved-provider']).toBe(stage.first)
        const { candidates } = (await stage.post('/v2/route-explain', { model: 'fast' })).body
        expect(candidates.map(({ provider }: { provider: string }) => provider)).toEqual([stage.first, stage.second])
        stage.one.behave({ status: 500 })
        expect((await stage.chat({ model: 'fast' })).headers).toMatchObject({
          'agent-resolved-provider': stage.second,
          ...FALLBACK,
        })
      })
    })
  },
  {
    config: (one) => ({
      fees: FEES,
      aliases: [{ name: 'house', targets: [{ provider: 'up', model: 'keyless' }] }],
      providers: [
        {
          id: 'up',
          base_url: one.base_url,
          unlisted_models: true,
          models: [{ id: 'keyless', input_usd_per_million: 1, output_usd_per_million: 2, max_output_tokens: 100 }],
        },
      ],
    }),
    stages: 50,
  },
)
