// R81: nothing of a Messages request is dropped in silence. Every field that the official client knows, plain and beta,
// is walked through: over chat it is kept, translated, left out and told, or refused by its name.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { MESSAGES_FILE, withTables } from '../../scripts/write-messages-tables.ts'
import { BLOCK_FIELDS, BLOCKS, FIELDS, TOOL_FIELDS } from './chat-fields.ts'
import { chatFromMessages } from './messages-to-chat.ts'

const TYPES = ['messages/messages', 'beta/messages/messages'].map((path) =>
  readFileSync(`node_modules/@anthropic-ai/sdk/resources/${path}.d.ts`, 'utf8'),
)

const bodyOf = (types: string, name: string) =>
  new RegExp(`export interface ${name} \\{\\n([\\s\\S]*?)\\n\\}`).exec(types)?.[1] ?? ''
const fieldsOf = (types: string, name: string) =>
  [...bodyOf(types, name).matchAll(/^ {4}(\w+)\??:/gm)].map(([, field]) => field as string)
const membersOf = (types: string, name: string) =>
  (new RegExp(`export type ${name} = ([^;]+);`).exec(types)?.[1] ?? '').split('|').map((one) => one.trim())

test('R81 every field that the official client knows has its place in the tables', () => {
  const asked = TYPES.flatMap((types) => fieldsOf(types, 'MessageCreateParamsBase'))
  expect(asked.length).toBeGreaterThan(30)
  expect(asked.filter((field) => !FIELDS[field])).toEqual([])
  for (const [types, prefix] of TYPES.map((types, at) => [types, at === 0 ? '' : 'Beta'] as const)) {
    const names = membersOf(types, `${prefix}ContentBlockParam`)
    expect(names.length).toBeGreaterThan(10)
    for (const name of names) {
      const type = /^ {4}type: '(\w+)'/m.exec(bodyOf(types, name))?.[1] as string
      expect(BLOCKS, name).toHaveProperty(type)
      const fields = BLOCK_FIELDS[type]
      if (fields) expect(fieldsOf(types, name).filter((one) => one !== 'type' && !fields[one])).toEqual([])
    }
    expect(fieldsOf(types, `${prefix}Tool`).filter((field) => !TOOL_FIELDS[field])).toEqual([])
  }
})

test('docs/MESSAGES.md has the tables of the code', () => {
  const document = readFileSync(MESSAGES_FILE, 'utf8')
  expect(withTables(document) === document, 'stale: run `npm run messages-tables`').toBe(true)
})

const OPTIONS = { model: 'm', max_tokens: 7, limit_field: 'max_tokens', takes_effort: true } as const
const BASE = { model: 'claude', max_tokens: 7, messages: [{ role: 'user', content: 'hello' }] }
const told = (more: object) => chatFromMessages({ ...BASE, ...more }, OPTIONS)

/** What each field is tried with, and what chat has for it. */
const SAID: Record<string, [value: unknown, chat: object]> = {
  model: ['claude', { model: 'm' }],
  messages: [BASE.messages, { messages: [{ role: 'user', content: 'hello' }] }],
  max_tokens: [7, { max_tokens: 7 }],
  system: [
    [
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h', scope: 'global' } },
      { type: 'text', text: 'b' },
    ],
    {
      messages: [
        { role: 'system', content: 'a\n\nb' },
        { role: 'user', content: 'hello' },
      ],
    },
  ],
  stream: [true, { stream: true, stream_options: { include_usage: true } }],
  stop_sequences: [['x'], { stop: ['x'] }],
  temperature: [0.5, { temperature: 0.5 }],
  top_p: [0.5, { top_p: 0.5 }],
  top_k: [5, { top_k: 5 }],
  metadata: [{ user_id: 'u' }, { user: 'u' }],
  tools: [
    [{ name: 'f', description: 'd', input_schema: { type: 'object' }, strict: true }],
    {
      tools: [
        { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true } },
      ],
    },
  ],
  tool_choice: [{ type: 'any' }, {}], // without tools there is nothing to choose
  thinking: [{ type: 'enabled', budget_tokens: 5_000 }, { reasoning_effort: 'medium' }],
  output_config: [
    { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
    {
      reasoning_effort: 'low',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema: { type: 'object' }, strict: true },
      },
    },
  ],
  output_format: [
    { type: 'json_schema', schema: { type: 'object' } },
    {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema: { type: 'object' }, strict: true },
      },
    },
  ],
  service_tier: ['standard_only', { service_tier: 'default' }],
  context_management: [{ edits: [] }, {}],
  diagnostics: [{}, {}],
  cache_control: [{ type: 'ephemeral' }, {}],
}

const PLAIN = { model: 'm', messages: [{ role: 'user', content: 'hello' }], max_tokens: 7 }

test.each(Object.entries(FIELDS))('R81 %s over chat is as the table says', (field, { fate }) => {
  const [value = 'x', chat = {}] = SAID[field] ?? []
  if (fate === 'refused') {
    expect(() => told({ [field]: value })).toThrow(`'${field}' cannot be said`)
    return
  }
  const { body, left_out } = told({ [field]: value })
  expect(body).toEqual({ ...PLAIN, ...chat })
  expect(left_out).toEqual(fate === 'left out, and told' ? [field] : [])
})

test('R81 a field that nobody knows is refused by its name', () => {
  expect(() => told({ from_the_future: 1 })).toThrow("'from_the_future' cannot be said")
  expect(() => told({ output_config: { task_budget: 1 } })).toThrow("'output_config.task_budget' cannot be said")
})

test('R81 what a model without reasoning is not told of is named', () => {
  const request = { ...BASE, thinking: { type: 'enabled', budget_tokens: 5_000 }, output_config: { effort: 'high' } }
  const { body, left_out } = chatFromMessages(request, { ...OPTIONS, takes_effort: false })
  expect(body).toEqual(PLAIN)
  expect(left_out).toEqual(['output_config.effort', 'thinking'])
  // To leave it to the model is what chat does by itself.
  expect(chatFromMessages({ ...BASE, thinking: { type: 'adaptive' } }, OPTIONS).left_out).toEqual([])
})

const BLOCK: Record<string, object> = {
  text: { text: 'a' },
  image: { source: { type: 'url', url: 'https://x/y.png' } },
  document: { source: { type: 'text', media_type: 'text/plain', data: 'd' } },
  tool_use: { id: 't', name: 'f', input: {} },
  tool_result: { tool_use_id: 't', content: 'r' },
  thinking: { thinking: 'hm', signature: '' },
}
const roleOf = (type: string) => (['tool_use', 'thinking'].includes(type) ? 'assistant' : 'user')
const withBlock = (type: string, more: object = {}) =>
  told({ messages: [{ role: roleOf(type), content: [{ type, ...BLOCK[type], ...more }] }] })

test.each(Object.entries(BLOCKS))('R81 a %s block over chat is as the table says', (type, { fate }) => {
  if (fate === 'refused') expect(() => withBlock(type)).toThrow("'messages[0].content[0]' cannot be said")
  else expect(() => withBlock(type)).not.toThrow()
})

test.each(
  Object.entries(BLOCK_FIELDS).flatMap(([type, fields]) =>
    Object.entries(fields).map(([field, { fate }]) => [type, field, fate] as const),
  ),
)('R81 %s.%s is %s', (type, field, fate) => {
  const given = { ...BLOCK[type], [field]: (BLOCK[type] as Record<string, unknown>)?.[field] || 'x' }
  if (fate === 'refused')
    expect(() => withBlock(type, given)).toThrow(/'messages\[0\]\.content\[0\][^']*' cannot be said/)
  else expect(() => withBlock(type, field === 'citations' ? { citations: [] } : given)).not.toThrow()
})

test.each(Object.entries(TOOL_FIELDS))('R81 %s of a tool is as the table says', (field, { fate }) => {
  const samples: Record<string, unknown> = {
    name: 'f',
    description: 'd',
    input_schema: {},
    strict: true,
    type: 'custom',
  }
  const tools = [{ name: 'f', input_schema: { type: 'object' }, [field]: samples[field] ?? ['x'] }]
  if (fate === 'refused') expect(() => told({ tools })).toThrow(`'tools[0].${field}' cannot be said`)
  else expect(() => told({ tools })).not.toThrow()
})

test('R81 a tool that the upstream would have to know is refused by its place', () => {
  expect(() => told({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] })).toThrow("'tools[0].type'")
})
