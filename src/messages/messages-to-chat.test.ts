// R81: a conversation of Messages as chat says it.
import { expect, test } from 'vitest'
import { chatFromMessages } from './messages-to-chat.ts'

const OPTIONS = { model: 'm', max_tokens: 7, limit_field: 'max_completion_tokens', takes_effort: false } as const
const chat = (messages: unknown[], more: object = {}) =>
  chatFromMessages({ model: 'claude', max_tokens: 7, messages, ...more }, OPTIONS).body

test('R81 tool calls and their results, the user’s words behind them', () => {
  const { messages, max_completion_tokens } = chat([
    { role: 'user', content: 'What is the weather?' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'look it up', signature: '' },
        { type: 'text', text: 'Let me see.', citations: null },
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Ulm' } },
        { type: 'tool_use', id: 'toolu_2', name: 'weather', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'sunny' }] },
        { type: 'tool_result', tool_use_id: 'toolu_2', content: 'no city', is_error: true, cache_control: {} },
        { type: 'text', text: 'Well?' },
      ],
    },
  ])
  expect(max_completion_tokens).toBe(7)
  expect(messages).toEqual([
    { role: 'user', content: 'What is the weather?' },
    {
      role: 'assistant',
      content: 'Let me see.',
      reasoning_content: 'look it up',
      tool_calls: [
        { id: 'toolu_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Ulm"}' } },
        { id: 'toolu_2', type: 'function', function: { name: 'weather', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'toolu_1', content: 'sunny' },
    { role: 'tool', tool_call_id: 'toolu_2', content: 'Error: no city' },
    { role: 'user', content: 'Well?' },
  ])
})

test('R81 images and documents, also those that a tool brought', () => {
  const png = { type: 'base64', media_type: 'image/png', data: 'AAAA' }
  const { messages } = chat([
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source: png }] },
        { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
        { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' } },
      ],
    },
  ])
  expect(messages).toEqual([
    { role: 'tool', tool_call_id: 't', content: '(What it brought beside text follows.)' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'From the tool call t:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        { type: 'image_url', image_url: { url: 'https://x/y.png' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' } },
      ],
    },
  ])
})

test('R81 a system message in the middle stays in its place', () => {
  const { messages } = chat([
    { role: 'user', content: 'a' },
    { role: 'system', content: 'b' },
  ])
  expect(messages).toEqual([
    { role: 'user', content: 'a' },
    { role: 'system', content: 'b' },
  ])
})

test.each([
  [
    { type: 'auto', disable_parallel_tool_use: true },
    { tool_choice: 'auto', parallel_tool_calls: false },
  ],
  [{ type: 'any' }, { tool_choice: 'required' }],
  [{ type: 'none' }, { tool_choice: 'none' }],
  [{ type: 'tool', name: 'f' }, { tool_choice: { type: 'function', function: { name: 'f' } } }],
])('R81 tool_choice %j', (tool_choice, said) => {
  expect(chat([{ role: 'user', content: 'a' }], { tools: [{ name: 'f' }], tool_choice })).toMatchObject(said)
})

test('R81 a user id that is too long goes along by its hash', () => {
  const { user } = chat([{ role: 'user', content: 'a' }], { metadata: { user_id: 'x'.repeat(65) } })
  expect(user).toMatch(/^[0-9a-f]{64}$/)
})
