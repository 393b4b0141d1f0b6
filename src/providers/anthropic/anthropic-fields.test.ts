// R75, R81: nothing of a chat request is dropped in silence on an upstream that speaks Messages. Every field that the
// official client knows is walked through: translated, kept, left out and told, or refused by its name.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CHAT_FIELDS, CHAT_MESSAGE_FIELDS } from './anthropic-fields.ts'
import { toMessages } from './anthropic-request.ts'

const TYPES = readFileSync('node_modules/openai/resources/chat/completions/completions.d.ts', 'utf8')
const fieldsOf = (name: string) => {
  const body = new RegExp(`export interface ${name} \\{\\n([\\s\\S]*?)\\n\\}`).exec(TYPES)?.[1] ?? ''
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, field]) => field as string)
}

test('R81 every field that the official client knows has its place in the table', () => {
  const asked = fieldsOf('ChatCompletionCreateParamsBase')
  expect(asked.length).toBeGreaterThan(30)
  expect(asked.filter((field) => !CHAT_FIELDS[field])).toEqual([])
  for (const role of ['Assistant', 'User', 'Tool', 'System', 'Developer'])
    expect(fieldsOf(`ChatCompletion${role}MessageParam`).filter((field) => !CHAT_MESSAGE_FIELDS[field])).toEqual([])
})

const messages = [{ role: 'user', content: 'Hi' }]
const PLAIN = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] }
const translated = (more: object) => toMessages({ model: 'm', messages, ...more }, 9)
const schema = { type: 'object', properties: {}, additionalProperties: false }
const tool = { type: 'function', function: { name: 'f', parameters: schema, strict: true } }

const SAID: Record<string, [value: unknown, said: object]> = {
  model: ['m', {}],
  messages: [messages, {}],
  max_tokens: [5, { max_tokens: 5 }],
  max_completion_tokens: [5, { max_tokens: 5 }],
  temperature: [0.5, { temperature: 0.5 }],
  top_p: [0.5, { top_p: 0.5 }],
  top_k: [5, { top_k: 5 }],
  thinking: [{ type: 'adaptive' }, { thinking: { type: 'adaptive' } }],
  cache_control: [{ type: 'ephemeral' }, { cache_control: { type: 'ephemeral' } }],
  output_config: [{ effort: 'max' }, { output_config: { effort: 'max' } }],
  stop: ['END', { stop_sequences: ['END'] }],
  stream: [true, { stream: true }],
  stream_options: [{ include_usage: true }, {}],
  n: [1, {}],
  tools: [[tool], { tools: [{ name: 'f', input_schema: schema, strict: true }] }],
  tool_choice: ['required', {}], // without tools there is nothing to choose
  parallel_tool_calls: [false, {}],
  response_format: [
    { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } },
    { output_config: { format: { type: 'json_schema', schema } } },
  ],
  reasoning_effort: ['minimal', { output_config: { effort: 'low' } }],
  user: ['u', { metadata: { user_id: 'u' } }],
  safety_identifier: ['u', { metadata: { user_id: 'u' } }],
  service_tier: ['default', { service_tier: 'standard_only' }],
}

test.each(Object.entries(CHAT_FIELDS))('R81 %s on Messages is as the table says', (field, { fate }) => {
  const [value = 'x', said = {}] = SAID[field] ?? []
  const made = translated({ [field]: value })
  if (fate === 'refused') {
    expect(made).toEqual({ kind: 'refused', message: expect.stringContaining(`'${field}' cannot be used`) })
    return
  }
  expect(made).toMatchObject({ kind: 'request', left_out: fate === 'left out, and told' ? [field] : [] })
  expect(made.kind === 'request' && made.body).toEqual({ ...PLAIN, ...said })
})

test.each([
  ['logprobs', false],
  ['top_logprobs', 0],
  ['logit_bias', {}],
  ['modalities', ['text']],
  ['frequency_penalty', 0],
  ['store', false],
])('R81 %s of %j says nothing, and is taken', (field, value) => {
  expect(translated({ [field]: value })).toMatchObject({ kind: 'request', left_out: [], body: PLAIN })
})

test.each([
  [{ temperature: 1.5 }, "'temperature'"],
  [{ response_format: { type: 'json_object' } }, "'response_format'"],
  [{ reasoning_effort: 'extreme' }, "'reasoning_effort'"],
  [{ service_tier: 'flex' }, "'service_tier'"],
  [{ messages: [{ role: 'assistant', content: 'a', reasoning_content: 'hm' }] }, "'messages[0].reasoning_content'"],
])('R81 %j is refused by name', (more, named) => {
  expect(translated(more)).toEqual({ kind: 'refused', message: expect.stringContaining(named) })
})

// Fields of Messages itself, which the translation says by others or which nobody has looked at.
test.each([
  ['system', [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }]],
  ['anthropic_beta', ['context-1m-2025-08-07']],
  ['betas', ['context-1m-2025-08-07']],
  ['anthropic_version', 'bedrock-2023-05-31'],
])('R76, R81 %s of a chat request is refused by name', (field, value) => {
  expect(translated({ [field]: value })).toEqual({
    kind: 'refused',
    message: expect.stringContaining(`'${field}' cannot be used`),
  })
})

test('R81 what is not known goes along, and never in the place of what is', () => {
  expect(translated({ from_the_future: 1, max_tokens: 5 })).toMatchObject({
    body: { from_the_future: 1, max_tokens: 5 },
  })
})

test('R75 fields of a message that are not told are named once', () => {
  const named = ['a', 'b'].map((name) => ({ role: 'user', content: 'Hi', name }))
  expect(translated({ messages: named })).toMatchObject({ left_out: ['messages[].name'] })
})

test('R81 no effort is no thinking', () => {
  expect(translated({ reasoning_effort: 'none' })).toMatchObject({ body: { thinking: { type: 'disabled' } } })
})
