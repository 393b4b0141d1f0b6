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

test('§6.4 each kind has its own result', () => {
  const { input, output } = tokensOf(embeddings, bytes({ data: [{ embedding: [1] }], usage: { prompt_tokens: 3 } }))
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
