import { expect, test } from 'vitest'
import { UpstreamError } from '../providers/provider.ts'
import { estimateUsage } from './token-counts.ts'
import { tokensOf } from './whole-answer.ts'

const USAGE = { prompt_tokens: 10, completion_tokens: 5 }
const TOLD = { input: 10, cached: 0, written: 0, output: 5, reasoning: 0, estimated: false }
const choices = [{ message: { content: 'eight ch' } }]
const chat = { kind: 'chat', input_estimate: 7 } as const
const embeddings = { kind: 'embeddings', input_estimate: 7 } as const
const responses = { kind: 'responses', input_estimate: 7 } as const
const bytes = (answer: unknown) => Buffer.from(JSON.stringify(answer))

test.each([
  ['at its end', { choices, usage: USAGE }, TOLD],
  ['at its beginning', { usage: USAGE, choices }, TOLD],
  ['before another of that name', { usage: USAGE, choices, x: { usage: { prompt_tokens: 1 } } }, TOLD],
  ['nowhere', { choices }, estimateUsage(7, 8)],
  ['only in something else', { choices, x: { usage: USAGE } }, estimateUsage(7, 8)],
  ['as nothing', { choices, usage: null }, estimateUsage(7, 8)],
  ['beside an error that is none', { choices, error: null, usage: USAGE }, TOLD],
  ['and a text that speaks of an error', { choices: [{ message: { content: '{"error":{}}' } }], usage: USAGE }, TOLD],
])('§6.4 a whole answer with its usage %s', (_, answer, expected) => {
  expect(tokensOf(chat, bytes(answer))).toEqual(expected)
})

// DeepSeek sends empty lines for as long as a call waits there.
test('R47 any number of blank lines may come before an answer', () => {
  const late = Buffer.from(`${'\n'.repeat(10_000)}${JSON.stringify({ choices, usage: USAGE })}`)
  expect(tokensOf(chat, late)).toEqual(TOLD)
})

test('§6.4 each kind has its own result', async () => {
  const { input, output } = await tokensOf(
    embeddings,
    bytes({ data: [{ embedding: [1] }], usage: { prompt_tokens: 3 } }),
  )
  expect([input, output]).toEqual([3, 0])
  expect(
    tokensOf(responses, bytes({ error: null, output: [], usage: { input_tokens: 10, output_tokens: 5 } })),
  ).toEqual(TOLD)
})

test.each([
  ['an error', { error: { message: 'Provider returned error', code: 502 } }],
  ['an error beside an answer', { choices, usage: USAGE, error: { message: 'no' } }],
  ['an error in one word', { error: 'overloaded' }],
  ['an error beside usage', { error: { message: 'no' }, usage: USAGE }],
  ['nothing', {}],
  ['no choices, and no usage', { id: 'x', choices: [] }],
  ['choices that are none', { choices: {}, usage: null }],
  ['the result of another kind', { data: [], usage: USAGE }],
  ['a list', [{ choices }]],
  ['a text', 'choices'],
])('R47 a 200 with %s is no answer', (_what, answer) => {
  expect(() => tokensOf(chat, bytes(answer))).toThrow(UpstreamError)
})

test.each([
  ['half a body', '{"choices":[{"message":{"content":"he'],
  ['a page', '<html>"choices" "usage":{"prompt_tokens":1}}'],
  ['nothing at all', ''],
])('R47 a 200 with %s is no answer', (_what, body) => {
  expect(() => tokensOf(chat, Buffer.from(body))).toThrow(UpstreamError)
})

test('R47 a response that failed is no answer', () => {
  const failed = { status: 'failed', error: { code: 'server_error' }, output: [], usage: { input_tokens: 1 } }
  expect(() => tokensOf(responses, bytes(failed))).toThrow(UpstreamError)
})

// R77: the same answers, with so much in them that they are searched in steps and never parsed.
const LONG = 'x'.repeat(100_000)
const filled = { id: LONG }
const said = [{ index: 0, message: { role: 'assistant', content: 'eight ch', tool_calls: [] }, finish_reason: 'stop' }]

test.each([
  ['at its end', { ...filled, choices, usage: USAGE }, TOLD],
  ['at its beginning', { usage: USAGE, choices, ...filled }, TOLD],
  ['in the middle', { choices, usage: USAGE, ...filled }, TOLD],
  ['before another of that name', { usage: USAGE, choices, ...filled, x: { usage: { prompt_tokens: 1 } } }, TOLD],
  ['nowhere', { choices: said, ...filled }, estimateUsage(7, 8)],
  ['only in something else', { choices, x: { usage: USAGE }, ...filled }, estimateUsage(7, 8)],
  ['as nothing', { choices, usage: null, ...filled }, estimateUsage(7, 8)],
  ['as what cannot be', { choices, usage: { prompt_tokens: -1 }, ...filled }, estimateUsage(7, 8)],
  ['beside an error that is none', { choices, error: null, usage: USAGE, ...filled }, TOLD],
  ['nowhere, and much said', { choices: [{ message: { content: LONG } }] }, estimateUsage(7, LONG.length)],
  ['nowhere, and 模型 said', { choices: [{ text: `模型${LONG}` }] }, estimateUsage(7, 8 + LONG.length)],
  ['nowhere, and lines said', { choices: [{ text: `\n\n${LONG}` }] }, estimateUsage(7, 2 + LONG.length)],
  [
    'nowhere, and texts in lists said',
    { choices: [{ message: { content: ['abcd', { type: 'zzzz' }, 'efgh'], other: ['zzzz'] } }], ...filled },
    estimateUsage(7, 8),
  ],
])('R77 a large answer with its usage %s', async (_, answer, expected) => {
  expect(await tokensOf(chat, bytes(answer))).toEqual(expected)
})

test.each([
  ['an error', { error: { message: 'no' }, ...filled }],
  ['an error beside an answer', { choices, usage: USAGE, error: 'no', ...filled }],
  ['no choices, and no usage', { choices: [], ...filled }],
  ['choices that are none', { choices: {}, usage: null, ...filled }],
  ['the result of another kind', { data: [], usage: USAGE, ...filled }],
  ['a list', [{ choices }, LONG]],
])('R47, R77 a large 200 with %s is no answer', async (_what, answer) => {
  await expect(async () => tokensOf(chat, bytes(answer))).rejects.toMatchObject({ failure: 'reset' })
})

test('R47, R77 the half of a large body is no answer', async () => {
  const half = bytes({ choices: [{ message: { content: LONG } }] }).subarray(0, -10)
  await expect(async () => tokensOf(chat, half)).rejects.toMatchObject({ failure: 'reset' })
})

/** As a cluster of a tenant's sent it: without `usage`, everything in it was walked through. */
const empties = (count: number) => Buffer.from(`{"choices":[${Array(count).fill('[]').join()}]}`)

test('R77 an answer without usage has at most 250,000 objects, arrays and members; beyond it, it has failed', async () => {
  expect(await tokensOf(chat, empties(249_997))).toEqual(estimateUsage(7, 0))
  await expect(async () => tokensOf(chat, empties(249_998))).rejects.toMatchObject({ failure: 'too_many_parts' })
  const members = Array.from({ length: 250_000 }, (_, n) => `"k${n}":0`)
  const wide = Buffer.from(`{"choices":[{${members.join()}}]}`)
  await expect(async () => tokensOf(chat, wide)).rejects.toMatchObject({ failure: 'too_many_parts' })
})

test('R77 an answer that nests deeper than anything means has failed', async () => {
  const deep = Buffer.from(`{"choices":${'['.repeat(10_000)}${']'.repeat(10_000)}}`)
  await expect(async () => tokensOf(chat, deep)).rejects.toMatchObject({ failure: 'too_many_parts' })
})

test('R77 what comes before the usage of an ordinary answer is not looked at, however much it is', async () => {
  const vectors = Array.from({ length: 4 }, () => ({ embedding: Array(100_000).fill(0.5) }))
  const soon = tokensOf(embeddings, bytes({ data: vectors, usage: { prompt_tokens: 3 } }))
  expect(soon).toMatchObject({ input: 3, output: 0, estimated: false })
})

test('R77 8 MB of empty lists hold nobody up: the loop turns while they are searched', async () => {
  let turns = 0
  let is_over = false
  const count = () => {
    turns++
    if (!is_over) setImmediate(count)
  }
  setImmediate(count)
  const many = Buffer.from(`{"id":"${LONG.repeat(80)}","choices":[[],[]]}`)
  expect(await tokensOf(chat, many)).toEqual(estimateUsage(7, 0))
  is_over = true
  expect(turns).toBeGreaterThan(5)
})
