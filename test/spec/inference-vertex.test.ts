// 0300, 0303: Google Vertex. Claude by rawPredict, Gemini by the OpenAI-compatible endpoint, with tokens of a service
// account that are kept, renewed before they end, and by one request at a time.
import { expect, test } from 'vitest'
import { MAX_OUTPUT, PRICES, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { asked, eventsOf, MESSAGES } from '../support/messages-scene.ts'
import { google, SERVICE_ACCOUNT } from '../support/vertex-server.ts'

const CLAUDE = 'claude-sonnet-4-5@20250929'
const REGION = 'europe-west1'
const PROJECT = SERVICE_ACCOUNT.project_id
const priced = { ...PRICES, max_output_tokens: MAX_OUTPUT }
const HOUR_MS = 3_600_000
const secrets = [SERVICE_ACCOUNT.private_key.split('\n')[3] ?? '', 'ya29.token']
const claude = (more: object = {}) => asked({ model: 'vx-claude', ...more })

withScene(
  (scene) => {
    const begin = async () => {
      const stage = await scene().stage()
      // What was lent in the test before has ended.
      scene().clock.advance(2 * HOUR_MS)
      const models = [CLAUDE, 'google/gemini-2.5-flash']
      const server = google({ project: PROJECT, region: REGION, models, now: scene().clock.now })
      stage.one.behave(server.manner)
      return { ...stage, server }
    }
    const pathsOf = (requests: readonly { path: string }[]) => requests.map(({ path }) => path)

    test('0303 a message: its bytes but for what Vertex demands, by a token that is lent', async () => {
      const { one, ask, audit } = await begin()
      const body =
        '{"max_tokens":100, "model":"vx-claude",  "messages":[{"role":"user","content":"hi"}], "stream":false}'
      const answer = await ask(`${MESSAGES}?beta=true`, { body, headers: { 'anthropic-beta': 'a-1' } })
      expect([answer.status, answer.json.type]).toEqual([200, 'message'])
      const [token, sent] = one.requests
      expect(token?.path).toBe('/token')
      expect(sent?.path).toBe(
        `/v1/projects/${PROJECT}/locations/${REGION}/publishers/anthropic/models/${CLAUDE}:rawPredict`,
      )
      expect(String(sent?.bytes)).toBe(
        '{"anthropic_version":"vertex-2023-10-16","max_tokens":100,  "messages":[{"role":"user","content":"hi"}], "stream":false}',
      )
      expect([sent?.headers['anthropic-beta'], sent?.headers['anthropic-version']]).toEqual(['a-1', undefined])
      expect((await audit()).spent).toBe(USUAL_COST)
    })

    test('0303 a stream of messages, chat on Claude, and tokens that are counted', async () => {
      const { one, ask, chat, audit } = await begin()
      const streamed = await ask(MESSAGES, { body: claude({ stream: true }) })
      expect(eventsOf(streamed.text).at(-1)?.event).toBe('message_stop')
      expect(one.requests.at(-1)?.path).toMatch(/:streamRawPredict$/)
      expect((await chat({ model: 'vx-claude' })).json.object).toBe('chat.completion')
      const counted = await ask(`${MESSAGES}/count_tokens`, { body: claude() })
      expect([counted.status, counted.json]).toEqual([200, { input_tokens: 42 }])
      expect(one.requests.at(-1)?.path).toMatch(/\/count-tokens:rawPredict$/)
      expect((await audit()).spent).toBe(2 * USUAL_COST)
    })

    test('0303 Gemini: chat as it is, with usage in streams, and Messages over it', async () => {
      const { one, chat, ask, audit } = await begin()
      expect((await chat({ model: 'gemini-2.5-flash', stream: true })).text).toContain('[DONE]')
      expect(one.requests.at(-1)?.body).toMatchObject({
        model: 'google/gemini-2.5-flash',
        stream_options: { include_usage: true },
      })
      expect((await ask(MESSAGES, { body: asked({ model: 'gemini-2.5-flash' }) })).json.type).toBe('message')
      expect(new Set(pathsOf(one.requests.slice(1)))).toEqual(
        new Set([`/v1/projects/${PROJECT}/locations/${REGION}/endpoints/openapi/chat/completions`]),
      )
      expect((await audit()).spent).toBe(2 * USUAL_COST)
    })

    test('0303 one token for all models and calls; renewed before it ends, by one of many callers', async () => {
      const { ask, chat, server } = await begin()
      await Promise.all([...Array(8)].map((_, n) => chat({ model: n % 2 ? 'vx-claude' : 'gemini-2.5-flash' })))
      expect(server.given()).toBe(1)
      scene().clock.advance(HOUR_MS - 6 * 60_000)
      expect((await ask(MESSAGES, { body: claude() })).status).toBe(200)
      expect(server.given()).toBe(1)
      scene().clock.advance(2 * 60_000) // four minutes are left: it serves, and another is fetched meanwhile
      const answers = await Promise.all([...Array(8)].map(() => ask(MESSAGES, { body: claude() })))
      expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
      await expect.poll(server.given).toBe(2)
      scene().clock.advance(10 * 60_000) // the first has ended
      expect((await ask(MESSAGES, { body: claude() })).status).toBe(200)
      expect(server.given()).toBe(2)
    })

    test('0303 while the token service is away, what there is serves until it ends; then the next target answers', async () => {
      const { ask, server, audit } = await begin()
      await ask(MESSAGES, { body: claude() })
      server.answerTokens({ status: 503, body: {} })
      scene().clock.advance(HOUR_MS - 2 * 60_000)
      expect((await ask(MESSAGES, { body: claude() })).status).toBe(200)
      scene().clock.advance(3 * 60_000)
      const away = await ask(MESSAGES, { body: claude() })
      expect([away.status, away.json.error.message]).toEqual([502, expect.stringContaining('no connection')])
      const answer = await ask(MESSAGES, { body: asked({ model: 'vx-both' }) })
      expect(answer.headers['agent-resolved-provider']).toBe('direct')
      server.answerTokens(undefined)
      expect((await ask(MESSAGES, { body: claude() })).status).toBe(200)
      expect((await audit()).spent).toBe(4 * USUAL_COST)
    })

    test('0303 a token that is refused before its time is not used again', async () => {
      const { ask, server } = await begin()
      await ask(MESSAGES, { body: claude() })
      server.revoke()
      const refused = await ask(MESSAGES, { body: claude() })
      expect([refused.status, refused.text]).toEqual([502, expect.not.stringContaining('ya29')])
      expect((await ask(MESSAGES, { body: claude() })).status).toBe(200)
    })

    test('0303 an account whose key was deleted is refused by Google; nothing of it is told', async () => {
      const { ask, get, server, audit } = await begin()
      server.changeKey()
      const answer = await ask(MESSAGES, { body: claude() })
      expect([answer.status, answer.json.error.message]).toEqual([
        502,
        expect.stringContaining('Invalid JWT Signature'),
      ])
      const trace = JSON.stringify((await get(`/v2/traces/${answer.headers['agent-trace-id']}`)).body)
      for (const secret of secrets) expect(trace + answer.text + scene().log.join('')).not.toContain(secret)
      expect((await audit()).spent).toBe(0)
    })

    test.each([
      [429, 'RESOURCE_EXHAUSTED', 429, 'rate_limit_error'],
      [400, 'INVALID_ARGUMENT', 400, 'invalid_request_error'],
      [404, 'NOT_FOUND', 404, 'not_found_error'],
      [503, 'UNAVAILABLE', 503, 'overloaded_error'],
    ])('0303 %i %s is %i %s, in its words, also where Google puts it into a list', async (status, name, told, type) => {
      const { ask, chat, server, audit } = await begin()
      const error = { code: status, message: 'As Google says it.', status: name }
      server.answer({ status, body: { error } })
      const answer = await ask(MESSAGES, { body: claude() })
      expect([answer.status, answer.json.error]).toEqual([told, { type, message: 'As Google says it.' }])
      server.answer({ status, body: [{ error }] })
      const listed = await chat({ model: 'gemini-2.5-flash' })
      expect(listed.json.error.message).toContain('As Google says it')
      server.answer({ status, body: { type: 'error', error: { type: 'x_error', message: 'As Anthropic says it.' } } })
      expect((await ask(MESSAGES, { body: claude() })).json.error.message).toBe('As Anthropic says it.')
      expect((await audit()).spent).toBe(0)
    })

    test('R79, 0300 an account of a project’s own: checked, sealed, verified, in its region, and never shown', async () => {
      const { one, post, get } = await begin()
      const own = {
        provider: 'vertex',
        name: 'ours',
        service_account: SERVICE_ACCOUNT,
        region: REGION,
        base_url: one.origin,
      }
      const models = { 'my-claude': CLAUDE }
      for (const [changed, field] of [
        [{ service_account: { ...SERVICE_ACCOUNT, token_uri: `${one.origin}/token` } }, 'service_account.token_uri'],
        [{ service_account: { ...SERVICE_ACCOUNT, type: 'external_account' } }, 'service_account.type'],
        [{ service_account: { ...SERVICE_ACCOUNT, private_key: 'no key' } }, 'service_account.private_key'],
        [{ service_account: undefined, secret: '{"service_account":{}}' }, 'secret'],
        [{ service_account: undefined, secret: 'sk-1' }, 'secret'],
        [{ region: 'us-east-1' }, 'region'],
        [{ google_project: 'Not A Project' }, 'google_project'],
        [{ models: undefined }, 'models'],
        [{ base_url: 'https://us-east5-aiplatform.googleapis.com' }, 'region'],
      ] as const) {
        const answer = await scene().storingNothing(() =>
          post('/v2/provider-credentials', { ...own, models, ...changed }),
        )
        expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining(`'${field}'`)])
      }
      const entered = await post('/v2/provider-credentials', { ...own, models })
      expect(entered.body).toMatchObject({ google_project: PROJECT, region: REGION, masked: '0123…4567', models })
      const shown = JSON.stringify([entered.body, (await get('/v2/provider-credentials')).body]) + scene().log.join('')
      for (const secret of secrets) expect(shown).not.toContain(secret)
      expect(pathsOf(one.requests)).toEqual([]) // whatever a customer says, tokens come from Google's own address
    })
  },
  {
    config: (one, two) => ({
      providers: [
        {
          id: 'google',
          protocol: 'vertex',
          region: REGION,
          base_url: one.origin,
          service_account: JSON.stringify({ ...SERVICE_ACCOUNT, token_uri: `${one.origin}/token` }),
          models: [
            { id: 'vx-claude', upstream_id: CLAUDE, ...priced },
            { id: 'vx-both', upstream_id: CLAUDE, ...priced },
            { id: 'gemini-2.5-flash', ...priced },
          ],
        },
        {
          id: 'direct',
          protocol: 'anthropic',
          base_url: two.base_url,
          api_key: 'sk-ant',
          models: [{ id: 'vx-both', ...priced }],
        },
      ],
    }),
  },
)
