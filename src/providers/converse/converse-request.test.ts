// 0348, R75: nothing of a chat request is dropped in silence on Converse. Every field that the official client knows is
// walked through: translated, left out and told, or refused by its name.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CONVERSE_FIELDS, CONVERSE_MESSAGE_FIELDS } from './converse-fields.ts'
import { toConverse } from './converse-request.ts'

const TYPES = readFileSync('node_modules/openai/resources/chat/completions/completions.d.ts', 'utf8')
const fieldsOf = (name: string) => {
  const body = new RegExp(`export interface ${name} \\{\\n([\\s\\S]*?)\\n\\}`).exec(TYPES)?.[1] ?? ''
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, field]) => field as string)
}

test('0348 every field that the official client knows has its place in the table', () => {
  const asked = fieldsOf('ChatCompletionCreateParamsBase')
  expect(asked.length).toBeGreaterThan(30)
  expect(asked.filter((field) => !CONVERSE_FIELDS[field])).toEqual([])
  for (const role of ['Assistant', 'User', 'Tool', 'System', 'Developer'])
    expect(fieldsOf(`ChatCompletion${role}MessageParam`).filter((field) => !CONVERSE_MESSAGE_FIELDS[field])).toEqual([])
})

const NOVA = 'us.amazon.nova-2-lite-v1:0'
const messages = [{ role: 'user', content: 'Hi' }]
const PLAIN = { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] }
const asked = (more: object) => toConverse({ model: NOVA, messages, ...more })
const bodyOf = (more: object) => {
  const made = asked(more)
  if (made.kind === 'refused') throw new Error(made.message)
  return made.body
}
const schema = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }
const tool = { type: 'function', function: { name: 'f', description: 'd', parameters: schema, strict: true } }
const SPEC = { toolSpec: { name: 'f', description: 'd', inputSchema: { json: schema }, strict: true } }

const SAID: Record<string, [value: unknown, said: object]> = {
  model: [NOVA, {}],
  messages: [messages, {}],
  max_tokens: [5, { inferenceConfig: { maxTokens: 5 } }],
  max_completion_tokens: [5, { inferenceConfig: { maxTokens: 5 } }],
  temperature: [0.5, { inferenceConfig: { temperature: 0.5 } }],
  top_p: [0.5, { inferenceConfig: { topP: 0.5 } }],
  top_k: [5, { additionalModelRequestFields: { inferenceConfig: { topK: 5 } } }],
  stop: ['END', { inferenceConfig: { stopSequences: ['END'] } }],
  stream: [true, {}],
  stream_options: [{ include_usage: true }, {}],
  n: [1, {}],
  tools: [[tool], { toolConfig: { tools: [SPEC] } }],
  tool_choice: ['required', {}], // without tools there is nothing to choose
  parallel_tool_calls: [false, {}],
  response_format: [
    { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } },
    {
      outputConfig: {
        textFormat: {
          type: 'json_schema',
          structure: { jsonSchema: { name: 'n', schema: JSON.stringify(schema) } },
        },
      },
    },
  ],
  reasoning_effort: [
    'minimal',
    { additionalModelRequestFields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'low' } } },
  ],
  service_tier: ['flex', { serviceTier: { type: 'flex' } }],
  cache_control: [
    { type: 'ephemeral' },
    { messages: [{ role: 'user', content: [{ text: 'Hi' }, { cachePoint: { type: 'default' } }] }] },
  ],
  additionalModelRequestFields: [{ k: 5 }, { additionalModelRequestFields: { k: 5 } }],
}

test.each(Object.entries(CONVERSE_FIELDS))('0348 %s on Converse is as the table says', (field, { fate }) => {
  const [value = 'x', said = {}] = SAID[field] ?? []
  const made = asked({ [field]: value })
  if (fate === 'refused') {
    expect(made).toEqual({ kind: 'refused', message: expect.stringContaining(`'${field}' cannot be used`) })
    return
  }
  expect(made).toMatchObject({ kind: 'request', left_out: fate === 'left out, and told' ? [field] : [] })
  expect(made.kind === 'request' && made.body).toEqual({ ...PLAIN, ...said })
})

test.each(Object.entries(CONVERSE_MESSAGE_FIELDS))('0348 %s of a message is as the table says', (field, { fate }) => {
  if (fate === 'translated') return // below, in a conversation
  const made = asked({ messages: [{ role: 'assistant', content: 'a', [field]: 'x' }] })
  if (fate === 'refused')
    expect(made).toEqual({ kind: 'refused', message: expect.stringContaining(`'messages[0].${field}'`) })
  else expect(made).toMatchObject({ left_out: fate === 'left out, and told' ? [`messages[].${field}`] : [] })
})

test('0348 a conversation: system apart, images, files, calls, their results, and where the cache ends', () => {
  const image_url = { url: 'data:image/jpg;base64,aW1n' }
  const file = (filename: string) => ({
    type: 'file',
    file: { filename, file_data: 'data:application/pdf;base64,cGRm' },
  })
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":"b"}' } }
  const long = { type: 'ephemeral', ttl: '1h' }
  const body = bodyOf({
    tools: [{ ...tool, cache_control: { type: 'ephemeral', ttl: '5m' } }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be short.', cache_control: long }] },
      { role: 'developer', content: 'And kind.' },
      {
        role: 'user',
        content: [{ type: 'text', text: 'Look.' }, { type: 'image_url', image_url }, file('a_b.pdf'), file('a_b.pdf')],
      },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
      { role: 'user', content: 'And now?' },
    ],
  })
  const document = (name: string) => ({ document: { format: 'pdf', name, source: { bytes: 'cGRm' } } })
  expect(body).toEqual({
    system: [{ text: 'Be short.' }, { cachePoint: { type: 'default', ttl: '1h' } }, { text: 'And kind.' }],
    messages: [
      {
        role: 'user',
        content: [
          { text: 'Look.' },
          { image: { format: 'jpeg', source: { bytes: 'aW1n' } } },
          document('a b pdf'),
          document('a b pdf (2)'),
        ],
      },
      { role: 'assistant', content: [{ toolUse: { toolUseId: 'c1', name: 'f', input: { a: 'b' } } }] },
      {
        role: 'user',
        content: [{ toolResult: { toolUseId: 'c1', content: [{ text: 'done' }] } }, { text: 'And now?' }],
      },
    ],
    toolConfig: { tools: [SPEC, { cachePoint: { type: 'default' } }], toolChoice: { tool: { name: 'f' } } },
  })
})

const called = [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '' } }],
  },
  { role: 'tool', tool_call_id: 'c', content: 'x' },
]
const image = (url: string) => [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]

test.each([
  [{ messages: image('https://example.com/a.png') }, "'messages[0].content[0].image_url.url' must be a data URI"],
  [{ messages: image('s3://bucket/of-the-account.png') }, "'messages[0].content[0].image_url.url' must be a data URI"],
  [{ messages: image('data:image/tiff;base64,AA==') }, "'messages[0].content[0].image_url.url' must be"],
  [
    { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'data:video/mp4;base64,AA==' } }] }] },
    "'messages[0].content[0].file.file_data'",
  ],
  [{ messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, "'messages[0].content[0].type'"],
  [{ messages: [{ role: 'system', content: image('data:image/png;base64,AA==')[0]?.content }] }, 'role system'],
  [{ response_format: { type: 'json_object' } }, "'response_format'"],
  [{ reasoning_effort: 'extreme' }, "'reasoning_effort'"],
  [{ service_tier: 'scale' }, "'service_tier'"],
  [{ n: 2 }, "'n' must be 1"],
  [{ tools: [{ type: 'web_search' }] }, "'tools[0].type'"],
  [{ tools: [tool], tool_choice: { type: 'allowed_tools' } }, "'tool_choice'"],
  [{ tools: [tool], tool_choice: 'none', messages: called }, "'tool_choice' cannot be none"],
  [{ max_gen_len: 100_000 }, "'max_gen_len'"],
  [{ additionalModelRequestFields: { inferenceConfig: { maxTokens: 100_000 } } }, "'inferenceConfig'"],
  [{ additionalModelRequestFields: { maxTokenCount: 100_000 } }, "'maxTokenCount'"],
  [{ additionalModelRequestFields: [] }, "'additionalModelRequestFields'"],
])('0348 %j is refused by name', (more, named) => {
  expect(asked(more)).toEqual({ kind: 'refused', message: expect.stringContaining(named) })
})

test('0348 no tool is to be called: none is told of', () => {
  expect(bodyOf({ tools: [tool], tool_choice: 'none' })).toEqual(PLAIN)
})

test('0348 what is not known goes to the model, which refuses what it does not know', () => {
  expect(bodyOf({ safe_prompt: true, max_tokens: 5 })).toMatchObject({
    additionalModelRequestFields: { safe_prompt: true },
    inferenceConfig: { maxTokens: 5 },
  })
})

test('0348 effort and top_k of models that are no Nova go by their usual names', () => {
  const made = toConverse({ model: 'openai.gpt-oss-20b-1:0', messages, reasoning_effort: 'low', top_k: 3 })
  expect(made).toMatchObject({ body: { additionalModelRequestFields: { reasoning_effort: 'low', top_k: 3 } } })
})

test.each([
  ['logprobs', false],
  ['top_logprobs', 0],
  ['logit_bias', {}],
  ['modalities', ['text']],
  ['presence_penalty', 0],
  ['store', false],
])('0348 %s of %j says nothing, and is taken', (field, value) => {
  expect(asked({ [field]: value })).toMatchObject({ kind: 'request', left_out: [], body: PLAIN })
})

test('R77 parameters that are a text or a list are refused: each of their characters would be a field', () => {
  for (const parameters of ['abc', ['abc']])
    expect(asked({ tools: [{ type: 'function', function: { name: 'f', parameters } }] })).toEqual({
      kind: 'refused',
      message: "'tools[0].function.parameters' must be an object.",
    })
})

test('0348 files of one name are numbered, however many there are', () => {
  const file = { type: 'file', file: { filename: 'a', file_data: 'data:application/pdf;base64,AA==' } }
  const content = [...Array(20_000).fill(file), { ...file, file: { ...file.file, filename: 'a (2)' } }]
  const [turn] = bodyOf({ messages: [{ role: 'user', content }] }).messages as [{ content: { document: object }[] }]
  expect(turn.content[1]?.document).toMatchObject({ name: 'a (2)' })
  expect(turn.content[19_999]?.document).toMatchObject({ name: 'a (20000)' })
  expect(turn.content[20_000]?.document).toMatchObject({ name: 'a (2) (2)' })
})
