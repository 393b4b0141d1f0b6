// R53: the stand-in answers everything, always the same, and never pretends to be more than it is.
import { describe, expect, test } from 'vitest'
import { placeholder } from '../../src/providers/placeholder.ts'
import type { CallKind, Provider } from '../../src/providers/provider.ts'
import { heldClock, NOON } from '../support/clock.ts'

const timeouts = { first_byte_ms: 1, idle_ms: 1 }
const { signal } = new AbortController()

function standIn(): Provider {
  let made = 0
  return placeholder({ clock: heldClock(), newId: (prefix) => `${prefix}${++made}` })
}

const send = (kind: CallKind, body: object, provider = standIn()) =>
  provider.call(
    { kind, body: Buffer.from(JSON.stringify(body)), stream: 'stream' in body, headers: {}, timeouts },
    signal,
  )
const bytes = async (kind: CallKind, body: object) => String(await (await send(kind, body)).whole())
const json = async (kind: CallKind, body: object) => JSON.parse(await bytes(kind, body))
// biome-ignore lint/suspicious/noExplicitAny: a test looks into what it gets
const events = async (kind: CallKind, body: object): Promise<any[]> =>
  [...(await bytes(kind, { ...body, stream: true })).matchAll(/^data: (\{.*)$/gm)].map(([, data]) =>
    JSON.parse(data ?? ''),
  )

const chat = { model: 'any/model', messages: [{ role: 'user', content: 'What is a switchyard?' }] }
const CREATED = NOON / 1_000

describe('R53 the same question, the same answer', () => {
  test.each([
    ['chat', chat],
    ['chat', { ...chat, stream: true }],
    ['completions', { model: 'm', prompt: 'a' }],
    ['completions', { model: 'm', prompt: 'a', stream: true }],
    ['embeddings', { model: 'm', input: ['a', 'b'] }],
    ['responses', { model: 'm', input: 'a' }],
    ['responses', { model: 'm', input: 'a', stream: true }],
  ] as const)('%s %j', async (kind, body) => {
    expect(await bytes(kind, body)).toBe(await bytes(kind, body))
  })

  test('another question, another digest', async () => {
    const other = { ...chat, messages: [{ role: 'user', content: 'What is a switch yard?' }] }
    const [one, two] = [await json('chat', chat), await json('chat', other)]
    expect(one.choices[0].message.content).not.toBe(two.choices[0].message.content)
  })

  test('ids are random where nobody says otherwise', async () => {
    const provider = placeholder({ clock: heldClock() })
    const [one, two] = await Promise.all([send('chat', chat, provider), send('chat', chat, provider)])
    expect(JSON.parse(String(await one.whole())).id).not.toBe(JSON.parse(String(await two.whole())).id)
  })

  test('it speaks everything', () => {
    expect((['chat', 'completions', 'embeddings', 'responses'] as const).every(standIn().speaks)).toBe(true)
  })
})

describe('R53 chat', () => {
  test('says plainly that it is no model', async () => {
    const answer = await json('chat', chat)
    const content = expect.stringMatching(/^No provider is configured.* [0-9a-f]{12}\.$/)
    expect(answer).toEqual({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: CREATED,
      model: 'any/model',
      choices: [
        { index: 0, message: { role: 'assistant', content, refusal: null }, logprobs: null, finish_reason: 'stop' },
      ],
      usage: {
        prompt_tokens: 13,
        completion_tokens: 17,
        total_tokens: 30,
        prompt_tokens_details: { cached_tokens: 0 },
      },
    })
  })

  test('a stream says the same, role first and reason last', async () => {
    const whole = await json('chat', chat)
    const chunks = await events('chat', chat)
    expect(chunks[0].choices[0].delta).toEqual({ role: 'assistant', content: '', refusal: null })
    expect(chunks.map(({ choices }) => choices[0].delta.content ?? '').join('')).toBe(whole.choices[0].message.content)
    expect(chunks.at(-1).choices[0]).toMatchObject({ delta: {}, finish_reason: 'stop' })
    expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true)
    expect((await bytes('chat', { ...chat, stream: true })).endsWith('\n\ndata: [DONE]\n\n')).toBe(true)
  })

  test('the usage comes last where it is asked for, and null before', async () => {
    const chunks = await events('chat', { ...chat, stream_options: { include_usage: true } })
    const last = chunks.pop()
    expect([last.choices, last.usage]).toEqual([[], (await json('chat', chat)).usage])
    expect(chunks.every(({ usage }) => usage === null)).toBe(true)
  })

  test.each([
    ['max_tokens', { max_tokens: 3 }, 'No provider is ', 'length'],
    ['max_completion_tokens', { max_completion_tokens: 1, max_tokens: 9 }, 'No ', 'length'],
    ['nothing allowed', { max_tokens: 0 }, '', 'length'],
  ])('%s', async (_case, limit, content, finish_reason) => {
    const { choices, usage } = await json('chat', { ...chat, ...limit })
    expect([choices[0].message.content, choices[0].finish_reason]).toEqual([content, finish_reason])
    const chunks = await events('chat', { ...chat, ...limit })
    expect(chunks.map(({ choices }) => choices[0].delta.content ?? '').join('')).toBe(content)
    expect(usage.completion_tokens).toBe(content.split(' ').filter(Boolean).length)
  })

  test('as many choices as asked for, each paid', async () => {
    const { choices, usage } = await json('chat', { ...chat, n: 3 })
    expect(choices.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2])
    expect(usage.completion_tokens).toBe(51)
    const chunks = await events('chat', { ...chat, n: 2 })
    expect(chunks.filter(({ choices }) => choices[0].finish_reason).map(({ choices }) => choices[0].index)).toEqual([
      0, 1,
    ])
  })

  test('JSON where JSON was asked for', async () => {
    const schema = { type: 'object', properties: { answer: { type: 'string', minLength: 2 } }, required: ['answer'] }
    const content = async (response_format: object) =>
      JSON.parse((await json('chat', { ...chat, response_format })).choices[0].message.content)
    expect(await content({ type: 'json_schema', json_schema: { name: 'a', schema } })).toEqual({ answer: 'xx' })
    expect(await content({ type: 'json_object' })).toMatchObject({ placeholder: true })
  })
})

describe('R53 tool calls', () => {
  const parameters = { type: 'object', properties: { city: { enum: ['Bern', 'Basel'] } }, required: ['city'] }
  const tools = [
    { type: 'function', function: { name: 'weather', parameters } },
    { type: 'function', function: { name: 'time' } },
  ]
  const call = (name: string, args: string) => [{ id: 'call_1', type: 'function', function: { name, arguments: args } }]

  test.each([
    ['required', 'required', call('weather', '{"city":"Bern"}')],
    ['by name', { type: 'function', function: { name: 'time' } }, call('time', '{}')],
  ])('%s: with the smallest arguments that are valid', async (_case, tool_choice, tool_calls) => {
    const [choice] = (await json('chat', { ...chat, tools, tool_choice })).choices
    expect(choice).toMatchObject({ message: { content: null, tool_calls }, finish_reason: 'tool_calls' })
  })

  test.each(['auto', 'none', undefined, { type: 'function', function: { name: 'unknown' } }])(
    'none with %j',
    async (tool_choice) => {
      const [choice] = (await json('chat', { ...chat, tools, tool_choice })).choices
      expect([choice.message.tool_calls, choice.finish_reason]).toEqual([undefined, 'stop'])
    },
  )

  test('a stream brings the name first, then the arguments in fragments', async () => {
    const chunks = await events('chat', { ...chat, tools, tool_choice: 'required' })
    const deltas = chunks.flatMap(({ choices }) => choices[0].delta.tool_calls ?? [])
    expect(deltas[0]).toEqual({
      index: 0,
      id: 'call_1',
      type: 'function',
      function: { name: 'weather', arguments: '' },
    })
    expect(deltas.map((delta) => delta.function.arguments).join('')).toBe('{"city":"Bern"}')
    expect(chunks.at(-1).choices[0].finish_reason).toBe('tool_calls')
  })
})

describe('R53 completions', () => {
  test('a choice for each prompt and each of n', async () => {
    const { object, choices } = await json('completions', { model: 'm', prompt: ['a', 'b'], n: 2, max_tokens: 2 })
    expect([object, choices.length]).toEqual(['text_completion', 4])
    expect(choices[3]).toEqual({ index: 3, text: 'No provider ', logprobs: null, finish_reason: 'length' })
  })

  test('a list of tokens is one prompt', async () => {
    expect((await json('completions', { model: 'm', prompt: [1, 2, 3] })).choices).toHaveLength(1)
  })

  test('a stream with usage', async () => {
    const chunks = await events('completions', { model: 'm', prompt: 'a', stream_options: { include_usage: true } })
    expect(chunks.at(-1).usage.completion_tokens).toBe(17)
    expect(chunks.at(-2).choices[0]).toMatchObject({ text: '', finish_reason: 'stop' })
  })
})

describe('R53 embeddings', () => {
  const vectors = async (body: object): Promise<number[][]> =>
    (await json('embeddings', { model: 'm', ...body })).data.map(({ embedding }: { embedding: number[] }) => embedding)

  test.each([
    ['one text', 'a', 1],
    ['two', ['a', 'b'], 2],
    ['tokens', [1, 2, 3], 1],
    ['two lists of tokens', [[1], [2]], 2],
  ])('%s', async (_case, input, count) => {
    const made = await vectors({ input })
    expect(made.map(({ length }) => length)).toEqual(Array(count).fill(1_536))
    for (const vector of made) expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
  })

  test('equal texts are equal, others are not, wherever they stand', async () => {
    const [a, b, again] = await vectors({ input: ['a', 'b', 'a'], dimensions: 8 })
    expect(a).toEqual(again)
    expect(a).not.toEqual(b)
  })

  test.each([1, 3, 256, 3_072])('%d dimensions', async (dimensions) => {
    const [vector = []] = await vectors({ input: 'a', dimensions })
    expect(vector).toHaveLength(dimensions)
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
  })

  test('in base64 they are the very same numbers', async () => {
    const [vector] = await vectors({ input: 'a', dimensions: 16 })
    const body = { model: 'm', input: 'a', dimensions: 16, encoding_format: 'base64' }
    const { embedding } = (await json('embeddings', body)).data[0]
    const decoded = Buffer.from(embedding, 'base64')
    expect(Array.from({ length: 16 }, (_, at) => decoded.readFloatLE(at * 4))).toEqual(vector)
  })

  test('usage counts every input', async () => {
    const { usage } = await json('embeddings', { model: 'm', input: ['12345678', 'a'] })
    expect(usage).toEqual({ prompt_tokens: 4, total_tokens: 4 })
  })
})

describe('R53 responses', () => {
  const asked = { model: 'm', input: 'Hi', instructions: 'Be brief.', metadata: { a: 'b' } }
  const REQUIRED = [
    ...['id', 'object', 'created_at', 'status', 'error', 'incomplete_details', 'instructions', 'model', 'output'],
    ...['parallel_tool_calls', 'tools', 'tool_choice', 'temperature', 'top_p', 'metadata', 'usage'],
  ]

  test('has every field that clients may look for', async () => {
    const answer = await json('responses', asked)
    expect(Object.keys(answer)).toEqual(expect.arrayContaining(REQUIRED))
    expect(answer).toMatchObject({
      status: 'completed',
      instructions: 'Be brief.',
      metadata: { a: 'b' },
      created_at: CREATED,
    })
    expect(answer.output[0]).toMatchObject({ type: 'message', role: 'assistant', status: 'completed' })
    expect('output_text' in answer).toBe(false)
  })

  test('§7.2 a stream has its events in their order, numbered from 0', async () => {
    const stream = await events('responses', asked)
    const kinds = stream.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1])
    expect(kinds).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(stream.map(({ sequence_number }) => sequence_number)).toEqual(stream.map((_, at) => at))
    const raw = await bytes('responses', { ...asked, stream: true })
    expect([...raw.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)).toEqual(stream.map(({ type }) => type))
    expect(raw).not.toContain('[DONE]')
  })

  test('the deltas make the text, and the last event is the whole response', async () => {
    const stream = await events('responses', asked)
    const whole = await json('responses', asked)
    const text = stream.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('')
    expect(text).toBe(whole.output[0].content[0].text)
    expect(stream.at(-1).response).toEqual(whole)
    expect(stream[0].response).toMatchObject({ status: 'in_progress', output: [], usage: null })
  })

  test('cut short, it says so', async () => {
    const answer = await json('responses', { ...asked, max_output_tokens: 2 })
    expect(answer).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    const stream = await events('responses', { ...asked, max_output_tokens: 2 })
    expect(stream.at(-1).type).toBe('response.incomplete')
  })

  test('a function that must be called', async () => {
    const tools = [
      {
        type: 'function',
        name: 'weather',
        parameters: { type: 'object', required: ['n'], properties: { n: { type: 'integer', minimum: 3 } } },
      },
    ]
    const body = { ...asked, tools, tool_choice: { type: 'function', name: 'weather' } }
    const [item] = (await json('responses', body)).output
    expect(item).toMatchObject({ type: 'function_call', name: 'weather', arguments: '{"n":3}', status: 'completed' })
    const stream = await events('responses', body)
    const args = stream
      .map(({ type, delta }) => (type === 'response.function_call_arguments.delta' ? delta : ''))
      .join('')
    expect(args).toBe('{"n":3}')
    expect(stream.map(({ type }) => type)).toContain('response.function_call_arguments.done')
  })
})

describe('R26 a caller who leaves the stand-in', () => {
  test('before it began', async () => {
    const reason = new Error('left')
    const call = {
      kind: 'chat',
      body: Buffer.from(JSON.stringify(chat)),
      stream: false,
      headers: {},
      timeouts,
    } as const
    await expect(standIn().call(call, AbortSignal.abort(reason))).rejects.toBe(reason)
  })

  test('while the taker hangs', async () => {
    const caller = new AbortController()
    const body = Buffer.from(JSON.stringify({ ...chat, stream: true }))
    const answer = await standIn().call({ kind: 'chat', body, stream: true, headers: {}, timeouts }, caller.signal)
    const each = answer.each(() => {
      queueMicrotask(() => caller.abort(new Error('left')))
      return new Promise(() => {})
    })
    await expect(each).rejects.toThrow('left')
  })

  test('by cancelling', async () => {
    const answer = await send('chat', { ...chat, stream: true })
    answer.cancel()
    await expect(answer.each(() => {})).rejects.toThrow('cancelled')
  })
})
