// §1: the official client, unmodified, against the real server: over the placeholder, and over a live upstream.
import type OpenAI from 'openai'
import {
  APIConnectionError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai'
import { describe, expect, test } from 'vitest'
import { eventsIn, hintsHeader } from '../support/inference-client.ts'
import { type Scene, type Stage, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'

const messages = [{ role: 'user' as const, content: 'hello' }]
const tools = [
  {
    type: 'function' as const,
    function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
]

/** Every name that the protocol has for what these calls answer; `has_more` is of our lists (R10). */
const PROTOCOL = [
  'id object created model choices usage index message delta finish_reason logprobs text role content refusal',
  'tool_calls function name arguments type data embedding owned_by has_more',
  'prompt_tokens completion_tokens total_tokens prompt_tokens_details cached_tokens',
].flatMap((names) => names.split(' '))

/** What must hold wherever the answer comes from. */
function anyUpstream(scene: () => Scene): void {
  async function begin(): Promise<Stage & { client: OpenAI }> {
    const stage = await scene().stage()
    return { ...stage, client: stage.openai() }
  }

  test('§8.2 models: the list iterates, sorted by code point, and each can be retrieved, slashes and all', async () => {
    const { client, post, model } = await begin()
    const { id: cluster_id } = (await post('/v2/byoc/clusters', { name: 'atlas', region: 'eu' })).body
    await post('/v2/aliases', { name: 'team/a-fast_one', targets: [{ cluster_id, model }] })
    const ids: string[] = []
    for await (const listed of await client.models.list()) ids.push(listed.id)
    expect(ids).toContain('team/a-fast_one')
    expect(ids).toEqual([...ids].sort((a, b) => (a < b ? -1 : 1)))
    for (const id of ids.slice(0, 3).concat('team/a-fast_one')) {
      const retrieved = await client.models.retrieve(id)
      expect(retrieved).toEqual({
        id,
        object: 'model',
        created: expect.any(Number),
        owned_by: expect.any(String),
      })
    }
    await expect(client.models.retrieve('no/such')).rejects.toThrow(NotFoundError)
  })

  test('§1 chat: a whole answer, with its usage', async () => {
    const { client, model } = await begin()
    const answer = await client.chat.completions.create({ model, messages })
    expect(answer).toMatchObject({ object: 'chat.completion', model, created: expect.any(Number) })
    expect(answer.choices[0]).toMatchObject({ index: 0, finish_reason: 'stop', message: { role: 'assistant' } })
    expect(answer.choices[0]?.message.content).toMatch(/\w/)
    expect(answer.usage).toMatchObject({ prompt_tokens: expect.any(Number), completion_tokens: expect.any(Number) })
  })

  test('§1 stream: its pieces are the text, and no usage comes that was not asked for', async () => {
    const { client, model } = await begin()
    const whole = await client.chat.completions.create({ model, messages })
    let text = ''
    const ids = new Set<string>()
    for await (const chunk of await client.chat.completions.create({ model, messages, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
      ids.add(chunk.id)
      expect(chunk.usage ?? null).toBeNull()
      expect(chunk.choices).toHaveLength(1)
    }
    expect([text, ids.size]).toEqual([whole.choices[0]?.message.content, 1])
  })

  test('§1 stream with usage: the last chunk has it, and no choices', async () => {
    const { client, model } = await begin()
    const chunks = []
    const asked = { model, messages, stream: true, stream_options: { include_usage: true } } as const
    for await (const chunk of await client.chat.completions.create(asked)) chunks.push(chunk)
    const last = chunks.pop()
    expect(last).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) } })
    for (const chunk of chunks) expect(chunk.usage ?? null).toBeNull()
  })

  test('§1 tools: a call with JSON arguments; streamed, they assemble to the same', async () => {
    const { client, model, one } = await begin()
    one.behave({ tool_calls: [{ name: 'weather', arguments: '{"city":"Zürich"}' }] })
    const asked = { model, messages, tools, tool_choice: 'required' as const }
    const whole = await client.chat.completions.create(asked)
    const [call] = whole.choices[0]?.message.tool_calls ?? []
    expect([whole.choices[0]?.finish_reason, whole.choices[0]?.message.content]).toEqual(['tool_calls', null])
    if (call?.type !== 'function') throw new Error('no function was called')
    expect(call.function.name).toBe('weather')
    expect(JSON.parse(call.function.arguments)).toBeTypeOf('object')
    const final = await client.chat.completions.stream(asked).finalChatCompletion()
    expect(final.choices[0]?.message.tool_calls).toMatchObject([{ function: call.function }])
  })

  test('§1 embeddings: one vector for each input, in order', async () => {
    const { client, model } = await begin()
    const { data, usage } = await client.embeddings.create({ model, input: ['a', 'b'], encoding_format: 'float' })
    expect(data.map(({ index, embedding }) => [index, embedding.length > 0])).toEqual([
      [0, true],
      [1, true],
    ])
    expect(usage.prompt_tokens).toBeGreaterThan(0)
  })

  test('§1 completions: whole and streamed', async () => {
    const { client, model } = await begin()
    const whole = await client.completions.create({ model, prompt: 'once' })
    let text = ''
    for await (const chunk of await client.completions.create({ model, prompt: 'once', stream: true }))
      text += chunk.choices[0]?.text ?? ''
    expect([text.length > 0, text]).toEqual([true, whole.choices[0]?.text])
  })

  test('§10.2 withResponse() shows the headers', async () => {
    const { client, model } = await begin()
    const { response, request_id } = await client.chat.completions.create({ model, messages }).withResponse()
    expect(response.headers.get('agent-trace-id')).toMatch(/^trc_/)
    expect(response.headers.get('agent-charged-micros')).toMatch(/^\d+$/)
    expect(request_id).toMatch(/^req_/)
  })

  test('§7 a wrong key is an AuthenticationError, a bad body a BadRequestError', async () => {
    const { openai, model, client } = await begin()
    const other = openai({ apiKey: 'svc_live_nonsense' })
    const refused = other.chat.completions.create({ model, messages })
    await expect(refused).rejects.toMatchObject({ constructor: AuthenticationError, code: 'invalid_api_key' })
    const empty = client.chat.completions.create({ model, messages: [] })
    await expect(empty).rejects.toMatchObject({ constructor: BadRequestError, type: 'invalid_request_error' })
  })
}

describe('over the placeholder', () => {
  withScene(
    (scene) => {
      anyUpstream(scene)

      test('R53 it answers for any name, says that it is the placeholder, and costs nothing', async () => {
        const stage = await scene().stage({ key: 1_000 })
        const { response } = await stage
          .openai()
          .chat.completions.create({ model: 'never/heard-of', messages })
          .withResponse()
        expect(Object.fromEntries(response.headers)).toMatchObject({
          'agent-execution-mode': 'placeholder',
          'agent-charged-micros': '0',
          'agent-direct-cost-micros': '0',
          'agent-savings-micros': '0',
        })
        expect((await stage.audit()).events).toMatchObject([{ status: 'completed', mode: 'placeholder' }])
      })

      test('§9.1 nothing but the protocol’s own fields is in any body', async () => {
        const stage = await scene().stage()
        const ask = (path: string, more: object) => stage.ask(path, { body: { model: 'm', ...more } })
        const bodies = [
          await ask('/v1/chat/completions', { messages, tools, tool_choice: 'required' }),
          await ask('/v1/chat/completions', { messages, stream: true, stream_options: { include_usage: true } }),
          await ask('/v1/completions', { prompt: 'a' }),
          await ask('/v1/completions', { prompt: 'a', stream: true }),
          await ask('/v1/embeddings', { input: 'a' }),
          await stage.ask('/v1/models', { method: 'GET' }),
        ].flatMap((heard) =>
          heard.json
            ? [heard.json]
            : eventsIn(heard)
                .filter((data) => data !== '[DONE]')
                .map((data) => JSON.parse(data)),
        )
        const names = new Set<string>()
        const walk = (value: unknown): void => {
          if (typeof value !== 'object' || value === null) return
          for (const [name, inner] of Object.entries(value)) {
            if (!Array.isArray(value)) names.add(name)
            walk(inner)
          }
        }
        bodies.forEach(walk)
        for (const name of names) expect(PROTOCOL, name).toContain(name)
      })

      test('R53 the same question has the same answer', async () => {
        const { openai, model } = await scene().stage()
        const say = async () => (await openai().chat.completions.create({ model, messages })).choices
        expect(await say()).toEqual(await say())
      })

      test('R53 the models are those of the price book', async () => {
        const { openai } = await scene().stage()
        const { data } = await openai().models.list()
        expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(['gpt-4o-mini', 'claude-sonnet-4-6']))
      })
    },
    { gateway: false },
  )
})

describe('over a live upstream', () => {
  withScene((scene) => {
    anyUpstream(scene)

    /** A client that retries as it is shipped, and how often it did. */
    function counting(stage: Stage) {
      const asked: number[] = []
      const fetching: typeof fetch = async (...request) => {
        const response = await fetch(...request)
        asked.push(response.status)
        return response
      }
      return { client: stage.openai({ maxRetries: 2, fetch: fetching }), asked }
    }

    test('§7 an unknown model is a NotFoundError', async () => {
      const { openai } = await scene().stage()
      const asked = openai().chat.completions.create({ model: 'gpt-99', messages })
      await expect(asked).rejects.toThrow(NotFoundError)
    })

    test('R3 a key without the scope is a PermissionDeniedError', async () => {
      const { openai, keyWith, model } = await scene().stage()
      const reader = openai({ apiKey: await keyWith('read') })
      await expect(reader.chat.completions.create({ model, messages })).rejects.toThrow(PermissionDeniedError)
      expect((await reader.models.list()).data.length).toBeGreaterThan(0)
    })

    test('R45, R48 a budget that is used up is a RateLimitError, and is not tried again', async () => {
      const stage = await scene().stage({ key: 10 })
      const { client, asked } = counting(stage)
      const refused = await client.chat.completions
        .create({ model: stage.model, messages, max_tokens: 100 })
        .catch((error) => error)
      expect(refused).toBeInstanceOf(RateLimitError)
      expect(refused).toMatchObject({ status: 429, code: 'quota_exceeded', type: 'quota_exceeded' })
      expect([refused.headers.get('x-should-retry'), refused.headers.get('retry-after')]).toEqual(['false', null])
      expect(asked).toEqual([429])
    })

    test('R45 a deadline that has passed is not tried again', async () => {
      const stage = await scene().stage()
      stage.one.behave({ wait: new Promise(() => {}) })
      const { client, asked } = counting(stage)
      const headers = hintsHeader({ qos: { deadline_ms: 50 } })
      const late = client.chat.completions.create({ model: stage.model, messages }, { headers })
      await expect(late).rejects.toMatchObject({ constructor: InternalServerError, status: 504 })
      expect(asked).toEqual([504])
    })

    test('§11.5 a key in use is a ConflictError; a retry after it is the replay', async () => {
      const { openai, model, one } = await scene().stage()
      const gate = deferred()
      one.next({ wait: gate.promise })
      const options = { headers: { 'agent-idempotency-key': 'a' } }
      const first = openai().chat.completions.create({ model, messages }, options)
      await one.request(1)
      await expect(openai().chat.completions.create({ model, messages }, options)).rejects.toThrow(ConflictError)
      gate.resolve()
      const answered = await first
      const again = await openai().chat.completions.create({ model, messages }, options).withResponse()
      expect(again.response.headers.get('agent-idempotent-replay')).toBe('true')
      expect(again.data).toEqual(answered)
    })

    test('R47 an upstream that breaks off in mid-stream makes the client throw, never end', async () => {
      const { openai, model, one } = await scene().stage()
      one.behave({ cut: { after: 3, how: 'reset' } })
      const stream = await openai().chat.completions.create({ model, messages, stream: true })
      const read = async () => {
        for await (const _chunk of stream);
      }
      const error = await read().catch((reason) => reason)
      expect(error).toBeInstanceOf(APIError)
      expect(error).not.toBeInstanceOf(APIConnectionError)
      expect(error.message).toContain('broke off')
    })

    test('R26 abort() frees the upstream: before the first token, and in mid-stream', async () => {
      const { openai, model, one } = await scene().stage()
      const never = new Promise(() => {})
      one.next({ wait: never }, { pace: (event) => (event === 3 ? never : undefined) })
      const abort = new AbortController()
      const waiting = openai().chat.completions.create({ model, messages }, { signal: abort.signal })
      const first = await one.request(1)
      abort.abort()
      await expect(waiting).rejects.toThrow(APIUserAbortError)
      expect(await first.over).toBe('left')
      const stream = await openai().chat.completions.create({ model, messages, stream: true })
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break // leaving the loop aborts
      expect(await (await one.request(2)).over).toBe('left')
    })

    test('§1 every parameter goes along: images, formats, what nobody knows yet', async () => {
      const { openai, model, one } = await scene().stage()
      one.behave({ text: '{"city":"Zürich"}' })
      const image = { type: 'image_url' as const, image_url: { url: 'https://example.com/a.png' } }
      const body = {
        model,
        messages: [{ role: 'user' as const, content: [image, { type: 'text' as const, text: 'where?' }] }],
        response_format: { type: 'json_schema' as const, json_schema: { name: 'place', schema: {} } },
        parallel_tool_calls: false,
        seed: 7,
        logit_bias: { '50256': -100 },
        ...({ nobody_knows: { yet: true } } as object),
      }
      const answer = await openai().chat.completions.create(body)
      expect(JSON.parse(answer.choices[0]?.message.content ?? '')).toEqual({ city: 'Zürich' })
      expect(one.requests[0]?.body).toEqual(body)
    })

    test('§7.5 characters that are cut in two on the way arrive whole', async () => {
      const { openai, model, one } = await scene().stage()
      const text = 'Grüße 🚀 aus 東京'
      one.behave({ text, chunks: 2, drip_bytes: 1 })
      let said = ''
      for await (const chunk of await openai().chat.completions.create({ model, messages, stream: true }))
        said += chunk.choices[0]?.delta.content ?? ''
      expect(said).toBe(text)
    })
  })
})
