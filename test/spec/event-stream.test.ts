// A chat stream, turned into the events of a response: the documented ones, in their order, whatever the bytes do.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BUDGETS } from '../../src/core/foreign.ts'
import { responseEvents } from '../../src/responses/event-stream.ts'
import { responseFrom } from '../../src/responses/from-chat.ts'
import type { NativeBlocks } from '../../src/responses/native-response.ts'
import { readResponseRequest } from '../../src/responses/response-request.ts'
import { misfits } from '../support/official-shapes.ts'

const IDS = { response_id: 'resp_abc', created_at_s: 1_760_000_000 }
const REQUEST = readResponseRequest({ model: 'm', input: 'x', stream: true })
const USAGE = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }
const DONE = 'data: [DONE]\n\n'

const chunk = (delta: object, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'gpt-4o-mini-2024-07-18',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
  usage: null,
})
const data = (value: unknown, newline = '\n') => `data: ${JSON.stringify(value)}${newline}${newline}`
const stop = (finish_reason: string) => chunk({}, { finish_reason })
const usage = { ...stop('stop'), choices: [], usage: USAGE }
const stream = (...chunks: unknown[]) => chunks.map((each) => data(each)).join('') + data(usage) + DONE

interface Event {
  type: string
  sequence_number: number
  [field: string]: unknown
}

/** Reads events as strictly as the documentation writes them. */
function read(bytes: Buffer): Event[] {
  const events = bytes.toString().split('\n\n')
  expect(events.pop()).toBe('')
  return events.map((event) => {
    const [, name, json = ''] = /^event: (\S+)\ndata: (.*)$/.exec(event) ?? []
    const parsed = JSON.parse(json)
    expect(parsed.type).toBe(name)
    return parsed
  })
}

function translate(chat: string | Buffer, cuts: readonly number[] = []) {
  const bytes = Buffer.from(chat)
  const events = responseEvents(REQUEST, IDS)
  const out: Buffer[] = []
  let from = 0
  for (const to of [...cuts, bytes.length]) {
    out.push(events.push(bytes.subarray(from, to)))
    from = to
  }
  out.push(events.end())
  return { bytes: Buffer.concat(out), response: events.response(), isOver: events.isOver() }
}

const HELLO = stream(
  chunk({ role: 'assistant', content: '', refusal: null }),
  chunk({ content: 'Grü' }),
  chunk({ content: 'ße 😀' }),
  stop('stop'),
)

test('§7.2 a text: every event, in the documented order', () => {
  const { bytes, response, isOver } = translate(HELLO)
  const events = read(bytes)
  const at = { item_id: 'msg_abc_0', output_index: 0, content_index: 0 }
  const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
  const item = { id: 'msg_abc_0', type: 'message', status: 'in_progress', role: 'assistant', content: [] }
  const opened = { ...response, status: 'in_progress', output: [], usage: null }
  const whole = { ...part, text: 'Grüße 😀' }
  expect(events).toEqual(
    [
      { type: 'response.created', response: opened },
      { type: 'response.in_progress', response: opened },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.content_part.added', ...at, part },
      { type: 'response.output_text.delta', ...at, delta: 'Grü', logprobs: [] },
      { type: 'response.output_text.delta', ...at, delta: 'ße 😀', logprobs: [] },
      { type: 'response.output_text.done', ...at, text: 'Grüße 😀', logprobs: [] },
      { type: 'response.content_part.done', ...at, part: whole },
      { type: 'response.output_item.done', output_index: 0, item: { ...item, status: 'completed', content: [whole] } },
      { type: 'response.completed', response },
    ].map((event, sequence_number) => ({ ...event, sequence_number })),
  )
  expect(isOver).toBe(true)
  expect(response).toMatchObject({ id: 'resp_abc', status: 'completed', model: 'gpt-4o-mini-2024-07-18' })
  expect(response.usage).toMatchObject({ input_tokens: 9, output_tokens: 3 })
})

const fragment = (index: number, args: string, first: object = {}) => ({
  tool_calls: [{ index, function: { arguments: args, ...first } }],
})
const begun = (index: number, id: string, name: string) => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }],
})
const EVERYTHING = stream(
  chunk({ role: 'assistant', content: null, reasoning_content: 'Hm' }),
  chunk({ reasoning_content: 'mm.' }),
  chunk({ content: 'Let me ' }),
  chunk({ content: 'see.' }, { logprobs: { content: [{ token: 'see.', logprob: -1 }] } }),
  chunk({ refusal: 'Not ' }),
  chunk({ refusal: 'that.' }),
  chunk(begun(0, 'call_1', 'weather')),
  chunk(fragment(0, '{"city"')),
  chunk(begun(1, 'call_2', 'time')),
  chunk(fragment(1, '{}')),
  chunk(fragment(0, ':"Bern"}')),
  stop('tool_calls'),
)

test('§7.2 reasoning, text, refusal and two calls at a time', () => {
  const { bytes, response } = translate(EVERYTHING)
  const events = read(bytes)
  expect(
    events.map(({ type, output_index }) => [type.replace('response.', ''), output_index].join(' ').trim()),
  ).toEqual([
    'created',
    'in_progress',
    'output_item.added 0',
    'content_part.added 0',
    'reasoning_text.delta 0',
    'reasoning_text.delta 0',
    'reasoning_text.done 0',
    'content_part.done 0',
    'output_item.done 0',
    'output_item.added 1',
    'content_part.added 1',
    'output_text.delta 1',
    'output_text.delta 1',
    'output_text.done 1',
    'content_part.done 1',
    'content_part.added 1',
    'refusal.delta 1',
    'refusal.delta 1',
    'refusal.done 1',
    'content_part.done 1',
    'output_item.done 1',
    'output_item.added 2',
    'function_call_arguments.delta 2',
    'output_item.added 3',
    'function_call_arguments.delta 3',
    'function_call_arguments.delta 2',
    'function_call_arguments.done 2',
    'output_item.done 2',
    'function_call_arguments.done 3',
    'output_item.done 3',
    'completed',
  ])
  expect(response.output).toMatchObject([
    { type: 'reasoning', content: [{ text: 'Hmmm.' }] },
    { type: 'message', content: [{ text: 'Let me see.', logprobs: [{ token: 'see.' }] }, { refusal: 'Not that.' }] },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Bern"}', status: 'completed' },
    { type: 'function_call', call_id: 'call_2', name: 'time', arguments: '{}', status: 'completed' },
  ])
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at))
})

test('§7.2 every event has what the official client requires, and nothing that it does not know', () => {
  const failed = responseEvents(REQUEST, IDS)
  const all = [...read(translate(EVERYTHING).bytes), ...read(failed.fail({ message: 'm' }))]
  expect(all.flatMap((event) => misfits(event, event.type))).toEqual([])
})

test('§7.2 wherever the bytes are cut, the same events come out', () => {
  const variants: [string, string][] = [
    [HELLO, HELLO],
    [EVERYTHING, EVERYTHING],
    [HELLO.replaceAll('\n', '\r\n'), HELLO],
    [`: comment\nretry: 5\n\n${HELLO}`, HELLO],
    [HELLO.replaceAll('data: ', 'data:'), HELLO],
  ]
  for (const [chat, same] of variants) {
    const whole = translate(same)
    const size = Buffer.byteLength(chat)
    for (let at = 0; at <= size; at++) expect(translate(chat, [at]).bytes.equals(whole.bytes)).toBe(true)
    const bytewise = Array.from({ length: size - 1 }, (_, at) => at + 1)
    expect(translate(chat, bytewise)).toEqual(whole)
  }
})

test('§7.2 an event is sent as soon as its chunk is whole, and not before', () => {
  const events = responseEvents(REQUEST, IDS)
  const [first, second] = [data(chunk({ content: 'a' })), data(chunk({ content: 'b' }))]
  expect(read(events.push(Buffer.from(first)))).toHaveLength(5)
  expect(events.push(Buffer.from(second.slice(0, -1)))).toHaveLength(0)
  expect(read(events.push(Buffer.from(second.slice(-1))))).toMatchObject([{ delta: 'b', sequence_number: 5 }])
  expect(events.isOver()).toBe(false)
})

test.each([
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
])('§7.2 stopped by %s: incomplete for %s', (finish_reason, reason) => {
  const { bytes, response } = translate(stream(chunk({ content: 'Hel' }), stop(finish_reason)))
  const events = read(bytes)
  expect(events.at(-1)).toMatchObject({ type: 'response.incomplete', response: { incomplete_details: { reason } } })
  expect(events.at(-2)).toMatchObject({ type: 'response.output_item.done', item: { status: 'incomplete' } })
  expect(response.status).toBe('incomplete')
})

test('§7.2 a call cut short is incomplete', () => {
  const { response } = translate(stream(chunk(begun(0, 'c', 'f')), chunk(fragment(0, '{"a"')), stop('length')))
  expect(response.output).toMatchObject([{ status: 'incomplete', arguments: '{"a"' }])
})

test('§7.2 an answer that says nothing is an empty message', () => {
  const { bytes, response } = translate(stream(chunk({ role: 'assistant', content: '' }), stop('stop')))
  expect(read(bytes).map(({ type }) => type)).not.toContain('response.output_text.delta')
  expect(response.output).toMatchObject([{ type: 'message', content: [{ text: '' }] }])
})

test.each<[string, object[], string[]]>([
  ['no index', [{ ...begun(0, 'a', 'f').tool_calls[0], index: undefined }], ['f']],
  ['index 0 for all', [begun(0, 'a', 'f').tool_calls[0] ?? {}, begun(0, 'b', 'g').tool_calls[0] ?? {}], ['f', 'g']],
  ['neither id nor index', [{ function: { name: 'f' } }, { function: { name: 'g' } }], ['f', 'g']],
  [
    'id again in every fragment',
    [
      { index: 0, id: 'a', function: { name: 'f' } },
      { index: 0, id: 'a' },
    ],
    ['f'],
  ],
  [
    'an empty id afterwards',
    [
      { index: 0, id: 'a', function: { name: 'f' } },
      { index: 0, id: '' },
    ],
    ['f'],
  ],
  [
    'the name later than the id',
    [
      { index: 0, id: 'a' },
      { index: 0, function: { name: 'f' } },
    ],
    ['f'],
  ],
])('§7.2 which call a fragment belongs to: %s', (_what, fragments, names) => {
  const chunks = fragments.map((each) => chunk({ tool_calls: [each] }))
  const { output } = translate(stream(...chunks, stop('tool_calls'))).response
  expect(output.map((item) => item.type === 'function_call' && item.name)).toEqual(names)
})

test('§7.2 only the first choice is a response', () => {
  const second = { ...chunk({ content: 'x' }), choices: [{ index: 1, delta: { content: 'other' } }] }
  expect(translate(stream(chunk({ content: 'one' }), second, stop('stop'))).response.output).toMatchObject([
    { content: [{ text: 'one' }] },
  ])
})

test('§7.2 text behind a call is a message of its own', () => {
  const { output } = translate(
    stream(chunk({ content: 'a' }), chunk(begun(0, 'c', 'f')), chunk({ content: 'b' })),
  ).response
  expect(output.map(({ type }) => type)).toEqual(['message', 'function_call', 'message'])
})

const FAILURES: [string, string, object][] = [
  ['no [DONE]', HELLO.replace(DONE, ''), { code: 'upstream_error', message: expect.stringContaining('in the middle') }],
  ['nothing at all', '', { code: 'upstream_error' }],
  ['half an event', HELLO.slice(0, 300), { code: 'upstream_error' }],
  [
    'an error object',
    data(chunk({ content: 'a' })) + data({ error: { message: 'Overloaded', code: 'busy' } }),
    { code: 'busy', message: 'Overloaded' },
  ],
  [
    'an error by its type',
    data({ error: { message: 'm', type: 'rate_limit_exceeded' } }),
    { code: 'rate_limit_exceeded' },
  ],
  ['an error event', `event: error\n${data({ message: 'm' })}`, { message: 'm' }],
  ['an error that is a text', data({ error: 'gone' }), { message: 'gone' }],
  ['something that is no JSON', 'data: <html>\n\n', { message: 'The upstream sent something that is no JSON object.' }],
  ['a JSON text', 'data: "x"\n\n', { code: 'upstream_error' }],
]

test.each(FAILURES)('R47 never a clean end on %s', (_what, chat, error) => {
  const { bytes, response, isOver } = translate(chat)
  const events = read(bytes)
  expect(events.slice(-2)).toMatchObject([
    { type: 'error', param: null, ...error },
    { type: 'response.failed', response: { status: 'failed' } },
  ])
  expect(events[0]?.type).toBe('response.created')
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at))
  expect([response.status, isOver]).toEqual(['failed', true])
  expect(['server_error', 'rate_limit_exceeded']).toContain(response.error?.code)
})

test('R44 a deadline ends the stream with what there is, and nothing comes after it', () => {
  const events = responseEvents(REQUEST, IDS)
  events.push(Buffer.from(data(chunk({ content: 'Hel' }))))
  const [error, failed] = read(events.fail({ code: 'deadline_exceeded', message: 'Too late.' }))
  expect(error).toMatchObject({ type: 'error', code: 'deadline_exceeded', sequence_number: 5 })
  expect(failed?.response).toMatchObject({
    error: { code: 'server_error', message: 'Too late.' },
    output: [{ status: 'incomplete', content: [{ text: 'Hel' }] }],
  })
  for (const more of [events.push(Buffer.from(HELLO)), events.end(), events.fail({ message: 'again' })])
    expect(more).toHaveLength(0)
})

test('R47 of a response that failed, what was finished before stays finished', () => {
  const chat =
    data(chunk({ content: 'Let me see.' })) + data(chunk(begun(0, 'c', 'f'))) + data(chunk(fragment(0, '{"a"')))
  expect(translate(chat).response.output).toMatchObject([
    { type: 'message', status: 'completed' },
    { type: 'function_call', status: 'incomplete', arguments: '{"a"' },
  ])
})

test('R47 [DONE] counts without its blank line, and what follows it does not', () => {
  expect(translate(HELLO.slice(0, -2)).response.status).toBe('completed')
  expect(translate(HELLO + data(chunk({ content: 'late' }))).bytes.equals(translate(HELLO).bytes)).toBe(true)
})

test.each([
  ['in one chunk', data(chunk({ tool_calls: Array(5_000).fill({}) }))],
  ['over many', Array.from({ length: 1_100 }, (_, n) => data(chunk(begun(n, `call_${n}`, 'f')))).join('')],
])('R77 more calls than anybody means, %s, fail the response', (_what, chat) => {
  const { response } = translate(chat)
  expect(response).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('more calls') } })
  expect(response.output.length).toBeLessThan(1_100)
})

test('T-86 a line without end fails the response', () => {
  const events = responseEvents(REQUEST, IDS)
  const part = Buffer.alloc(1024 * 1024, 'x')
  for (let bytes = 0; bytes <= BUDGETS.event.bytes; bytes += part.length) events.push(part)
  expect(events.response().status).toBe('failed')
})

test('T-86 an event without end fails the response, however short its lines', () => {
  const events = responseEvents(REQUEST, IDS)
  const part = Buffer.from('data: x\n'.repeat(128 * 1024))
  for (let bytes = 0; bytes <= BUDGETS.event.bytes; bytes += part.length) events.push(part)
  expect(events.response()).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('without end') },
  })
})

test('§8 the last event of a native stream tells routing, QoS, cost and attempts', () => {
  const native = { routing: { trace_id: 'trc_1' }, attempts: [] } as unknown as NativeBlocks
  const events = responseEvents(REQUEST, IDS)
  const before = read(events.push(Buffer.from(HELLO)))
  expect(before.at(-1)?.type).toBe('response.output_item.done')
  const last = read(events.end(native))
  expect(last).toMatchObject([{ type: 'response.completed', response: { ...native, status: 'completed' } }])
  expect(events.response()).not.toHaveProperty('routing')
})

const piece = fc.record(
  {
    reasoning_content: fc.string(),
    content: fc.string({ unit: 'grapheme' }),
    refusal: fc.string(),
    calls: fc.array(fc.record({ name: fc.string({ minLength: 1 }), arguments: fc.json() }), { maxLength: 3 }),
  },
  { requiredKeys: [] },
)

/** Cuts a text into as many pieces as it has room for. */
const cut = (text = '') => [text.slice(0, 1), text.slice(1, 3), text.slice(3)]

test('§7.2 streamed or whole, cut anywhere, the response is the same', () => {
  fc.assert(
    fc.property(piece, fc.array(fc.nat(), { maxLength: 8 }), ({ calls, ...said }, places) => {
      const tool_calls = calls?.map(({ name, arguments: args }, index) => ({
        index,
        id: `call_${index}`,
        type: 'function',
        function: { name, arguments: args },
      }))
      const deltas = Object.entries(said).flatMap(([field, text]) => cut(text).map((delta) => ({ [field]: delta })))
      const fragments = (tool_calls ?? []).flatMap((call) => [
        { tool_calls: [{ ...call, function: { name: call.function.name, arguments: '' } }] },
        ...cut(call.function.arguments).map((args) => fragment(call.index, args)),
      ])
      const order = ['reasoning_content', 'content', 'refusal']
      deltas.sort((a, b) => order.indexOf(Object.keys(a)[0] ?? '') - order.indexOf(Object.keys(b)[0] ?? ''))
      const chat = stream(...[...deltas, ...fragments].map((delta) => chunk(delta)), stop('stop'))
      const cuts = places.map((place) => place % Buffer.byteLength(chat)).sort((a, b) => a - b)
      const completion = {
        model: 'gpt-4o-mini-2024-07-18',
        choices: [{ message: { ...said, tool_calls }, finish_reason: 'stop' }],
        usage: USAGE,
      }
      expect(translate(chat, cuts).response).toEqual(responseFrom(completion, REQUEST, IDS))
    }),
    { numRuns: 500 },
  )
})
