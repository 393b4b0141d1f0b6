// A Responses request, said as a chat completions request.
import { expect, test } from 'vitest'
import { readResponseRequest } from './response-request.ts'
import { chatRequestFrom } from './to-chat.ts'

type Items = Record<string, unknown>[]

const chat = (more: object, history: Items = []) =>
  chatRequestFrom(readResponseRequest({ model: 'm', input: 'Hello', ...more }), history)
const messages = (input: Items, history: Items = []) => chat({ input }, history).messages

const call = (call_id: string, more: object = {}) => ({
  type: 'function_call',
  call_id,
  name: 'weather',
  arguments: '{"city":"Bern"}',
  ...more,
})
const output = (call_id: string, said: unknown = 'rain') => ({ type: 'function_call_output', call_id, output: said })
const chatCall = (id: string) => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: '{"city":"Bern"}' },
})
const said = (text: string) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
const user = (content: unknown) => ({ role: 'user', content })

test('§7.2 a plain text is all that a plain request becomes', () => {
  expect(chat({})).toEqual({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] })
})

test('§7.2 instructions stand before everything, and only those of this request', () => {
  expect(chat({ instructions: 'Be brief.' }, [user('Before'), said('Yes.')]).messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Before' },
    { role: 'assistant', content: 'Yes.' },
    { role: 'user', content: 'Hello' },
  ])
})

test('§7.2 parameters are said in the words of chat', () => {
  const body = {
    max_output_tokens: 64,
    temperature: 0.2,
    top_p: 0.9,
    user: 'u1',
    reasoning: { effort: 'low', summary: 'auto' },
    text: { verbosity: 'low' },
    stream: true,
    store: false,
    metadata: { a: 'b' },
    truncation: 'auto',
    include: ['reasoning.encrypted_content'],
    service_tier: 'flex',
    prompt_cache_key: 'k',
    top_k: 5,
  }
  expect(chat(body)).toEqual({
    model: 'm',
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 64,
    temperature: 0.2,
    top_p: 0.9,
    user: 'u1',
    reasoning_effort: 'low',
    verbosity: 'low',
    stream: true,
    stream_options: { include_usage: true },
    service_tier: 'flex',
    prompt_cache_key: 'k',
    top_k: 5,
  })
})

test('§7.2 the output limit goes by the name that the upstream knows', () => {
  const request = readResponseRequest({ model: 'm', input: 'x', max_output_tokens: 7 })
  expect(chatRequestFrom(request, [], 'max_completion_tokens')).toMatchObject({ max_completion_tokens: 7 })
})

test('R43 nothing that would multiply or unbind the output gets past us as an unknown field', () => {
  expect(chat({ n: 100, max_tokens: 1e9, max_completion_tokens: 1e9, messages: [] })).toEqual(chat({}))
})

test.each([
  [{ include: ['message.output_text.logprobs'] }, { logprobs: true }],
  [
    { include: ['message.output_text.logprobs'], top_logprobs: 3 },
    { logprobs: true, top_logprobs: 3 },
  ],
  [{ top_logprobs: 2 }, { logprobs: true, top_logprobs: 2 }],
])('§7.2 logprobs: %j', (body, expected) => {
  expect(chat(body)).toMatchObject(expected)
  expect(chat({ top_logprobs: 0 })).not.toHaveProperty('logprobs')
})

test.each([
  [{ type: 'text' }, undefined],
  [{ type: 'json_object' }, { type: 'json_object' }],
  [
    { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true },
    { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } },
  ],
])('§7.2 the format %j', (format, expected) => {
  expect(chat({ text: { format } }).response_format).toEqual(expected)
})

test('§7.2 parts of a message: text, images, files, audio', () => {
  const audio = { data: 'AAAA', format: 'wav' }
  const content = [
    { type: 'input_text', text: 'Look:' },
    { type: 'input_image', image_url: 'https://x.test/a.png', detail: 'auto' },
    { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'original' },
    { type: 'input_image', image_url: 'https://x.test/b.png' },
    { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
    { type: 'input_audio', input_audio: audio },
  ]
  expect(messages([{ role: 'user', content }])[0]?.content).toEqual([
    { type: 'text', text: 'Look:' },
    { type: 'image_url', image_url: { url: 'https://x.test/a.png', detail: 'auto' } },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'high' } },
    { type: 'image_url', image_url: { url: 'https://x.test/b.png' } },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
    { type: 'input_audio', input_audio: audio },
  ])
})

test('§7.2 roles: developer is system, and one text part is a plain text', () => {
  const part = (text: string) => [{ type: 'input_text', text }]
  expect(
    messages([
      { role: 'developer', content: part('a') },
      { role: 'system', content: 'b' },
      { type: 'message', role: 'user', content: [...part('c'), ...part('d')] },
      { role: 'assistant', content: 'e' },
      {
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'f' },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
    ]),
  ).toEqual([
    { role: 'system', content: 'a' },
    { role: 'system', content: 'b' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'c' },
        { type: 'text', text: 'd' },
      ],
    },
    { role: 'assistant', content: 'e' },
    { role: 'assistant', content: 'fNo.' },
  ])
})

test('§7.2 the calls of one turn stand in one message with its text, and reasoning is left out', () => {
  const turn = [{ type: 'reasoning', id: 'rs_1', summary: [] }, said('Let me see.'), call('c1'), call('c2')]
  const expected = [
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', content: 'Let me see.', tool_calls: [chatCall('c1'), chatCall('c2')] },
    { role: 'tool', tool_call_id: 'c2', content: 'snow' },
    { role: 'tool', tool_call_id: 'c1', content: 'rain' },
  ]
  expect(messages([output('c2', 'snow'), output('c1')], [user('Weather?'), ...turn])).toEqual(expected)
  expect(messages([user('Weather?'), ...turn, output('c2', 'snow'), output('c1')])).toEqual(expected)
})

test('§7.2 calls without text, turn after turn, even where an upstream uses an id again', () => {
  expect(messages([user('x'), call('c'), output('c'), call('c'), output('c', 'sun')])).toEqual([
    { role: 'user', content: 'x' },
    { role: 'assistant', content: null, tool_calls: [chatCall('c')] },
    { role: 'tool', tool_call_id: 'c', content: 'rain' },
    { role: 'assistant', content: null, tool_calls: [chatCall('c')] },
    { role: 'tool', tool_call_id: 'c', content: 'sun' },
  ])
})

test('§7.2 text behind a call joins its message, so that the outputs still follow it', () => {
  expect(messages([call('c1'), said('One moment.'), output('c1')])).toEqual([
    { role: 'assistant', content: 'One moment.', tool_calls: [chatCall('c1')] },
    { role: 'tool', tool_call_id: 'c1', content: 'rain' },
  ])
})

test('§7.2 an answer that said nothing is no message', () => {
  expect(messages([user('x')], [user('a'), said('')])).toEqual([
    { role: 'user', content: 'a' },
    { role: 'user', content: 'x' },
  ])
})

test("§7.2 a tool's output may have parts", () => {
  const texts = [
    { type: 'input_text', text: 'a' },
    { type: 'input_text', text: 'b' },
  ]
  expect(messages([call('c'), output('c', texts)])[1]?.content).toBe('ab')
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' }
  expect(messages([call('c'), output('c', [image])])[1]?.content).toEqual([
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
  ])
})

const weather = { type: 'function', name: 'weather', description: 'd', parameters: { type: 'object' }, strict: true }
const time = { type: 'function', name: 'time', parameters: null }
const chatWeather = {
  type: 'function',
  function: { name: 'weather', description: 'd', parameters: { type: 'object' }, strict: true },
}

test('§7.2 functions, and which of them to use', () => {
  expect(chat({ tools: [weather, time], parallel_tool_calls: false })).toMatchObject({
    tools: [chatWeather, { type: 'function', function: { name: 'time' } }],
    parallel_tool_calls: false,
  })
  for (const choice of ['auto', 'none', 'required'])
    expect(chat({ tools: [weather], tool_choice: choice }).tool_choice).toBe(choice)
  expect(chat({ tools: [weather], tool_choice: { type: 'function', name: 'weather' } }).tool_choice).toEqual({
    type: 'function',
    function: { name: 'weather' },
  })
})

test('§7.2 of allowed tools only those are offered', () => {
  const tool_choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'weather' }] }
  expect(chat({ tools: [weather, time], tool_choice })).toMatchObject({ tools: [chatWeather], tool_choice: 'required' })
})

test('§7.2 without tools there is nothing to choose, and upstreams refuse a choice', () => {
  expect(chat({ tool_choice: 'auto', parallel_tool_calls: true, tools: [] })).toEqual(chat({}))
  expect(() => chat({ tool_choice: 'required' })).toThrow("'tool_choice' must be 'auto' or 'none'")
})

test.each<[string, object, string]>([
  [
    'a hosted tool',
    { tools: [weather, { type: 'file_search' }] },
    "'tools[1]' asks for a 'file_search' tool, which the",
  ],
  ['a custom tool without a name', { tools: [{ type: 'custom' }] }, "'tools[0].name' must be a non-empty string"],
  ['a function without a name', { tools: [{ type: 'function' }] }, "'tools[0].name' must be a non-empty string."],
  ['a hosted choice', { tools: [weather], tool_choice: { type: 'file_search' } }, "'tool_choice' asks for a 'file_se"],
  [
    'allowed tools that are no list',
    { tool_choice: { type: 'allowed_tools' } },
    "'tool_choice.tools' must be an array.",
  ],
  ['a conversation', { conversation: 'conv_1' }, "'conversation' must not be used with this model"],
  ['a prompt template', { prompt: { id: 'p' } }, "'prompt' must not be used with this model"],
  ['an unknown format', { text: { format: { type: 'xml' } } }, "'text.format.type' must be 'text', 'json_object' or"],
  [
    'another item',
    { input: [user('x'), { type: 'computer_call' }] },
    "'input[1]' is an item of the type 'computer_call', which",
  ],
  [
    'a reference that nobody resolved',
    { input: [{ id: 'msg_1' }] },
    "'input[0]' is an item of the type 'item_reference'",
  ],
  ['another role', { input: [{ role: 'tool', content: 'x' }] }, "'input[0].role' must be 'user', 'assistant'"],
  ['a role that every object has', { input: [{ role: 'constructor', content: 'x' }] }, "'input[0].role' must be"],
  ['no content', { input: [{ role: 'user' }] }, "'input[0].content' must be a string or an array of parts."],
  ['a text among parts', { input: [user(['x'])] }, "'input[0].content[0]' must be an object."],
  [
    'another part',
    { input: [user([{ type: 'input_video' }])] },
    "'input[0].content[0]' is a part of the type 'input_video'",
  ],
  ['text that is none', { input: [user([{ type: 'input_text' }])] }, "'input[0].content[0].text' must be a string."],
  ['an image by its id', { input: [user([{ type: 'input_image', file_id: 'f' }])] }, "an image without an 'image_url'"],
  ['a file by its id', { input: [user([{ type: 'input_file', file_id: 'f' }])] }, "a file without its 'file_data'"],
  [
    'an image that an assistant said',
    { input: [{ role: 'assistant', content: [{ type: 'input_image', image_url: 'x' }] }] },
    "'input[0].content[0]' is a part of the type 'input_image' in an assistant",
  ],
  ['a call without arguments', { input: [call('c', { arguments: {} })] }, "'input[0].arguments' must be a string."],
  ['a call without an id', { input: [call('c', { call_id: null })] }, "'input[0].call_id' must be a string."],
  ['an output that nobody asked for', { input: [output('c9')] }, "an output for the call 'c9', which nobody made."],
  ['a call without its output', { input: [call('c1')] }, "must have a function_call_output for the call 'c1'."],
])('§7.2 400 on %s', (_what, body, message) => {
  expect(() => chat(body)).toThrow(expect.objectContaining({ status: 400, message: expect.stringContaining(message) }))
})

test('§7.2 400 on what history leads to, by the field that led there', () => {
  expect(() => chat({}, [{ type: 'web_search_call', id: 'ws_1' }])).toThrow(
    "'previous_response_id' leads to an item of the type 'web_search_call', which the upstream of this model cannot take.",
  )
})
