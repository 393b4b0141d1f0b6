// R81: a chat stream, however it is cut, told as the events of a message; and a whole completion as a message.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MessageEvents } from './message-events.ts'
import { messageFrom } from './message-from-chat.ts'
import { MessageJoin } from './message-join.ts'

const chunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', model: 'm', choices: [{ index: 0, delta, ...more }] })}\n\n`
const USAGE = { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } }
const STREAM = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ reasoning_content: 'hm ' }),
  chunk({ reasoning_content: 'ä' }),
  chunk({ content: 'Let me ' }),
  chunk({ content: 'see.' }),
  chunk({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: '' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }),
  chunk({ tool_calls: [{ index: 1, id: 'call_2', function: { name: 'g', arguments: '{}' } }] }),
  chunk({}, { finish_reason: 'tool_calls' }),
  `data: ${JSON.stringify({ id: 'chatcmpl-1', choices: [], usage: USAGE })}\n\n`,
  'data: [DONE]\n\n',
]

function events(parts: readonly Buffer[]) {
  const told = new MessageEvents()
  const text = [...parts.map((part) => told.push(part)), told.end()].join('')
  return text
    .split('\n\n')
    .filter((one) => one !== '')
    .map((one) => {
      const [name, data] = one.split('\n')
      const event = JSON.parse((data as string).slice('data: '.length))
      expect(name).toBe(`event: ${event.type}`)
      return event
    })
}

const CONTENT = [
  { type: 'thinking', thinking: 'hm ä', signature: '' },
  { type: 'text', text: 'Let me see.' },
  { type: 'tool_use', id: 'call_1', name: 'f', input: { a: 1 } },
  { type: 'tool_use', id: 'call_2', name: 'g', input: {} },
]
const TOLD_USAGE = { input_tokens: 6, cache_creation_input_tokens: 0, cache_read_input_tokens: 4, output_tokens: 5 }

test('R81 thinking, text and calls in blocks of their own, the usage at the end', async () => {
  const told = events([Buffer.from(STREAM.join(''))])
  const join = new MessageJoin()
  for (const event of told) join.add(event)
  expect(await join.content()).toEqual(CONTENT)
  expect(told[0]).toMatchObject({ type: 'message_start', message: { id: 'msg_1', model: 'm', content: [] } })
  expect(told.at(-2)).toEqual({
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: TOLD_USAGE,
  })
  expect(told.at(-1)).toEqual({ type: 'message_stop' })
  const opened = told.filter(({ type }) => type === 'content_block_start').map(({ index }) => index)
  const closed = told.filter(({ type }) => type === 'content_block_stop').map(({ index }) => index)
  expect([opened, closed]).toEqual([
    [0, 1, 2, 3],
    [0, 1, 2, 3],
  ])
})

test('R81 the same events, wherever the bytes are cut', () => {
  const bytes = Buffer.from(STREAM.join(''))
  const whole = events([bytes])
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), bytes.length]
      const parts = at.slice(1).map((to, n) => bytes.subarray(at[n] as number, to))
      expect(events(parts)).toEqual(whole)
    }),
    { numRuns: 50 },
  )
})

test('R81 a whole completion is the same message', async () => {
  const tool_calls = [
    { id: 'call_1', function: { name: 'f', arguments: '{"a":1}' } },
    { id: 'call_2', function: { name: 'g', arguments: '' } },
  ]
  const message = { content: 'Let me see.', reasoning_content: 'hm ä', tool_calls }
  const whole = { id: 'chatcmpl-1', model: 'm', choices: [{ message, finish_reason: 'tool_calls' }], usage: USAGE }
  expect(await messageFrom(whole)).toEqual({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: CONTENT,
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: TOLD_USAGE,
  })
})

// The same rule as on /v1, or one surface is cheaper than the other.
test.each([
  [
    'beside what was said (xAI)',
    {
      prompt_tokens: 12,
      completion_tokens: 1,
      total_tokens: 399,
      completion_tokens_details: { reasoning_tokens: 386 },
    },
    { input_tokens: 12, output_tokens: 387 },
  ],
  [
    'in the total alone (Gemini)',
    { prompt_tokens: 9, completion_tokens: 1, total_tokens: 103 },
    { input_tokens: 9, output_tokens: 94 },
  ],
  [
    'within what was said (OpenAI)',
    { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, completion_tokens_details: { reasoning_tokens: 3 } },
    { input_tokens: 10, output_tokens: 5 },
  ],
])('R42, R81 reasoning that stands %s is told, whole and streamed', async (_where, usage, told) => {
  const message = { content: 'Four.' }
  const whole = await messageFrom({ id: 'chatcmpl-1', model: 'm', choices: [{ message }], usage })
  expect(whole.usage).toMatchObject(told)
  const last = `data: ${JSON.stringify({ id: 'chatcmpl-1', choices: [], usage })}\n\ndata: [DONE]\n\n`
  expect(events([Buffer.from(chunk(message) + last)]).at(-2)).toMatchObject({ type: 'message_delta', usage: told })
})

test.each([
  ['stop', 'end_turn'],
  ['length', 'max_tokens'],
  ['content_filter', 'refusal'],
  ['something new', 'end_turn'],
])('R81 %s is %s', (finish_reason, stop_reason) => {
  const told = events([Buffer.from(`${chunk({ content: 'a' }, { finish_reason })}data: [DONE]\n\n`)])
  expect(told.at(-2)).toMatchObject({ delta: { stop_reason } })
})

test.each([
  ['an error event', 'data: {"error":{"message":"busy"}}\n\n', 'busy'],
  ['an end in the middle', '', 'ended in the middle'],
  ['calls that are mixed', chunk({ tool_calls: [{ index: 3, function: { arguments: 'x' } }] }), 'mixed'],
])('R47, R81 %s is told as an error, and nothing follows', (_what, broken, message) => {
  const told = events([Buffer.from(chunk({ content: 'a' }) + broken + (broken ? 'data: [DONE]\n\n' : ''))])
  expect(told.at(-1)).toMatchObject({ type: 'error', error: { message: expect.stringContaining(message) } })
  expect(told.some(({ type }) => type === 'message_stop')).toBe(false)
})
