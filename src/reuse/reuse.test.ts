// §1: how much of a prompt was sent before, where to, and what a request may cost to find out.
import { expect, test } from 'vitest'
import { HOUR_MS } from '../core/clock.ts'
import { sealing } from '../core/sealing.ts'
import { chainRoot, prefixChain } from './prefix-chain.ts'
import { HELD_MS, seenPrefixes } from './seen-prefixes.ts'

const seals = sealing('a secret for tests, 32 characters or more')
const chainOf = (json: object, model = 'm', project = 'prj_a') =>
  prefixChain(chainRoot(seals.tenantKey(project), model), json as Record<string, unknown>, JSON.stringify(json).length)
const chain = (messages: unknown[], model = 'm', project = 'prj_a', more = {}) =>
  chainOf({ ...more, messages }, model, project)
const says = (content: unknown, role = 'user') => ({ role, content })

type Chain = ReturnType<typeof chain>
const sent = (links: Chain, target_id = 'one', project_id = 'prj_a') => ({ project_id, target_id, chain: links })

/** How many tokens of the second were in the first. */
function repeated(first: Chain, second: Chain): number {
  const seen = seenPrefixes()
  seen.note(sent(first), 0)
  return seen.note(sent(second), 1)
}

test('§1 repeated work: the next turn repeats all of the last one', () => {
  const first = chain([says('be brief', 'system'), says('hello')])
  const second = chain([says('be brief', 'system'), says('hello'), says('hi', 'assistant'), says('and now?')])
  expect(repeated(first, second)).toBe(first.at(-1)?.tokens)
  expect(seenPrefixes().note(sent(first), 0)).toBe(0)
})

test.each([
  ['an edited message', chain([says('hello!')])],
  ['another model', chain([says('hello')], 'n')],
  ['another project', chain([says('hello')], 'm', 'prj_b')],
  ['other tools', chain([says('hello')], 'm', 'prj_a', { tools: [{}] })],
  ['another role', chain([says('hello', 'system')])],
])('§1 repeated work: %s shares nothing', (_what, other) => {
  expect(repeated(chain([says('hello')]), other)).toBe(0)
})

test('§1 a text and its one-part form are the same prompt', () => {
  expect(chain([says('hello')])).toEqual(chain([says([{ type: 'text', text: 'hello' }])]))
})

test('§1 what was seen a day ago is no longer repeated', () => {
  const seen = seenPrefixes()
  seen.note(sent(chain([says('hello')])), 0)
  expect(seen.note(sent(chain([says('hello')])), 24 * HOUR_MS)).toBe(0)
})

test('§5.8 the chain holds nothing of the prompt', () => {
  expect(JSON.stringify(chain([says('a very secret plan')]))).not.toContain('secret')
})

const words = (characters: number, word = 'some words of a long text ') =>
  word.repeat(Math.ceil(characters / word.length)).slice(0, characters)

test.each([
  ['ASCII', 6_000, 'some words of a long text '],
  ['ASCII', 500_000, 'some words of a long text '],
  ['not ASCII', 6_000, 'wörter 模型 🚀 '],
  ['not ASCII', 500_000, 'wörter 模型 🚀 '],
])('§1 a long prefix inside one message is seen, %s, %i characters', (_what, characters, word) => {
  const shared = words(characters, word)
  const tokens = Buffer.byteLength(shared) / 4
  const found = repeated(
    chain([says(`${shared} and the first question`)]),
    chain([says(`${shared} but another one, ☃, which is longer`)]),
  )
  expect(found).toBeLessThanOrEqual(tokens + 2)
  expect(found).toBeGreaterThan(tokens * 0.75)
})

test('§1 a long prefix is seen behind other messages too, and in a list of tools', () => {
  const shared = words(20_000)
  const before = [says('be brief', 'system'), says(words(5_000), 'user'), says('yes', 'assistant')]
  expect(repeated(chain([...before, says(`${shared}1`)]), chain([...before, says(`${shared}2`)]))).toBeGreaterThan(
    5_500,
  )
  const tools = (last: string) => ({ tools: [{ type: 'function', function: { name: words(9_000) } }, { name: last }] })
  const [a, b] = [tools('a'), tools('b')].map((more) => chain([says('hello')], 'm', 'prj_a', more)) as [Chain, Chain]
  expect(repeated(a, b)).toBeGreaterThan(1_700)
})

test('§1 a text that says what a message boundary would is not taken for one', () => {
  const shared = words(1_024)
  const two = chain([says(shared), says('x', 'assistant')])
  expect(repeated(two, chain([says(`${shared}assistant x`)]))).toBe(two[0]?.tokens)
})

test('§1 a text of a turn is the same prompt when it comes back as kept items', () => {
  const first = chainOf({ instructions: 'be brief', input: 'hello' })
  const items = [
    {
      id: 'msg_1_i0',
      type: 'message',
      status: 'completed',
      role: 'user',
      content: [{ type: 'input_text', text: 'hello' }],
    },
    {
      id: 'rs_1',
      type: 'reasoning',
      status: 'completed',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'hm' }],
    },
    {
      id: 'msg_1_0',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'hi', annotations: [], logprobs: [] }],
    },
    { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', name: 'look', arguments: '{}' },
  ]
  const again = chainOf({ instructions: 'be brief', input: [...items, { role: 'user', content: 'and now?' }] })
  expect(again[1]).toEqual(first[1])
  const bare = items.map(({ id: _id, status: _status, ...item }) => item)
  expect(chainOf({ instructions: 'be brief', input: bare })).toEqual(again.slice(0, -1))
})

test.each([
  ['the name of a function', { name: 'other' }],
  ['its arguments', { arguments: '{"a":1}' }],
  ['its call', { call_id: 'call_2' }],
])('§1 another prompt: %s', (_what, more) => {
  const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' }
  expect(chainOf({ input: [call] }).at(-1)).not.toEqual(chainOf({ input: [{ ...call, ...more }] }).at(-1))
})

test('§1 tokens are a prompt like any other', () => {
  expect(repeated(chainOf({ prompt: [1, 2, 3] }), chainOf({ prompt: [1, 2, 3] }))).toBeGreaterThan(0)
  expect(repeated(chainOf({ prompt: [[1, 2], [3]] }), chainOf({ prompt: [[1, 2], [4]] }))).toBeGreaterThan(0)
  expect(repeated(chainOf({ prompt: [1, 2, 3] }), chainOf({ prompt: [1, 2, 4] }))).toBe(0)
})

test('R84 a target holds what it was sent last, for ten minutes', () => {
  const seen = seenPrefixes()
  const turn = chain([says('be brief', 'system'), says(words(4_000))])
  const tokens = turn.at(-1)?.tokens
  expect(seen.believe(sent(turn), 0)).toEqual({ known_tokens: 0, held_tokens: 0 })
  seen.note(sent(turn, 'one'), 0)
  expect(seen.believe(sent(turn, 'one'), 1)).toEqual({ known_tokens: tokens, held_tokens: tokens })
  expect(seen.believe(sent(turn, 'two'), 1)).toEqual({ known_tokens: tokens, held_tokens: 0 })
  expect(seen.believe(sent(turn, 'one'), HELD_MS)).toEqual({ known_tokens: 0, held_tokens: 0 })
  seen.note(sent(turn.slice(0, 1), 'two'), 2)
  expect(seen.believe(sent(turn, 'two'), 3)).toEqual({ known_tokens: tokens, held_tokens: turn[0]?.tokens })
  expect(seen.believe(sent(turn, 'one', 'prj_b'), 3)).toEqual({ known_tokens: 0, held_tokens: 0 })
})

test('T-86 what is remembered has a bound, and the quietest project is forgotten first', () => {
  const seen = seenPrefixes(1_000)
  const turns = Array.from({ length: 300 }, (_, n) => says(`message ${n}`))
  for (const project of ['prj_a', 'prj_b', 'prj_c', 'prj_d'])
    seen.note(sent(chain(turns, 'm', project), 'one', project), 0)
  expect(seen.size()).toBe(900)
  expect(seen.believe(sent(chain(turns)), 1).known_tokens).toBe(0)
  expect(seen.believe(sent(chain(turns, 'm', 'prj_d'), 'one', 'prj_d'), 1).known_tokens).toBeGreaterThan(0)
})

const manyKeys = Object.fromEntries(Array.from({ length: 300_000 }, (_, n) => [`key${n}`, 1]))

test.each([
  ['members of a message', { messages: [{ ...manyKeys, role: 'user', content: 'hello' }] }],
  ['members of a tool', { tools: [manyKeys], messages: [says('hello')] }],
  ['members of a part', { messages: [says([manyKeys, { type: 'text', text: 'hello' }])] }],
  ['messages', { messages: Array.from({ length: 500_000 }, () => says('x')) }],
  ['a text', { messages: [says(words(12_000_000))] }],
  ['tokens', { prompt: Array.from({ length: 3_000_000 }, () => 1) }],
])('T-86 a body of millions of bytes, %s, is not walked through to its end', (_what, json) => {
  const bytes = 12_000_000
  const root = chainRoot(seals.tenantKey('prj_a'), 'm')
  const before = process.cpuUsage()
  const links = prefixChain(root, json, bytes)
  const { user } = process.cpuUsage(before)
  expect(links.length).toBeLessThanOrEqual(512)
  expect(links.at(-1)?.tokens).toBeLessThan(1_300_000)
  expect(user).toBeLessThan(2_000_000)
})

test('T-86 values of more members than may be walked through are not told apart', () => {
  const root = chainRoot(seals.tenantKey('prj_a'), 'm')
  const chainWith = (tool: object, bytes: number) => prefixChain(root, { tools: [tool], messages: [] }, bytes)
  expect(chainWith(manyKeys, 5_000_000)).toEqual(chainWith({ ...manyKeys, one: 'more' }, 5_000_000))
  const few = { name: 'look', parameters: { type: 'object' } }
  expect(chainWith(few, 5_000_000)).toEqual(chainWith(few, 100))
  expect(chainWith(few, 5_000_000)).not.toEqual(chainWith({ ...few, one: 'more' }, 5_000_000))
})
