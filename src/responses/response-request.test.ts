// What /v1/responses takes, and the words in which it refuses the rest.
import { expect, test } from 'vitest'
import { readResponseRequest } from './response-request.ts'

const asked = { model: 'gpt-4o-mini', input: 'Hello' }

test('§7.2 a plain text is one user message, and what is left out has its default', () => {
  expect(readResponseRequest(asked)).toEqual({
    model: 'gpt-4o-mini',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
    instructions: null,
    previous_response_id: null,
    store: true,
    stream: false,
    max_output_tokens: null,
    temperature: null,
    top_p: null,
    top_logprobs: null,
    tools: [],
    tool_choice: null,
    parallel_tool_calls: null,
    text: {},
    reasoning: {},
    include: [],
    metadata: {},
    truncation: 'disabled',
    user: null,
    conversation: null,
    prompt: null,
    others: {},
    unread: [],
  })
})

test('§7.2 null says the same as leaving a field out', () => {
  const fields = Object.keys(readResponseRequest(asked)).filter(
    (field) => !['model', 'input', 'others', 'unread'].includes(field),
  )
  const nulls = Object.fromEntries([...fields, 'background', 'stream_options'].map((field) => [field, null]))
  expect(readResponseRequest({ ...asked, ...nulls })).toEqual(readResponseRequest(asked))
})

test('R9 what we do not know goes along on /v1 and is ignored on /v2', () => {
  const body = { ...asked, top_k: 5, chat_template_kwargs: { thinking: false }, background: false, truncation: null }
  expect(readResponseRequest(body).others).toEqual({ top_k: 5, chat_template_kwargs: { thinking: false } })
  expect(readResponseRequest(body, 'v2').others).toEqual({})
})

test('§7.2 items and tools that we do not know are for the upstream to judge', () => {
  const { input, tools } = readResponseRequest({
    ...asked,
    input: [
      { type: 'computer_call', id: 'cu_1' },
      { role: 'user', content: 'x' },
    ],
    tools: [{ type: 'web_search' }],
  })
  expect([input.length, tools]).toEqual([2, [{ type: 'web_search' }]])
})

test('§7.2 a conversation may go on without new input', () => {
  const { input } = readResponseRequest({ model: 'm', previous_response_id: 'resp_1' })
  expect(input).toEqual([])
  expect(readResponseRequest({ model: 'm', input: [], previous_response_id: 'resp_1' }).input).toEqual([])
})

const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']))

test.each<[string, object, string]>([
  ['no model', { model: undefined }, "'model' is required."],
  ['an empty model', { model: '' }, "'model' must be a non-empty string."],
  ['a number for a model', { model: 5 }, "'model' must be a non-empty string."],
  ['no input', { input: undefined }, "'input' is required."],
  ['null for input', { input: null }, "'input' is required."],
  ['a number for input', { input: 5 }, "'input' must be a string or an array of items."],
  ['an empty list', { input: [] }, "'input' must have at least 1 entry."],
  ['a text in the list', { input: ['x'] }, "'input[0]' must be an object."],
  ['a type that is no text', { input: [{ role: 'user' }, { type: 1 }] }, "'input[1].type' must be a string."],
  ['background work', { background: true }, "'background' must not be true here:"],
  ['background as a text', { background: 'yes' }, "'background' must be a boolean."],
  [
    'two ways to go on',
    { previous_response_id: 'resp_1', conversation: 'conv_1' },
    "'previous_response_id' must not be used together with 'conversation'.",
  ],
  [
    'stream options without a stream',
    { stream_options: {} },
    "'stream_options' must be used only with 'stream': true.",
  ],
  ['another kind of id', { previous_response_id: 'msg_1' }, "'previous_response_id' must be the id of a response"],
  ['NUL in an id', { previous_response_id: 'resp_\0' }, "'previous_response_id' must be the id of a response"],
  ['an id without end', { previous_response_id: `resp_${'x'.repeat(200)}` }, "'previous_response_id' must be the id"],
  ['an id that is no text', { previous_response_id: 5 }, "'previous_response_id' must be a string."],
  ['instructions as a list', { instructions: [] }, "'instructions' must be a string."],
  ['store as a text', { store: 'true' }, "'store' must be a boolean."],
  ['stream as a number', { stream: 1 }, "'stream' must be a boolean."],
  ['no output at all', { max_output_tokens: 0 }, "'max_output_tokens' must be a whole number from 1 up."],
  ['half a token', { max_output_tokens: 1.5 }, "'max_output_tokens' must be a whole number from 1 up."],
  ['too hot', { temperature: 2.1 }, "'temperature' must be a number from 0 to 2."],
  ['temperature as a text', { temperature: '1' }, "'temperature' must be a number from 0 to 2."],
  ['top_p above 1', { top_p: 1.1 }, "'top_p' must be a number from 0 to 1."],
  ['too many logprobs', { top_logprobs: 21 }, "'top_logprobs' must be a whole number from 0 to 20."],
  ['tools as an object', { tools: {} }, "'tools' must be an array."],
  ['a tool as a text', { tools: ['f'] }, "'tools[0]' must be an object."],
  ['a tool without a type', { tools: [{ type: 'function' }, {}] }, "'tools[1].type' must be a string."],
  ['a number for a choice', { tool_choice: 1 }, "'tool_choice' must be a string or an object."],
  ['text as a text', { text: 'x' }, "'text' must be an object."],
  ['a format as a text', { text: { format: 'json' } }, "'text.format' must be an object."],
  ['a format without a type', { text: { format: {} } }, "'text.format.type' must be a string."],
  ['reasoning as a text', { reasoning: 'high' }, "'reasoning' must be an object."],
  ['numbers to include', { include: [1] }, "'include' must be an array of strings."],
  ['an unknown truncation', { truncation: 'x' }, "'truncation' must be 'auto' or 'disabled'."],
  ['metadata as a list', { metadata: [] }, "'metadata' must be an object."],
  ['17 pairs', { metadata: pairs(17) }, "'metadata' must have at most 16 pairs."],
  ['a long key', { metadata: { ['k'.repeat(65)]: 'v' } }, "'metadata' must have keys of at most 64 characters."],
  ['a number as a value', { metadata: { a: 1 } }, "'metadata.a' must be a string."],
  ['a long value', { metadata: { a: 'v'.repeat(513) } }, "'metadata.a' must have at most 512 characters."],
])('§7.2 400 on %s', (_what, wrong, message) => {
  expect(() => readResponseRequest({ ...asked, ...wrong })).toThrow(
    expect.objectContaining({ status: 400, message: expect.stringContaining(message) }),
  )
})

test.each([null, undefined, [], 'x', 5])('§7.2 400 on %j for a body', (body) => {
  expect(() => readResponseRequest(body)).toThrow('The body must be a JSON object.')
})

test('§7.2 metadata at its limits is taken', () => {
  const metadata = { ...pairs(15), ['k'.repeat(64)]: 'v'.repeat(512) }
  expect(readResponseRequest({ ...asked, metadata }).metadata).toEqual(metadata)
})
