// R40, R47, R52 over the whole path: each profile as a client meets it, and route-explain, which says the same before.
import { describe, expect, test } from 'vitest'
import { SECOND_MS } from '../../src/core/clock.ts'
import { asked, CASES, envelope } from '../support/inference-cases.ts'
import { hintsHeader, moneyIn } from '../support/inference-client.ts'
import { type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { countStatements } from '../support/tampered-db.ts'
import type { TestUpstream } from '../support/upstream.ts'

const FEES = { byok_micros: 3, byoc_micros: 4 }

/** A cluster of the project's that has reported itself active and serves this model. */
async function clusterOf(stage: Stage, upstream: TestUpstream, more: { orchestrator?: string; report?: object } = {}) {
  const { orchestrator = 'kserve', report = { models: [{ id: 'own-model' }] } } = more
  const asked = { name: 'atlas', region: 'eu-1', endpoint: upstream.base_url, orchestrator }
  const { body } = await stage.post('/v2/byoc/clusters', asked)
  const beat = (told: object) => stage.post(`/v2/byoc/clusters/${body.id}/heartbeat`, { status: 'active', ...told })
  await beat(report)
  return { id: body.id as string, beat }
}

const explain = async (stage: Stage, question: object) => (await stage.post('/v2/route-explain', question)).body

withScene(
  (scene) => {
    describe('own clusters', () => {
      test.each(CASES)(
        '§1 byoc_native: dialled at its endpoint, for the fee, without any credential ($form)',
        async (one) => {
          const stage = await scene().stage({ key: 100 })
          await clusterOf(stage, stage.two)
          const heard = await stage.chat(...asked(one, { model: 'own-model' }, { 'x-session-id': 'mine' }))
          expect(heard.headers).toMatchObject({
            'agent-execution-profile': 'byoc_native',
            'agent-execution-mode': 'live',
            'agent-resolved-provider': 'atlas',
            'agent-resolved-model': 'own-model',
            'agent-region': 'eu-1',
          })
          expect(moneyIn(heard)).toBe(FEES.byoc_micros)
          const { headers, path } = await stage.two.request(1)
          expect(path).toBe('/v1/chat/completions')
          expect(headers).not.toHaveProperty('authorization')
          expect(headers).toMatchObject({ 'x-session-id': 'mine', 'x-request-id': heard.headers['agent-trace-id'] })
          expect(Object.keys(headers).filter((name) => /llm-d|gateway|slo/.test(name))).toEqual([])
          expect((await stage.audit()).spent).toBe(FEES.byoc_micros)
        },
      )

      test.each([
        ['the orchestrator llm-d', { orchestrator: 'llm-d' }],
        [
          'an endpoint picker in its telemetry',
          { report: { models: [{ id: 'own-model' }], epp: { address: 'epp.example:9002', healthy: true } } },
        ],
      ])('§1 byoc_epp by %s: objective, fairness and target in both spellings', async (_by, more) => {
        const stage = await scene().stage()
        await clusterOf(stage, stage.two, more)
        const hints = hintsHeader({ qos: { class: 'interactive', target_ttft_ms: 300 } })
        const heard = await stage.chat({ model: 'own-model' }, { headers: hints })
        expect(heard.headers['agent-execution-profile']).toBe('byoc_epp')
        const { headers } = await stage.two.request(1)
        expect(headers).toMatchObject({
          'x-llm-d-inference-objective': 'interactive',
          'x-gateway-inference-objective': 'interactive',
          'x-llm-d-slo-ttft-ms': '300',
          'x-slo-ttft-ms': '300',
        })
        expect(headers['x-llm-d-inference-fairness-id']).toMatch(/^[0-9a-f]{16}$/)
        expect(headers['x-gateway-inference-fairness-id']).toBe(headers['x-llm-d-inference-fairness-id'])
      })

      test('R52 one that reports no models is asked for its list, and those serve', async () => {
        const stage = await scene().stage()
        stage.two.behave({ models: ['listed/by-itself'] })
        await clusterOf(stage, stage.two, { report: {} })
        expect((await stage.chat({ model: 'listed/by-itself' })).headers['agent-resolved-provider']).toBe('atlas')
        expect(stage.two.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
          'GET /v1/models',
          'POST /v1/chat/completions',
        ])
        expect((await stage.get('/v1/models')).body.data).toContainEqual(
          expect.objectContaining({ id: 'listed/by-itself', owned_by: 'atlas' }),
        )
      })

      test.each(['draining', 'down'])('R40 one that is %s is not dialled: 503, with the reason', async (status) => {
        const stage = await scene().stage()
        const { beat } = await clusterOf(stage, stage.two)
        await beat({ status })
        const heard = await stage.chat({ model: 'own-model' })
        expect(envelope(heard)).toEqual([503, 'server_error', 'unavailable'])
        expect(heard.json.error.message).toContain(`the cluster is ${status}`)
        expect(heard.headers['retry-after']).toBeUndefined() // nobody knows until when
        expect(stage.two.requests).toHaveLength(0)
      })

      test('§10.2 one that is left alone is 503 with the time after which it will be tried', async () => {
        const stage = await scene().stage()
        stage.one.behave({ status: 500 })
        for (let n = 0; n < 5; n++) expect((await stage.chat()).status).toBe(502)
        scene().clock.advance(9_500)
        const heard = await stage.chat()
        expect([heard.status, heard.headers['retry-after']]).toEqual([503, '21'])
      })

      test('R40 one that fell silent gives way to what else serves the model, and is gone after 90 s', async () => {
        const stage = await scene().stage()
        await clusterOf(stage, stage.two, { report: { models: [{ id: stage.model }] } })
        const provider = async () => (await stage.chat()).headers['agent-resolved-provider']
        expect(await provider()).toBe('atlas')
        scene().clock.advance(46 * SECOND_MS)
        expect(await provider()).toBe(stage.first)
        scene().clock.advance(45 * SECOND_MS)
        await scene().housekeep('sweep silent clusters')
        const { candidates, dropped } = await explain(stage, { model: stage.model })
        expect(candidates.map(({ provider }: { provider: string }) => provider)).toEqual([stage.first])
        expect(dropped).toMatchObject([{ reason: 'the cluster is down' }])
      })

      test('R47 one that fails is followed by a managed provider, at its price', async () => {
        const stage = await scene().stage()
        await clusterOf(stage, stage.two, { report: { models: [{ id: stage.model }] } })
        stage.two.behave({ instead: 'reset' })
        const heard = await stage.chat()
        expect(heard.headers).toMatchObject({
          'agent-execution-profile': 'managed_provider',
          'agent-execution-mode': 'emergency_fallback',
          'agent-resolved-provider': stage.first,
        })
        expect(moneyIn(heard)).toBe(USUAL_COST)
        const [event] = (await stage.audit()).events
        expect(event?.attempts.map(({ kind, failure }) => [kind, failure])).toEqual([
          ['first', 'reset'],
          ['provider_failover', undefined],
        ])
      })

      test('T-87 a session of any name goes along in a form that headers can hold', async () => {
        const stage = await scene().stage()
        await clusterOf(stage, stage.two)
        for (const prompt_cache_key of ['Sitzung 東京', 'a\r\nx-evil: 1', 'nul\0nul'])
          expect((await stage.chat({ model: 'own-model', prompt_cache_key })).status).toBe(200)
        for (const { headers } of stage.two.requests) {
          expect(headers['x-session-id'] ?? 'none').toMatch(/^[!-~]+$/)
          expect(headers).not.toHaveProperty('x-evil')
        }
        await stage.audit()
      })

      test('R12 an endpoint that must never be dialled is not, whatever the project says', async () => {
        const stage = await scene().stage()
        const asked = { name: 'evil', region: 'x', endpoint: 'http://169.254.169.254/v1', orchestrator: 'none' }
        const { body } = await stage.post('/v2/byoc/clusters', asked)
        const report = { status: 'active', models: [{ id: 'own-model' }] }
        await stage.post(`/v2/byoc/clusters/${body.id}/heartbeat`, report)
        expect(envelope(await stage.chat({ model: 'own-model' }))).toEqual([502, 'server_error', 'upstream_error'])
      })
    })

    describe('affinity', () => {
      /** Which of the two clusters each of these calls went to. */
      async function placesOf(stage: Stage, calls: (object | undefined)[]): Promise<string[]> {
        const places: string[] = []
        for (const headers of calls) {
          const before = stage.one.requests.length
          await stage.chat({ model: 'own-model' }, { headers: { ...headers } })
          places.push(stage.one.requests.length > before ? 'one' : 'two')
        }
        return places
      }

      test('§1 a conversation stays where it began, though another cluster has less to do', async () => {
        const stage = await scene().stage()
        await clusterOf(stage, stage.one)
        const first = await placesOf(stage, [{ 'x-session-id': 'talk' }])
        await clusterOf(stage, stage.two)
        expect(await placesOf(stage, Array(4).fill({ 'x-session-id': 'talk' }))).toEqual(Array(4).fill(first[0]))
        expect(await placesOf(stage, [undefined])).toEqual(first) // R84: the prompt is found without a session, too
        const avoiding = { 'x-session-id': 'talk', ...hintsHeader({ reuse: { preference: 'avoid' } }) }
        expect([await placesOf(stage, [avoiding]), first]).toEqual([['two'], ['one']])
      })

      test('§1 but not where it cannot go any more', async () => {
        const stage = await scene().stage()
        const first = await clusterOf(stage, stage.one)
        await placesOf(stage, [{ 'x-session-id': 'talk' }])
        await clusterOf(stage, stage.two)
        await first.beat({ status: 'draining' })
        expect(await placesOf(stage, [{ 'x-session-id': 'talk' }])).toEqual(['two'])
      })
    })

    describe('own credentials', () => {
      test.each(CASES)('§1 byok: with the project’s own key, for the fee, and named ($form)', async (one) => {
        const stage = await scene().stage({ key: 100 })
        const entered = { provider: stage.first, name: 'mine', secret: 'sk-of-the-customer' }
        const { body: credential } = await stage.post('/v2/provider-credentials', entered)
        const heard = await stage.chat(...asked(one))
        expect(heard.headers).toMatchObject({
          'agent-execution-profile': 'byok',
          'agent-byok-credential-id': credential.id,
          'agent-resolved-provider': stage.first,
        })
        expect(moneyIn(heard)).toBe(FEES.byok_micros)
        const told = { ...heard.headers, ...heard.trailers }
        expect([told['agent-direct-cost-micros'], told['agent-savings-micros']]).toEqual(['3', '0'])
        expect((await stage.one.request(1)).headers.authorization).toBe('Bearer sk-of-the-customer')
        expect((await stage.audit()).spent).toBe(FEES.byok_micros)
        await stage.del(`/v2/provider-credentials/${credential.id}`)
        expect((await stage.chat()).headers['agent-execution-profile']).not.toBe('byok')
      })

      test('R40 a key that its provider refuses is followed by the managed one', async () => {
        const stage = await scene().stage()
        await stage.post('/v2/provider-credentials', { provider: stage.first, name: 'old', secret: 'sk-revoked' })
        stage.one.next({ status: 401, body: '{}' })
        const heard = await stage.chat()
        expect(heard.headers).toMatchObject({
          'agent-execution-profile': 'managed_provider',
          'agent-execution-mode': 'emergency_fallback',
        })
        expect(heard.headers).not.toHaveProperty('agent-byok-credential-id')
      })
    })

    describe('subscriptions', () => {
      test('§10.2 the discount is off the input within the allowance, and told; then, with overage, the list price', async () => {
        const stage = await scene().stage({ key: 100_000 })
        const plan = {
          plan: 'pro',
          provider: stage.first,
          input_discount_pct: 40,
          allowance_tokens: 15,
          overage_enabled: true,
        }
        const { body: subscription } = await stage.subscribe(plan)
        const first = await stage.chat() // 11 tokens in: 11 − 4 + 14
        expect(first.headers).toMatchObject({
          'agent-execution-profile': 'subscription',
          'agent-subscription-id': subscription.id,
          'agent-subscription-discount-pct': '40',
          'agent-charged-micros': '21',
          'agent-direct-cost-micros': '25',
          'agent-savings-micros': '4',
        })
        const second = await stage.chat() // 4 of 11 are still covered: 1.6 off, of which a whole micro is given
        expect(second.headers).toMatchObject({
          'agent-execution-profile': 'subscription',
          'agent-charged-micros': '24',
        })
        const third = await stage.chat()
        expect(third.headers).toMatchObject({
          'agent-execution-profile': 'managed_provider',
          'agent-charged-micros': '25',
        })
        expect(third.headers).not.toHaveProperty('agent-subscription-id')
        expect((await stage.audit()).spent).toBe(70)
        expect((await stage.get(`/v2/subscriptions/${subscription.id}`)).body.used_tokens).toBe(22)
      })
    })

    describe('aliases', () => {
      const release = (stage: Stage, ...targets: object[]) => stage.post('/v2/aliases', { name: 'fast', targets })

      test('§9.4 the release that resolved it is named, and moves with the pointer', async () => {
        const stage = await scene().stage()
        const { body } = await release(stage, { provider: stage.first, model: stage.both })
        const heard = await stage.chat({ model: 'fast' })
        const first = heard.headers['agent-alias-release']
        expect(first).toMatch(/^alr_/)
        expect(JSON.stringify(body)).toContain(first)
        expect(heard.headers).toMatchObject({
          'agent-resolved-provider': stage.first,
          'agent-resolved-model': stage.both,
        })
        const targets = [{ provider: stage.second, model: stage.both }]
        const { body: next } = await stage.post('/v2/aliases/fast/releases', { targets })
        expect((await stage.chat({ model: 'fast' })).headers['agent-alias-release']).toBe(first)
        await stage.post(`/v2/alias-releases/${next.id}/activate`)
        expect((await stage.chat({ model: 'fast' })).headers).toMatchObject({
          'agent-alias-release': next.id,
          'agent-resolved-provider': stage.second,
        })
        const { body: usage } = await stage.get('/v2/usage')
        expect(usage.data.map((event: { alias_release_id: string }) => event.alias_release_id)).toEqual([
          next.id,
          first,
          first,
        ])
        expect(usage.data[0]).toMatchObject({ requested_model: 'fast', resolved_model: stage.both })
        expect((await stage.chat()).headers).not.toHaveProperty('agent-alias-release')
      })

      test('§9.4 a trace id tells where its request went: the same pick again', async () => {
        const stage = await scene().stage()
        await release(
          stage,
          { provider: stage.first, model: stage.both, weight: 1 },
          { provider: stage.second, model: stage.both, weight: 1 },
        )
        const seen = new Set<string>()
        for (let n = 0; n < 12; n++) {
          const { headers } = await stage.chat({ model: 'fast' })
          const { candidates } = await explain(stage, { model: 'fast', trace_id: headers['agent-trace-id'] })
          expect(candidates[0].provider).toBe(headers['agent-resolved-provider'])
          seen.add(candidates[0].provider)
        }
        expect(seen.size).toBe(2)
      })

      test('§9.4 aliases, and clusters’ models, are listed with the rest', async () => {
        const stage = await scene().stage()
        await release(stage, { provider: stage.first, model: stage.model })
        await clusterOf(stage, stage.two)
        const { data } = (await stage.get('/v1/models')).body
        const owners = Object.fromEntries(data.map(({ id, owned_by }: Record<string, string>) => [id, owned_by]))
        expect(owners).toMatchObject({ fast: 'alias', 'own-model': 'atlas', [stage.model]: stage.first })
      })
    })

    describe('regions', () => {
      test('§10.2 the project’s policy decides before anything is dialled', async () => {
        const stage = await scene().stage()
        await stage.post('/v2/project/regions', { allowed_regions: ['eu'] })
        expect((await stage.chat({ model: stage.both })).headers).toMatchObject({
          'agent-region': 'eu',
          'agent-resolved-provider': stage.second,
          'agent-execution-mode': 'live',
        })
        const refused = await stage.chat()
        expect(envelope(refused)).toEqual([403, 'insufficient_scope', 'insufficient_scope'])
        expect(refused.headers['x-should-retry']).toBe('false')
        expect(refused.json.error.message).toContain("does not allow region 'us'")
        expect((await stage.audit()).events).toHaveLength(1)
        expect(stage.one.requests).toHaveLength(0)
      })
    })

    test('R40 what is known of a project’s routes is read once, and again after a change', async () => {
      const stage = await scene().stage()
      await stage.chat()
      const statements = countStatements(scene().tampering)
      const reads = async () =>
        (await statements.while(() => stage.chat())).filter((text) => /FROM (byoc_cluster|alias_release)/.test(text))
          .length
      expect(await reads()).toBe(0)
      await clusterOf(stage, stage.two, { report: { models: [{ id: stage.model }] } })
      expect(await reads()).toBeGreaterThan(0)
      expect(await reads()).toBe(0)
      expect((await stage.chat()).headers['agent-resolved-provider']).toBe('atlas')
      scene().tampering.rows = undefined
    })

    describe('route-explain', () => {
      test('R40 says what then happens, with the reason each candidate was dropped; and calls and stores nothing', async () => {
        const stage = await scene().stage()
        await clusterOf(stage, stage.two, { report: { models: [{ id: stage.both }] } })
        await stage.post('/v2/project/regions', { allowed_regions: ['eu', 'eu-1'] })
        const before = stage.two.requests.length
        const told = await scene().storingNothing(() => stage.post('/v2/route-explain', { model: stage.both }))
        expect(told.body).toMatchObject({
          object: 'route_explanation',
          decision: 'route',
          candidates: [
            { profile: 'byoc_native', provider: 'atlas', model: stage.both, region: 'eu-1' },
            { profile: 'managed_provider', provider: stage.second, region: 'eu' },
          ],
          dropped: [{ target: `provider:${stage.first}`, reason: "the project does not allow region 'us'" }],
        })
        expect([stage.one.requests.length, stage.two.requests.length]).toEqual([0, before])
        expect((await stage.chat({ model: stage.both })).headers['agent-resolved-provider']).toBe('atlas')
      })

      test('R40 an unknown model is 404 there too, and one that nobody can take is explained', async () => {
        const stage = await scene().stage()
        expect((await stage.post('/v2/route-explain', { model: 'nowhere' })).status).toBe(404)
        await stage.post('/v2/project/regions', { allowed_regions: ['eu'] })
        const { status, body } = await stage.post('/v2/route-explain', { model: stage.model })
        expect([status, body.decision, body.candidates]).toEqual([200, 'none_fit', []])
      })
    })
  },
  { config: () => ({ fees: FEES }), stages: 50 },
)
