// Refusals of generations, as GET /v2/refusals counts them: budget, capacity, deadline, upstream, idempotency.
import { expect, test } from 'vitest'
import { type Heard, hintsHeader } from '../support/inference-client.ts'
import { CHAT, PRICES, type Stage, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'
import type { Behaviour, TestUpstream } from '../support/upstream.ts'

const CLAUDE = { id: 'claude', ...PRICES, max_output_tokens: 100 }
const anthropicToo = (one: TestUpstream) => ({
  providers: [{ id: 'anthropic', protocol: 'anthropic', api_key: 'sk-ant', base_url: one.base_url, models: [CLAUDE] }],
})

withScene(
  (scene) => {
    const totalsOf = async ({ get }: Stage) => {
      const { totals } = (await get('/v2/refusals')).body
      return Object.fromEntries(Object.entries(totals).filter(([, count]) => count !== 0))
    }

    test.each<[string, { key?: number }, (stage: Stage) => Promise<{ status: number }>, number, string]>([
      ['a budget of nothing', { key: 0 }, (stage) => stage.chat(), 429, 'budget'],
      ['no such model', {}, (stage) => stage.chat({ model: 'nobody-has-it' }), 404, 'not_found'],
      ['no model', {}, (stage) => stage.chat({ model: 7 }), 400, 'validation'],
      [
        'an upstream that fails',
        {},
        (stage) => {
          stage.one.behave({ status: 500 })
          return stage.chat()
        },
        502,
        'upstream',
      ],
      [
        'an upstream that limits us',
        {},
        (stage) => {
          stage.one.behave({ status: 429 })
          return stage.chat()
        },
        429,
        'upstream',
      ],
      [
        'a deadline that passes',
        {},
        (stage) => {
          stage.one.behave({ instead: 'silence' })
          return stage.chat({}, { headers: hintsHeader({ qos: { deadline_ms: 30 } }) })
        },
        504,
        'deadline',
      ],
    ])('§7 %s', async (_case, limits, ask, status, kind) => {
      const stage = await scene().stage(limits)
      expect((await ask(stage)).status).toBe(status)
      expect(await totalsOf(stage)).toEqual({ [kind]: 1 })
    })

    test('§11.5 a second request under the same key while the first runs', async () => {
      const stage = await scene().stage()
      const gate = deferred()
      stage.one.behave({ wait: gate.promise })
      const first = stage.openChat({}, { keyed: 'k' })
      await stage.one.until(() => stage.one.requests.length === 1)
      expect((await stage.chat({}, { keyed: 'k' })).status).toBe(409)
      gate.resolve()
      expect((await first.heard).status).toBe(200)
      expect(await totalsOf(stage)).toEqual({ idempotency: 1 })
    })

    /** What the log says about one answer. */
    const toldOf = ({ headers }: Heard) =>
      scene()
        .log.map((line) => JSON.parse(line))
        .filter(({ reqId }) => reqId === headers['x-request-id'])

    test.each<[string, Behaviour, Record<string, string>, number, string | undefined]>([
      ['a status of the upstream', { status: 500, body: 'WHAT IT SAID' }, {}, 502, 'upstream: status 500'],
      ['a credential that is refused', { status: 401 }, {}, 502, 'upstream: status 401'],
      ['a redirect', { status: 302, headers: { location: '/' } }, {}, 502, 'upstream: status 302'],
      [
        'a connection that is cut',
        { instead: 'close' },
        {},
        502,
        'upstream: reset: the connection ended in the middle of the answer',
      ],
      ['a deadline that passes', { instead: 'silence' }, hintsHeader({ qos: { deadline_ms: 30 } }), 504, undefined],
    ])(
      '§10.2 %s is a warning under the request’s id, with its cause',
      async (_case, behaviour, headers, status, cause) => {
        const stage = await scene().stage()
        stage.one.behave(behaviour)
        const heard = await stage.chat({}, { headers })
        expect([heard.status, toldOf(heard)]).toMatchObject([
          status,
          [{ level: 40, route: CHAT, msg: expect.any(String) }],
        ])
        expect(toldOf(heard)[0].cause).toBe(cause)
      },
    )

    test('R47 §10.2 a stream that breaks off is a warning too, though its answer began with 200', async () => {
      const stage = await scene().stage()
      stage.one.behave({ cut: { after: 2, how: 'close' } })
      const heard = await stage.chat({ stream: true })
      expect(heard.status).toBe(200)
      expect(toldOf(heard)).toMatchObject([
        { level: 40, kind: 'upstream_failed', cause: expect.stringMatching(/reset/) },
      ])
    })

    test('§10.2 what an upstream said, and we could not read, is not in the log', async () => {
      const stage = await scene().stage()
      stage.one.behave({ headers: { 'content-type': 'text/event-stream' }, body: 'data: WHAT IT SAID\n\n' })
      const heard = await stage.chat({ model: 'claude', stream: true })
      expect(heard.status).toBe(502)
      expect(toldOf(heard)).toMatchObject([{ cause: 'upstream: reset: SyntaxError' }])
      expect(JSON.stringify(toldOf(heard))).not.toContain('WHAT IT SAID')
    })

    test.each([
      ['/v1/completions', { prompt: 'once' }],
      ['/v1/embeddings', { input: 'a' }],
    ])(
      '§4.11 400 on %s of a model whose provider has no such endpoint, before anything is sent',
      async (path, more) => {
        const stage = await scene().stage()
        const { status, text } = await stage.ask(path, { body: { model: 'claude', ...more } })
        const { error } = JSON.parse(text)
        expect([status, error.type]).toEqual([400, 'invalid_request_error'])
        expect(error.message).toContain("'claude'")
        expect(error.message).toContain("'anthropic'")
        expect(error.message).toContain(path)
        expect(stage.one.requests).toEqual([])
        expect((await stage.ledger()).held).toBe(0)
      },
    )

    test('what was answered is no refusal', async () => {
      const stage = await scene().stage()
      await stage.chat()
      await stage.chat({ stream: true })
      expect(await totalsOf(stage)).toEqual({})
    })
  },
  { config: anthropicToo },
)
