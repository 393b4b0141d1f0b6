// A whole chat completion, read as a response.
import { expect, test } from 'vitest'
import { misfits } from '../../test/support/official-shapes.ts'
import { responseFrom } from './from-chat.ts'
import type { ResponseObject } from './response-object.ts'
import { readResponseRequest } from './response-request.ts'

const IDS = { response_id: 'resp_abc', created_at_s: 1_760_000_000 }

const completion = (message: object, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o-mini-2024-07-18',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop', ...more }],
  usage: {
    prompt_tokens: 10,
    completion_tokens: 4,
    total_tokens: 14,
    prompt_tokens_details: { cached_tokens: 6, cache_write_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 1 },
  },
})

const response = (chat: unknown, asked: object = {}) =>
  responseFrom(chat, readResponseRequest({ model: 'm', input: 'x', ...asked }), IDS)

/** Nothing is missing and nothing is there that the official client does not know, but for what the API itself adds. */
function fits({ store, ...object }: ResponseObject): string[] {
  const found = misfits(object, 'Response').filter((misfit) => misfit !== 'Response lacks output_text')
  return [...found, ...object.output.flatMap((item) => misfits(item, item.type))]
}

const text = (said: string) => ({ type: 'output_text', text: said, annotations: [], logprobs: [] })
const message = (place: number, content: unknown[], status = 'completed') => ({
  id: `msg_abc_${place}`,
  type: 'message',
  status,
  role: 'assistant',
  content,
})

test('§7.2 a text is a message, with everything around it', () => {
  const got = response(completion({ content: 'Hello', refusal: null }))
  expect(got).toEqual({
    id: 'resp_abc',
    object: 'response',
    created_at: 1_760_000_000,
    status: 'completed',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    model: 'gpt-4o-mini-2024-07-18',
    output: [message(0, [text('Hello')])],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    service_tier: null,
    store: true,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: null,
    truncation: 'disabled',
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 6, cache_write_tokens: 2 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 14,
    },
    user: null,
    metadata: {},
  })
  expect(fits(got)).toEqual([])
})

test('§7.2 what was asked is said again', () => {
  const asked = {
    instructions: 'Be brief.',
    max_output_tokens: 9,
    metadata: { a: 'b' },
    parallel_tool_calls: false,
    previous_response_id: 'resp_before',
    reasoning: { effort: 'low' },
    store: false,
    temperature: 0.5,
    top_p: 0.5,
    text: { format: { type: 'json_object' }, verbosity: 'low' },
    tools: [{ type: 'function', name: 'f' }],
    tool_choice: 'required',
    truncation: 'auto',
    user: 'u',
  }
  const got = response({ ...completion({ content: 'x' }), service_tier: 'flex' }, asked)
  expect(got).toMatchObject({
    ...asked,
    reasoning: { effort: 'low', summary: null },
    service_tier: 'flex',
    tools: [{ type: 'function', name: 'f', parameters: null, strict: false }],
  })
  expect(fits(got)).toEqual([])
})

const calls = [
  { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
  { id: 'call_2', type: 'function', function: { name: 'g', arguments: '{}' } },
]
const callItem = (place: number, call_id: string, name: string, args: string) => ({
  id: `fc_abc_${place}`,
  type: 'function_call',
  status: 'completed',
  call_id,
  name,
  arguments: args,
})

test('§7.2 reasoning, text, refusal and calls, each as its item', () => {
  const got = response(
    completion({ reasoning_content: 'Hm.', content: 'One moment.', refusal: 'No.', tool_calls: calls }),
  )
  expect(got.output).toEqual([
    {
      id: 'rs_abc_0',
      type: 'reasoning',
      status: 'completed',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'Hm.' }],
    },
    message(1, [text('One moment.'), { type: 'refusal', refusal: 'No.' }]),
    callItem(2, 'call_1', 'f', '{"a":1}'),
    callItem(3, 'call_2', 'g', '{}'),
  ])
  expect(fits(got)).toEqual([])
})

test('§7.2 calls alone make no message', () => {
  const got = response(completion({ content: null, tool_calls: calls }, { finish_reason: 'tool_calls' }))
  expect(got.output.map(({ type }) => type)).toEqual(['function_call', 'function_call'])
  expect(got.status).toBe('completed')
})

test('§7.2 calls without ids, or with the same one, stay apart', () => {
  for (const id of [undefined, '', 'call']) {
    const { output } = response(completion({ content: '', tool_calls: calls.map((call) => ({ ...call, id })) }))
    expect(output).toMatchObject([
      { name: 'f', arguments: '{"a":1}', call_id: id || 'call_abc_0' },
      { name: 'g', arguments: '{}', call_id: id || 'call_abc_1' },
    ])
  }
})

test('§7.2 arguments that an upstream wrote as an object become the text that they should be', () => {
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: { a: 1 } } }
  expect(response(completion({ content: null, tool_calls: [call] })).output).toMatchObject([{ arguments: '{"a":1}' }])
})

test('§7.2 content in parts is one text', () => {
  const content = [{ type: 'text', text: 'Hel' }, { type: 'thinking' }, { type: 'text', text: 'lo' }]
  expect(response(completion({ content })).output).toEqual([message(0, [text('Hello')])])
})

test('§7.2 an answer that says nothing is an empty message, so that clients find one', () => {
  expect(response(completion({ content: null })).output).toEqual([message(0, [text('')])])
})

test.each([
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
])('§7.2 stopped by %s: incomplete for %s', (finish_reason, reason) => {
  const got = response(completion({ content: 'Hel', tool_calls: calls.slice(0, 1) }, { finish_reason }))
  expect([got.status, got.incomplete_details]).toEqual(['incomplete', { reason }])
  expect(got.output.map(({ status }) => status)).toEqual(['completed', 'incomplete'])
  expect(response(completion({ content: 'Hel' }, { finish_reason })).output).toEqual([
    message(0, [text('Hel')], 'incomplete'),
  ])
  expect(response(completion({ content: null }, { finish_reason })).output).toEqual([])
})

test('§7.2 logprobs go along', () => {
  const logprobs = [{ token: 'Hi', logprob: -0.1, bytes: [72, 105], top_logprobs: [] }]
  const got = response(completion({ content: 'Hi' }, { logprobs: { content: logprobs, refusal: null } }))
  expect(got.output).toMatchObject([{ content: [{ logprobs }] }])
})

test.each([
  [undefined, null],
  [null, null],
  [
    { prompt_tokens: 3, completion_tokens: 2 },
    { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
  ],
  [
    { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, prompt_cache_hit_tokens: 1 },
    { input_tokens_details: { cached_tokens: 1, cache_write_tokens: 0 } },
  ],
  [{ prompt_tokens: -1, completion_tokens: 'x', prompt_tokens_details: null }, null], // R77
])('§7.2 the usage %j', (usage, expected) => {
  const got = response({ ...completion({ content: 'x' }), usage }).usage
  if (expected === null) expect(got).toBeNull()
  else expect(got).toMatchObject(expected)
})

test.each([null, 'x', {}, { choices: [] }, { choices: [{}] }, { choices: [null] }, { error: {} }])(
  'R47 502 on %j instead of a completion',
  (chat) => {
    expect(() => response(chat)).toThrow(expect.objectContaining({ status: 502 }))
  },
)

test('R77, T-86 a thousand calls are read, and no more; logprobs in time proportional to them', () => {
  const calls = (length: number) =>
    Array.from({ length }, (_, n) => ({
      id: `call_${n}`,
      type: 'function',
      function: { name: 'f', arguments: '{}' },
    }))
  const asked = (length: number) => response(completion({ content: null, tool_calls: calls(length) }))
  expect(asked(1_000).output).toHaveLength(1_000)
  for (const many of [1_100, 100_000]) expect(() => asked(many)).toThrow(expect.objectContaining({ status: 502 }))
  const content = Array.from({ length: 100_000 }, () => ({ token: 'a', logprob: 0 }))
  const [said] = response(completion({ content: 'a' }, { logprobs: { content } })).output
  expect(said).toMatchObject({ content: [{ logprobs: { length: 100_000 } }] })
})
