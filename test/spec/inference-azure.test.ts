// 0300, 0301: Azure OpenAI, as an upstream by both of its forms, and as the API that clients come in by, unchanged.
import { AzureOpenAI } from 'openai'
import { expect, test } from 'vitest'
import { azureResource, FILTER_CHUNK, FILTERED } from '../support/azure-server.ts'
import { eventsIn } from '../support/inference-client.ts'
import { MAX_OUTPUT, PRICES, type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'

const VERSION = '2024-10-21'
const KEY = 'az-0123456789abcdef'
const priced = { ...PRICES, max_output_tokens: MAX_OUTPUT }
const classic = { api_key: KEY, api_version: VERSION, deployments: ['prod-4o', 'both'] }
const newer = { api_key: KEY, deployments: ['prod-4o'] }
const messages = [{ role: 'user' as const, content: 'hello' }]

withScene(
  (scene) => {
    const begin = () => scene().stage()

    const azure = ({ key }: Stage, more: object = {}) =>
      new AzureOpenAI({ apiKey: key, endpoint: scene().origin, apiVersion: VERSION, maxRetries: 0, ...more })

    test('0300 by deployment and version: its key, its path, and the client’s bytes', async () => {
      const { one, ask, audit } = await begin()
      one.behave(azureResource(classic))
      const body = '{"model":"az-gpt", "messages":[{"role":"user","content":"hello"}],  "odd":1}'
      const answer = await ask('/v1/chat/completions', { body })
      expect([answer.status, answer.headers['agent-resolved-provider']]).toEqual([200, 'az-classic'])
      const [sent] = one.requests
      expect(sent?.path).toBe(`/openai/deployments/prod-4o/chat/completions?api-version=${VERSION}`)
      expect(String(sent?.bytes)).toBe(body.replace('az-gpt', 'prod-4o'))
      expect((await audit()).spent).toBe(USUAL_COST)
    })

    test('0300 by its newer form, which has responses of its own', async () => {
      const { one, ask, openai } = await begin()
      one.behave(azureResource(newer))
      expect((await ask('/v1/chat/completions', { body: { model: 'az-newer', messages } })).status).toBe(200)
      expect((await openai().responses.create({ model: 'az-newer', input: 'hello' })).output_text).toMatch(/\w/)
      expect(one.requests.map(({ path }) => path)).toEqual(['/openai/v1/chat/completions', '/openai/v1/responses'])
    })

    test('0300 money of a stream: usage is asked for and told, cached tokens at their price', async () => {
      const { one, ask, audit } = await begin()
      one.behave(azureResource(classic, { usage: { input: 100, output: 10, cached: 60 } }))
      await ask('/v1/chat/completions', { body: { model: 'az-gpt', messages, stream: true } })
      expect(one.requests[0]?.body.stream_options).toEqual({ include_usage: true })
      expect(await audit()).toMatchObject({ spent: 40 + 30 + 20, events: [{ tokens_estimated: 0 }] })
    })

    test('0300 what its content filter found goes on, in streams and in refusals; a refusal costs nothing', async () => {
      const { one, ask, audit } = await begin()
      one.behave(
        azureResource(classic, {
          respond(_request, response) {
            response.setHeader('content-type', 'text/event-stream')
            const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' }
            const choice = { index: 0, delta: { content: 'hi' }, content_filter_results: { hate: { filtered: false } } }
            for (const event of [
              FILTER_CHUNK,
              { ...chunk, choices: [choice], usage: null },
              { ...chunk, choices: [], usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } },
            ])
              response.write(`data: ${JSON.stringify(event)}\n\n`)
            response.end('data: [DONE]\n\n')
          },
        }),
      )
      const streamed = await ask('/v1/chat/completions', { body: { model: 'az-gpt', messages, stream: true } })
      const events = eventsIn(streamed)
        .slice(0, -1)
        .map((data) => JSON.parse(data))
      expect(events[0]).toEqual(FILTER_CHUNK)
      expect(events[1]?.choices[0]).toMatchObject({ content_filter_results: { hate: { filtered: false } } })
      expect(events.some(({ usage }) => usage)).toBe(false) // only we had asked for it
      one.behave(azureResource(classic, { status: 400, body: FILTERED }))
      const refused = await ask('/v1/chat/completions', { body: { model: 'az-gpt', messages } })
      expect([refused.status, refused.json]).toEqual([
        400,
        { error: { ...FILTERED.error, type: 'invalid_request_error' } },
      ])
      expect((await audit()).spent).toBe(USUAL_COST)
    })

    test.each([
      [429, { error: { code: '429', message: 'Requests have exceeded the token rate limit.' } }],
      [500, { error: { code: 'InternalServerError', message: 'Backend returned unexpected response.' } }],
      [401, { error: { code: '401', message: `Access denied due to invalid subscription key ${KEY}.` } }],
    ])('R47 a %i of Azure’s: the next target answers, and the key is told to nobody', async (status, body) => {
      const { one, two, ask, get, audit } = await begin()
      one.behave({ status, body })
      two.behave({})
      const answer = await ask('/v1/chat/completions', { body: { model: 'az-both', messages } })
      expect([answer.status, answer.headers['agent-resolved-provider']]).toEqual([200, 'plain'])
      const trace = await get(`/v2/traces/${answer.headers['agent-trace-id']}`)
      expect(JSON.stringify(trace.body)).not.toContain(KEY)
      expect((await audit()).spent).toBe(USUAL_COST)
    })

    test('0301 the official client of Azure, unmodified: whole, streamed, embeddings, responses, models', async () => {
      const stage = await begin()
      const { model, audit } = stage
      const client = azure(stage)
      const whole = await client.chat.completions.create({ model, messages })
      expect(whole.choices[0]?.message.content).toMatch(/\w/)
      let text = ''
      for await (const chunk of await client.chat.completions.create({ model, messages, stream: true }))
        text += chunk.choices[0]?.delta.content ?? ''
      expect(text).toBe(whole.choices[0]?.message.content)
      expect((await client.embeddings.create({ model, input: 'hello' })).data).toHaveLength(1)
      expect((await client.responses.create({ model, input: 'hello' })).output_text).toMatch(/\w/)
      expect((await client.models.list()).data.map(({ id }) => id)).toContain(model)
      expect((await audit()).events).toHaveLength(4)
    })

    test('0301 the deployment is the model or the alias, whatever the body calls it', async () => {
      const stage = await begin()
      const { model, post, one, ask, key } = stage
      await post('/v2/aliases', { name: 'my-deployment', targets: [{ provider: stage.first, model }] })
      const client = azure(stage, { deployment: 'my-deployment' })
      const answered = await client.chat.completions.create({ model: 'ignored', messages }).asResponse()
      expect(answered.headers.get('agent-alias-release')).toMatch(/\w/)
      const headers = { 'api-key': key, authorization: '' }
      const path = `/openai/deployments/${model}/chat/completions?api-version=${VERSION}`
      expect((await ask(path, { body: '{"messages":[{"role":"user","content":"a"}]}', headers })).status).toBe(401)
      one.requests.length = 0
      expect((await ask(path, { body: '{"messages":[{"role":"user","content":"a"}]}' })).status).toBe(200)
      expect(String(one.requests[0]?.bytes)).toBe(`{"model":"${model}","messages":[{"role":"user","content":"a"}]}`)
    })

    test('0301 a used idempotency key replays for its deployment alone', async () => {
      const { model, both, ask, audit } = await begin()
      const keyed = { body: { messages }, headers: { 'agent-idempotency-key': 'once' } }
      const at = (name: string) => `/openai/deployments/${name}/chat/completions`
      const first = await ask(at(model), keyed)
      const again = await ask(at(model), keyed)
      expect([again.headers['agent-idempotent-replay'], again.text]).toEqual(['true', first.text])
      expect((await ask(at(both), keyed)).headers['agent-idempotent-replay']).toBe('false')
      expect((await audit()).spent).toBe(2 * USUAL_COST)
    })

    test('0301 401 without a key, in the words of this form; 404 on what Azure has and we have not', async () => {
      const stage = await begin()
      const answer = await stage.ask(`/openai/deployments/${stage.model}/chat/completions`, {
        body: { messages },
        headers: { authorization: '' },
      })
      expect([answer.status, answer.json.error.code]).toEqual([401, 'invalid_api_key'])
      expect(answer.json.error.message).toContain('api-key')
      const wrong = azure(stage, { apiKey: 'svc_live_wrong' }).chat.completions.create({ model: stage.model, messages })
      await expect(wrong).rejects.toMatchObject({ status: 401 })
      const none = await stage.ask('/openai/assistants?api-version=1', { body: {} })
      expect([none.status, none.json.error.message]).toEqual([404, expect.stringContaining("Azure's API")])
    })

    test('R79, 0300 a project’s own resource: models by its deployments, verified where calls go, and never shown', async () => {
      const { one, post, ask, get, audit } = await begin()
      one.behave(azureResource(newer))
      const own = { provider: 'azure', name: 'ours', secret: KEY, base_url: `${one.origin}/openai/v1/` }
      const lacking = await post('/v2/provider-credentials', own)
      expect([lacking.status, lacking.body.error.message]).toEqual([400, expect.stringMatching(/^'models' must/)])
      const entered = await post('/v2/provider-credentials', { ...own, models: { 'my-4o': 'prod-4o' } })
      expect(entered.body).toMatchObject({ status: 'active', models: { 'my-4o': 'prod-4o' } })
      expect((await post(`/v2/provider-credentials/${entered.body.id}/verify`, {})).body.status).toBe('active')
      expect(one.requests.at(-1)?.path).toBe('/openai/v1/models')
      const answer = await ask('/v1/chat/completions', { body: { model: 'my-4o', messages } })
      expect([answer.status, answer.headers['agent-byok-credential-id']]).toEqual([200, entered.body.id])
      expect(one.requests.at(-1)?.body.model).toBe('prod-4o')
      expect((await get('/v1/models')).body.data.map(({ id }: { id: string }) => id)).toContain('my-4o')
      expect((await audit()).spent).toBe(0)
      one.behave(azureResource({ ...newer, api_key: 'another' }))
      expect((await post(`/v2/provider-credentials/${entered.body.id}/verify`, {})).body.status).toBe('refused')
      expect(JSON.stringify((await get('/v2/provider-credentials')).body)).not.toContain(KEY.slice(4, -4))
      expect(scene().log.join('')).not.toContain(KEY.slice(4, -4))
    })
  },
  {
    config: (one, two) => ({
      providers: [
        {
          id: 'az-classic',
          protocol: 'azure',
          base_url: one.origin,
          api_key: KEY,
          api_version: VERSION,
          models: [
            { id: 'az-gpt', upstream_id: 'prod-4o', ...priced },
            { id: 'az-both', upstream_id: 'both', ...priced },
          ],
        },
        {
          id: 'az-newer',
          protocol: 'azure',
          base_url: `${one.origin}/openai/v1`,
          api_key: KEY,
          models: [{ id: 'az-newer', upstream_id: 'prod-4o', ...priced }],
        },
        { id: 'plain', base_url: two.base_url, api_key: 'sk-two', models: [{ id: 'az-both', ...priced }] },
      ],
    }),
  },
)
