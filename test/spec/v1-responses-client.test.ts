// §1, §8.2: the Responses API by the official client, unmodified, against the real server: over the placeholder, over a
// live upstream that only knows chat, and over one that has a Responses API of its own.
import { AuthenticationError, BadRequestError, InternalServerError, NotFoundError } from 'openai'
import { describe, expect, test } from 'vitest'
import { MAX_OUTPUT, PRICES, type Scene, type SceneOptions, withScene } from '../support/inference-scene.ts'

const tools = [
  { type: 'function' as const, name: 'weather', parameters: { type: 'object', properties: {} }, strict: false },
]
const model = (id: string) => ({ id, ...PRICES, max_output_tokens: MAX_OUTPUT })
const options = (full_fidelity: boolean): SceneOptions => ({
  config: (one) => ({
    retention: { full_fidelity },
    providers: [{ id: 'native', base_url: one.base_url, responses: true, models: [model('native-model')] }],
  }),
})

/** What must hold wherever the answer comes from. */
function anyUpstream(scene: () => Scene, named?: string): void {
  async function begin() {
    const stage = await scene().stage()
    return { ...stage, client: stage.openai(), model: named ?? stage.model }
  }

  test('§1 responses: a whole answer, with its text and its usage', async () => {
    const { client, model } = await begin()
    const response = await client.responses.create({ model, input: 'hello' })
    expect(response).toMatchObject({ object: 'response', status: 'completed', model, error: null })
    expect(response.id).toMatch(/^resp_/)
    expect(response.output_text).toMatch(/\w/)
    expect(response.usage?.total_tokens).toBeGreaterThan(0)
  })

  test('§1 responses stream: begins with created, ends with completed, numbered, and adds up to the text', async () => {
    const { client, model } = await begin()
    const whole = await client.responses.create({ model, input: 'hello' })
    const events = []
    for await (const event of await client.responses.create({ model, input: 'hello', stream: true })) events.push(event)
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, n) => n))
    expect([events[0]?.type, events[1]?.type]).toEqual(['response.created', 'response.in_progress'])
    const text = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
    expect(text).toBe(whole.output_text)
    const last = events.at(-1)
    if (last?.type !== 'response.completed') throw new Error(`it ended with ${last?.type}`)
    expect(last.response).toMatchObject({ status: 'completed', usage: { total_tokens: expect.any(Number) } })
    expect((await client.responses.retrieve(last.response.id)).output_text).toBe(text)
  })

  test('§1 responses stream: the client’s own accumulator takes it', async () => {
    const { client, model } = await begin()
    const final = await client.responses.stream({ model, input: 'hello' }).finalResponse()
    expect([final.status, final.output_text.length > 0]).toEqual(['completed', true])
  })

  test('§1 chained responses stream: every event that has the response says what it continues, replayed too', async () => {
    const { client, model, ask, get } = await begin()
    const first = await client.responses.create({ model, input: 'My name is Ada.' })
    const body = { model, input: 'And now?', previous_response_id: first.id, stream: true }
    const keyed = { body, headers: { 'agent-idempotency-key': 'chained' } }
    const heard = await ask('/v1/responses', keyed)
    const told = heard.text
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice('data: '.length)))
      .filter(({ response }) => response)
    expect(told.length).toBeGreaterThanOrEqual(3)
    for (const { response } of told) expect(response.previous_response_id).toBe(first.id)
    const kept = await get(`/v1/responses/${told.at(-1).response.id}`)
    expect(kept.body.previous_response_id).toBe(first.id)
    expect((await ask('/v1/responses', keyed)).text).toBe(heard.text)
  })

  test('§1 chained responses: what the chain brings again is repeated work', async () => {
    const { client, model, get } = await begin()
    const history = 'Something that was said at length before. '.repeat(200)
    const first = await client.responses.create({ model, input: history })
    await client.responses.create({ model, input: 'And now?', previous_response_id: first.id })
    const [again, once] = (await get('/v2/usage')).body.data
    expect(once.repeated_tokens_est).toBe(0)
    expect(again.repeated_tokens_est).toBeGreaterThanOrEqual(Math.floor(history.length / 4))
    expect(again.repeated_tokens_est).toBeLessThan(history.length / 4 + 20)
    expect(again.missed_reuse_tokens).toBe(again.repeated_tokens_est)
  })

  test('§1 chained responses: the second knows what the first was about', async () => {
    const { client, model, one } = await begin()
    const first = await client.responses.create({ model, input: 'My name is Ada.' })
    const second = await client.responses.create({
      ...{ model, input: 'What is my name?', previous_response_id: first.id },
    })
    expect(second.previous_response_id).toBe(first.id)
    expect((await client.responses.retrieve(second.id)).previous_response_id).toBe(first.id)
    expect(second.id).not.toBe(first.id)
    const asked = JSON.stringify(one.requests.at(-1)?.body ?? 'My name is Ada. What is my name?')
    expect(asked).toContain('My name is Ada.')
    expect(asked).toContain('What is my name?')
  })

  test('§1 responses: retrieved, deleted, and then gone; one that is not stored was never there', async () => {
    const { client, model } = await begin()
    const response = await client.responses.create({ model, input: 'hello' })
    expect(await client.responses.retrieve(response.id)).toMatchObject({ id: response.id, output: response.output })
    await client.responses.delete(response.id)
    await expect(client.responses.retrieve(response.id)).rejects.toThrow(NotFoundError)
    const unstored = await client.responses.create({ model, input: 'hello', store: false })
    await expect(client.responses.retrieve(unstored.id)).rejects.toThrow(NotFoundError)
  })

  test('§7 error classes: a wrong key, no input, an unknown predecessor', async () => {
    const { client, openai, model } = await begin()
    const stranger = openai({ apiKey: 'svc_live_nonsense' })
    await expect(stranger.responses.create({ model, input: 'x' })).rejects.toThrow(AuthenticationError)
    await expect(client.responses.create({ model } as never)).rejects.toThrow(BadRequestError)
    const chained = client.responses.create({ model, input: 'x', previous_response_id: 'resp_unknown' })
    await expect(chained).rejects.toMatchObject({ type: 'invalid_request_error' })
  })

  test('§10.2 withResponse() shows the headers, and the body has nothing of ours', async () => {
    const { client, model } = await begin()
    const { data, response } = await client.responses.create({ model, input: 'hello' }).withResponse()
    expect(response.headers.get('agent-trace-id')).toMatch(/^trc_/)
    expect(response.headers.get('agent-charged-micros')).toMatch(/^\d+$/)
    for (const name of ['routing', 'qos', 'cost', 'attempts', 'trace_id']) expect(data).not.toHaveProperty(name)
  })
}

/** Only an upstream can be told what to say. */
function liveUpstream(scene: () => Scene, named?: string): void {
  test('R47 a failing upstream is an InternalServerError, and nobody pays', async () => {
    const stage = await scene().stage()
    stage.one.behave({ status: 500, body: '{}' })
    const asked = stage.openai().responses.create({ model: named ?? stage.model, input: 'x' })
    await expect(asked).rejects.toThrow(InternalServerError)
    expect((await stage.audit()).spent).toBe(0)
  })
}

const itemsOf = async (stage: Awaited<ReturnType<Scene['stage']>>, id: string) => {
  const items = []
  for await (const item of await stage.openai().responses.inputItems.list(id)) items.push(item)
  return items
}

describe('over the placeholder', () => {
  withScene((scene) => anyUpstream(scene), { gateway: false })
})

describe('over an upstream that only knows chat', () => {
  withScene((scene) => {
    anyUpstream(scene)
    liveUpstream(scene)

    test('§1 tools: a function is called by name, and its output goes back', async () => {
      const stage = await scene().stage()
      const client = stage.openai()
      stage.one.behave({ tool_calls: [{ name: 'weather', arguments: '{"city":"Zürich"}' }] })
      const first = await client.responses.create({ model: stage.model, input: 'Rain?', tools })
      const [called] = first.output
      if (called?.type !== 'function_call') throw new Error('no function was called')
      expect([called.name, JSON.parse(called.arguments)]).toEqual(['weather', { city: 'Zürich' }])
      stage.one.behave({ text: 'It rains.' })
      const output = { type: 'function_call_output' as const, call_id: called.call_id, output: 'rain' }
      const asked = { model: stage.model, input: [output], tools, previous_response_id: first.id }
      const second = await client.responses.create(asked)
      expect(second.output_text).toBe('It rains.')
      const roles = stage.one.requests.at(-1)?.body.messages.map(({ role }: { role: string }) => role)
      expect(roles).toEqual(['user', 'assistant', 'tool'])
    })

    test('§8.2 input items: none where contents are not retained', async () => {
      const stage = await scene().stage()
      const { id } = await stage.openai().responses.create({ model: stage.model, input: 'hello' })
      expect(await itemsOf(stage, id)).toEqual([])
    })
  }, options(false))
})

describe('over an upstream with a Responses API of its own', () => {
  withScene((scene) => {
    anyUpstream(scene, 'native-model')
    liveUpstream(scene, 'native-model')

    test('§1 it is asked as a Responses API, not as chat', async () => {
      const stage = await scene().stage()
      await stage.openai().responses.create({ model: 'native-model', input: 'hello' })
      expect(stage.one.requests.map(({ path }) => path)).toEqual(['/v1/responses'])
    })

    test('§8.2 input items: all of them where contents are retained, over both kinds of upstream', async () => {
      const stage = await scene().stage()
      for (const model of [stage.model, 'native-model']) {
        const input = [
          { role: 'user' as const, content: 'one' },
          { role: 'user' as const, content: 'two' },
        ]
        const { id } = await stage.openai().responses.create({ model, input })
        expect(JSON.stringify((await itemsOf(stage, id)).map((item) => 'content' in item && item.content))).toMatch(
          /two.*one/,
        )
      }
    })
  }, options(true))
})
