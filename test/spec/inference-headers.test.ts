// §10.1, §10.2 over the wire: every Agent-* header on the answers that it belongs to, and on no others; what the QoS
// headers mean; and which hints count.
import { describe, expect, test } from 'vitest'
import { envelope, KEY } from '../support/inference-cases.ts'
import { type Heard, hintsHeader } from '../support/inference-client.ts'
import { CHAT, PRICES, type Stage, withScene } from '../support/inference-scene.ts'
import { nextLooks } from '../support/next-look.ts'
import { deferred } from '../support/tampered-db.ts'

const agentIn = (headers: Record<string, string>) =>
  Object.keys(headers)
    .filter((name) => name.startsWith('agent-'))
    .sort()

const ROUTE = [
  'agent-execution-mode',
  'agent-execution-profile',
  'agent-qos-admission',
  'agent-qos-fallback-used',
  'agent-region',
  'agent-resolved-model',
  'agent-resolved-provider',
  'agent-trace-id',
]
const MONEY = ['agent-charged-micros', 'agent-direct-cost-micros', 'agent-savings-micros']
const all = (...names: (string | string[])[]) => names.flat().sort()

withScene(
  (scene) => {
    describe('which headers', () => {
      const ANSWERS: [string, (stage: Stage) => Promise<Heard>, number, string[], string[]][] = [
        ['a plain answer', (stage) => stage.chat(), 200, all(ROUTE, MONEY), []],
        ['a stream: money behind it', (stage) => stage.chat({ stream: true }), 200, ROUTE, MONEY],
        [
          'a keyed answer',
          (stage) => stage.chat({}, { keyed: KEY }),
          200,
          all(ROUTE, MONEY, 'agent-idempotent-replay'),
          [],
        ],
        [
          'a keyed stream',
          (stage) => stage.chat({ stream: true }, { keyed: KEY }),
          200,
          all(ROUTE, 'agent-idempotent-replay'),
          MONEY,
        ],
        [
          'a replay of a stream: by then it is known what it cost',
          async (stage) => {
            await stage.chat({ stream: true }, { keyed: KEY })
            return stage.chat({ stream: true }, { keyed: KEY })
          },
          200,
          all(ROUTE, MONEY, 'agent-idempotent-replay'),
          [],
        ],
        [
          'embeddings',
          (stage) => stage.ask('/v1/embeddings', { body: { model: stage.model, input: 'a' } }),
          200,
          all(ROUTE, MONEY),
          [],
        ],
        [
          'hints with a target',
          (stage) => stage.chat({}, { headers: hintsHeader({ qos: { target_ttft_ms: 100 } }) }),
          200,
          all(ROUTE, MONEY, 'agent-hints-honored', 'agent-qos-target-met'),
          [],
        ],
        [
          'hints without one',
          (stage) => stage.chat({}, { headers: hintsHeader({ qos: { class: 'background' } }) }),
          200,
          all(ROUTE, MONEY, 'agent-hints-honored'),
          [],
        ],
        [
          'an upstream’s own 400: where it came from, and no money',
          (stage) => {
            stage.one.behave({ status: 400, body: { error: { message: 'no', type: 'invalid_request_error' } } })
            return stage.chat()
          },
          400,
          ROUTE,
          [],
        ],
        [
          'a stream that broke: it cost nothing',
          (stage) => {
            stage.one.behave({ cut: { after: 3, how: 'reset' } })
            return stage.chat({ stream: true })
          },
          200,
          ROUTE,
          MONEY,
        ],
        ['an unknown model', (stage) => stage.chat({ model: 'nowhere' }), 404, ['agent-trace-id'], []],
        [
          'an upstream that failed',
          (stage) => {
            stage.one.behave({ status: 500, body: '' })
            return stage.chat()
          },
          502,
          ['agent-trace-id'],
          [],
        ],
        ['a body that is no JSON', (stage) => stage.ask(CHAT, { body: 'x' }), 400, ['agent-trace-id'], []],
        ['a wrong key', (stage) => stage.ask(CHAT, { body: {}, headers: { authorization: 'Bearer x' } }), 401, [], []],
        ['models', (stage) => stage.ask('/v1/models', { method: 'GET' }), 200, [], []],
      ]

      test.each(ANSWERS)('§10.2 %s', async (_what, ask, status, headers, trailers) => {
        const stage = await scene().stage({ key: 1_000_000 })
        const heard = await ask(stage)
        expect(heard.status).toBe(status)
        expect(agentIn(heard.headers)).toEqual(headers)
        expect(agentIn(heard.trailers)).toEqual(trailers)
        for (const value of Object.values({ ...heard.headers, ...heard.trailers }))
          expect(String(value)).toMatch(/^[\x20-\x7e]*$/)
      })

      test('§10.2 an answer that is streamed has the standing headers too, and says which trailers will come', async () => {
        const { headers } = await (await scene().stage()).chat({ stream: true })
        expect(headers).toMatchObject({
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
          'referrer-policy': 'no-referrer',
          'x-request-id': expect.stringMatching(/^req_/),
          trailer: MONEY.join(', '),
          'transfer-encoding': 'chunked',
        })
      })

      test('T-87 a model named in no alphabet that headers know', async () => {
        const stage = await scene().stage()
        const heard = await stage.chat({ model: '模型-🚀' })
        expect([heard.status, heard.headers['agent-resolved-model']]).toEqual([200, '%E6%A8%A1%E5%9E%8B-%F0%9F%9A%80'])
        expect(heard.headers['agent-resolved-provider']).toBe('open')
        const { body } = await stage.get('/v2/usage')
        expect(body.data[0].resolved_model).toBe('模型-🚀')
      })
    })

    describe('Agent-QoS-*', () => {
      test.each([
        [499, 'false', false],
        [500, 'true', false],
        [499, 'false', true],
        [500, 'true', true],
      ])(
        '§10.2, R41 a first token after 500 ms, with a target of %i ms: met is %s (streamed: %s)',
        async (target_ttft_ms, met, stream) => {
          const stage = await scene().stage()
          const gate = deferred()
          stage.one.next({ wait: gate.promise })
          const call = stage.openChat({ stream }, { headers: hintsHeader({ qos: { target_ttft_ms } }) })
          await stage.one.request(1)
          scene().clock.advance(500)
          gate.resolve()
          expect((await call.heard).headers['agent-qos-target-met']).toBe(met)
          expect((await stage.get('/v2/usage')).body.data[0].ttft_ms).toBe(500)
        },
      )

      test('§10.2 admitted with a free slot, queued after a wait, rejected where too many wait already', async () => {
        const stage = await scene().stage({ key: 1_000_000 })
        const gate = deferred()
        stage.one.behave({ wait: gate.promise })
        const calls = Array.from({ length: 40 }, () => stage.chat({ model: stage.narrow, max_tokens: 1 }))
        const early: Heard[] = []
        for (const call of calls) void call.then((heard) => early.push(heard))
        const nextLook = nextLooks()
        while (early.length < 19) await nextLook() // one runs, twenty may wait
        for (const heard of early) {
          expect(envelope(heard)).toEqual([429, 'rate_limit_error', 'rate_limit_exceeded'])
          expect(heard.headers).toMatchObject({ 'agent-qos-admission': 'rejected', 'retry-after': '1' })
        }
        gate.resolve()
        const heard = await Promise.all(calls)
        const verdicts = heard.map(({ headers }) => headers['agent-qos-admission'])
        const count = (verdict: string) => verdicts.filter((one) => one === verdict).length
        expect([count('admitted'), count('queued'), count('rejected')]).toEqual([1, 20, 19])
        expect((await stage.audit()).events).toHaveLength(21)
      })

      test('§10.2 a fallback is told, and was none where the first choice answered', async () => {
        const stage = await scene().stage()
        stage.one.next({ status: 503, body: '' })
        const used = async () => (await stage.chat({ model: stage.both })).headers['agent-qos-fallback-used']
        expect([await used(), await used()]).toEqual(['true', 'false'])
      })
    })

    describe('hints', () => {
      const INTERACTIVE = { qos: { class: 'interactive' as const } }

      test('§10.1 a reference goes before what stands in the header', async () => {
        const stage = await scene().stage()
        const { body: stored } = await stage.post('/v2/agent-hints', { reuse: { preference: 'avoid' } })
        const headers = { 'agent-hints-ref': stored.id, ...hintsHeader(INTERACTIVE) }
        expect((await stage.chat({}, { headers })).headers['agent-hints-honored']).toBe('reuse')
      })

      test.each(['ah_unknown', 'nonsense', ''])(
        '§10.1 a reference to nothing (%j) is ignored, and the header counts',
        async (ref) => {
          const stage = await scene().stage()
          const headers = { 'agent-hints-ref': ref, ...hintsHeader(INTERACTIVE) }
          const heard = await stage.chat({}, { headers })
          expect(heard.headers['agent-hints-honored']).toBe('qos')
          expect(heard.headers['agent-ignored-fields']).toBe('agent-hints-ref')
        },
      )

      test('T-98 so is one of another project', async () => {
        const [mine, other] = [await scene().stage(), await scene().stage()]
        const { body: foreign } = await other.post('/v2/agent-hints', { reuse: { preference: 'avoid' } })
        const heard = await mine.chat({}, { headers: { 'agent-hints-ref': foreign.id } })
        expect(heard.headers).not.toHaveProperty('agent-hints-honored')
      })

      test.each([
        ['no base64', 'a.b'],
        ['no JSON', Buffer.from('{').toString('base64url')],
        ['an array', Buffer.from('[]').toString('base64url')],
        ['too long', Buffer.from(JSON.stringify({ x: 'x'.repeat(9_000) })).toString('base64url')],
      ])('T-96 hints that are %s are ignored, never fatal', async (_what, header) => {
        const stage = await scene().stage()
        const heard = await stage.chat({}, { headers: { 'agent-hints': header } })
        expect([heard.status, heard.headers['agent-hints-honored']]).toEqual([200, undefined])
        expect(heard.headers['agent-ignored-fields']).toBe('agent-hints')
      })

      test.each([
        [300.5, {}],
        ['300', {}],
        [0, { target_ttft_ms: 60_000 }],
      ])('§10.1, R75 a deadline of %j is ignored and told; what stands beside it counts', async (deadline_ms, more) => {
        const stage = await scene().stage()
        const qos = { class: 'interactive', deadline_ms, ...more }
        const heard = await stage.chat({}, { keyed: KEY, headers: hintsHeader({ qos }) })
        const told = (headers: Record<string, string>) => [
          headers['agent-hints-honored'],
          headers['agent-ignored-fields'],
        ]
        expect([heard.status, ...told(heard.headers)]).toEqual([200, 'qos', 'agent-hints.qos.deadline_ms'])
        const again = await stage.chat({}, { keyed: KEY, headers: hintsHeader({ qos }) })
        expect(told(again.headers)).toEqual(told(heard.headers))
        const { body } = await stage.get(`/v2/traces/${heard.headers['agent-trace-id']}`)
        const inTrace = body.headers.find(({ name }: { name: string }) => name === 'agent-ignored-fields')
        expect(inTrace).toMatchObject({ value: 'agent-hints.qos.deadline_ms', sent_as: 'header' })
      })

      test.each(['base64', 'base64url'] as const)('§10.1 hints in %s are understood, padded too', async (encoding) => {
        const stage = await scene().stage()
        const header = Buffer.from('{"qos":{"class":"interactive","x":"???>>>"} }').toString(encoding)
        const padded = header.padEnd(Math.ceil(header.length / 4) * 4, '=')
        const heard = await stage.chat({ stream: true }, { headers: { 'agent-hints': padded } })
        expect(heard.headers['agent-hints-honored']).toBe('qos')
        expect(heard.headers['agent-ignored-fields']).toBe('agent-hints.qos.x')
      })

      test('R75 what was ignored is told with a refusal too', async () => {
        const stage = await scene().stage()
        const heard = await stage.chat({ model: 'nowhere' }, { headers: hintsHeader({ qos: 7 }) })
        expect([heard.status, heard.headers['agent-ignored-fields']]).toEqual([404, 'agent-hints.qos'])
      })

      test.each([0, -5, '100', 1.5])('T-97 a deadline of %j is none', async (deadline_ms) => {
        const stage = await scene().stage()
        const heard = await stage.chat({}, { headers: hintsHeader({ qos: { deadline_ms } }) })
        expect([heard.status, heard.headers['agent-hints-honored']]).toEqual([200, ''])
      })

      test('T-97 a deadline in a distant future does not pass at once', async () => {
        const stage = await scene().stage()
        const heard = await stage.chat({}, { headers: hintsHeader({ qos: { deadline_ms: 3e9 } }) })
        expect([heard.status, heard.headers['agent-hints-honored']]).toEqual([200, 'qos'])
      })

      test('R46 an unknown class is standard; sections are named in one order', async () => {
        const stage = await scene().stage()
        const odd = await stage.chat({}, { headers: hintsHeader({ qos: { class: 'imperial' } }) })
        expect([odd.status, odd.headers['agent-hints-honored']]).toEqual([200, ''])
        const safety = { retry_safety: 'idempotent_generation_only' }
        const everything = { safety, reuse: { preference: 'require' }, qos: { deadline_ms: 60_000 } }
        const heard = await stage.chat({}, { headers: hintsHeader(everything) })
        expect(heard.headers['agent-hints-honored']).toBe('qos,reuse,safety') // the prompt is the one before
      })
    })
  },
  {
    config: (one) => ({
      providers: [{ id: 'open', base_url: one.base_url, models: [{ id: '模型-🚀', ...PRICES, max_output_tokens: 9 }] }],
    }),
  },
)
