// 0250: where chat gets cache breakpoints on its way to Messages.
import { expect, test } from 'vitest'
import { toMessages } from './anthropic-request.ts'
import { withBreakpoints } from './cache-breakpoints.ts'

const tool = (name: string, more: object = {}) => ({ type: 'function', function: { name }, ...more })
const system = { role: 'system', content: 'Be brief.' }
const user = (content: unknown) => ({ role: 'user', content })
const assistant = { role: 'assistant', content: 'Hello.' }

function marked(chat: object): Record<string, unknown> {
  const made = toMessages({ model: 'm', ...chat }, 9)
  return made.kind === 'request' ? withBreakpoints(made.body) : { refused: made.message }
}

/** Where breakpoints stand. */
function places(body: Record<string, unknown>): string[] {
  const found: string[] = []
  const look = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, within] of Object.entries(value))
      if (name === 'cache_control') found.push(at)
      else look(within, `${at}/${name}`)
  }
  look(body, '')
  return found.sort()
}

test('0250 one question: the tools and the system text, which come again; not the question', () => {
  expect(places(marked({ messages: [system, user('Hi')], tools: [tool('f'), tool('g')] }))).toEqual([
    '/system/0',
    '/tools/1',
  ])
})

test('0250 a conversation: its last turn too, which the next request repeats', () => {
  const body = marked({ messages: [system, user('Hi'), assistant, user('And?')], tools: [tool('f')] })
  expect(places(body)).toEqual(['/messages/2/content/0', '/system/0', '/tools/0'])
})

test('0250 a tool’s result is a turn like any other', () => {
  const calls = [{ id: 't', type: 'function', function: { name: 'f', arguments: '{}' } }]
  const turns = [
    user('Hi'),
    { role: 'assistant', tool_calls: calls },
    { role: 'tool', tool_call_id: 't', content: 'r' },
  ]
  expect(places(marked({ messages: turns }))).toEqual(['/messages/2/content/0'])
})

const ephemeral = { type: 'ephemeral' }

test.each([
  [
    'a tool',
    { messages: [system, user('Hi')], tools: [tool('f', { cache_control: ephemeral }), tool('g')] },
    '/tools/0',
  ],
  [
    'a part',
    { messages: [system, user([{ type: 'text', text: 'Hi', cache_control: ephemeral }]), assistant, user('And?')] },
    '/messages/0/content/0',
  ],
  ['the request', { messages: [system, user('Hi'), assistant, user('And?')], cache_control: ephemeral }, ''],
])('0250 where the client marked %s itself, nothing is added', (_what, chat, place) => {
  expect(places(marked(chat))).toEqual([place])
})
