import { expect, test } from 'vitest'
import { estimateUsage, generatedIn, readUsage } from './token-counts.ts'

test.each([
  [
    'chat',
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
    { input: 10, cached: 4, written: 2, output: 5, reasoning: 3 },
  ],
  [
    'responses',
    {
      input_tokens: 10,
      output_tokens: 5,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens_details: { reasoning_tokens: 3 },
    },
    { input: 10, cached: 4, written: 0, output: 5, reasoning: 3 },
  ],
  [
    'DeepSeek',
    { prompt_tokens: 10, completion_tokens: 5, prompt_cache_hit_tokens: 6, prompt_cache_miss_tokens: 4 },
    { input: 10, cached: 6, written: 0, output: 5, reasoning: 0 },
  ],
  [
    'embeddings',
    { prompt_tokens: 10, total_tokens: 10 },
    { input: 10, cached: 0, written: 0, output: 0, reasoning: 0 },
  ],
  [
    'details that are null',
    { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: null, completion_tokens_details: null },
    { input: 10, cached: 0, written: 0, output: 5, reasoning: 0 },
  ],
  [
    'parts beside the whole',
    { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 30 } },
    { input: 30, cached: 30, written: 0, output: 5, reasoning: 0 },
  ],
  [
    'xAI, where reasoning stands beside what was said',
    {
      prompt_tokens: 12,
      completion_tokens: 1,
      total_tokens: 399,
      completion_tokens_details: { reasoning_tokens: 386 },
    },
    { input: 12, cached: 0, written: 0, output: 387, reasoning: 386 },
  ],
  [
    'Gemini, where what was thought stands in the total alone',
    { prompt_tokens: 9, completion_tokens: 1, total_tokens: 103 },
    { input: 9, cached: 0, written: 0, output: 94, reasoning: 0 },
  ],
  [
    'Gemini, which had all of its answer for thinking',
    { prompt_tokens: 9, total_tokens: 103 },
    { input: 9, cached: 0, written: 0, output: 94, reasoning: 0 },
  ],
  [
    'Gemini, with a part of the prompt from its cache',
    {
      prompt_tokens: 2_000,
      completion_tokens: 1,
      total_tokens: 2_094,
      prompt_tokens_details: { cached_tokens: 1_500 },
    },
    { input: 2_000, cached: 1_500, written: 0, output: 94, reasoning: 0 },
  ],
  [
    'parts beside the input, which the total has as well',
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 22,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
    },
    { input: 10, cached: 4, written: 3, output: 5, reasoning: 0 },
  ],
  [
    'parts beside the whole, which the total has as well',
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 45,
      prompt_tokens_details: { cached_tokens: 30 },
    },
    { input: 30, cached: 30, written: 0, output: 5, reasoning: 0 },
  ],
  [
    'reasoning that is told, and a total that has more than that',
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 99,
      completion_tokens_details: { reasoning_tokens: 3 },
    },
    { input: 10, cached: 0, written: 0, output: 5, reasoning: 3 },
  ],
  [
    'a total that is less than its parts',
    { prompt_tokens: 10, completion_tokens: 5, total_tokens: 3 },
    { input: 10, cached: 0, written: 0, output: 5, reasoning: 0 },
  ],
  [
    'reasoning that is part of what was said',
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      completion_tokens_details: { reasoning_tokens: 3 },
    },
    { input: 10, cached: 0, written: 0, output: 5, reasoning: 3 },
  ],
  [
    'nothing at all, and said so',
    { prompt_tokens: 0, completion_tokens: 0 },
    { input: 0, cached: 0, written: 0, output: 0, reasoning: 0 },
  ],
])('R42 usage of %s', (_what, usage, counts) => {
  expect(readUsage(usage)).toEqual({ ...counts, estimated: false })
})

test.each([undefined, null, 'x', 5, [], {}, { prompt_tokens: '10' }, { prompt_tokens: -1 }, { prompt_tokens: 1.5 }])(
  'R42 %j is no usage',
  (usage) => {
    expect(readUsage(usage)).toBeUndefined()
  },
)

const usage = (more: object) => ({ prompt_tokens: 10, completion_tokens: 5, ...more })
const details = (cached_tokens: unknown, cache_write_tokens: unknown = 0) =>
  usage({ prompt_tokens_details: { cached_tokens, cache_write_tokens } })

// R77: one such number stopped the roll-ups of all projects, and a bill of it is no bill.
test.each([
  ['over a billion', usage({ prompt_tokens: 1_000_000_001 })],
  ['over a billion out', usage({ completion_tokens: 2 ** 53 - 1 })],
  ['negative', usage({ completion_tokens: -1 })],
  ['a fraction', usage({ completion_tokens: 1.5 })],
  ['a text', usage({ completion_tokens: '5' })],
  ['beyond numbers', usage({ completion_tokens: Number.POSITIVE_INFINITY })],
  ['cached, negative', details(-5)],
  ['cached and written, of 2^53', details(2 ** 53 - 1, 2 ** 53 - 1)],
  ['cached, far more than any prompt has', details(900_000_000)],
  ['reasoning, a text', usage({ completion_tokens_details: { reasoning_tokens: 'x' } })],
  ['more written for an hour than written', usage({ prompt_tokens_details: { cache_write_1h_tokens: 1 } })],
])('R77 a count that is %s makes the whole report one that is not used', (_what, told) => {
  expect(readUsage(told)).toBeUndefined()
})

test.each([1_000_000_001, 2 ** 53, Number.POSITIVE_INFINITY, 103.5, '103', -1, null, {}])(
  'R77 a total of %j is none, and nothing is taken from it',
  (total_tokens) => {
    expect(readUsage(usage({ total_tokens }))).toMatchObject({ input: 10, output: 5 })
  },
)

test('R77 a billion is a count, and so are parts that stand beside a small whole', () => {
  expect(readUsage(usage({ completion_tokens: 1_000_000_000 }))?.output).toBe(1_000_000_000)
  expect(readUsage(details(200_000, 9_000))).toMatchObject({ input: 209_000, cached: 200_000, written: 9_000 })
})

test('R76 what was written for an hour is told apart', () => {
  const told = usage({ prompt_tokens_details: { cache_write_tokens: 7, cache_write_1h_tokens: 4 } })
  expect(readUsage(told)).toMatchObject({ written: 7, written_1h: 4 })
})

test('R77 of a whole answer, too, what is not ASCII is a token a character', () => {
  expect(generatedIn({ choices: [{ message: { content: '你好，😀abcd' } }] })).toBe(4 * 4 + 4)
})

test('R42 where the upstream said nothing, it is said that we counted', () => {
  expect(estimateUsage(10, 9)).toEqual({ input: 10, cached: 0, written: 0, output: 3, reasoning: 0, estimated: true })
})

test.each([
  ['a message', { choices: [{ message: { role: 'assistant', content: '12345', refusal: null } }] }, 5],
  ['every choice', { choices: [{ message: { content: '12345' } }, { message: { content: '123' } }] }, 8],
  [
    'tool calls',
    {
      choices: [
        {
          message: {
            content: null,
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
          },
        },
      ],
    },
    7,
  ],
  ['reasoning', { choices: [{ message: { content: '1', reasoning_content: '234' } }] }, 4],
  ['a completion', { choices: [{ text: '123', finish_reason: 'stop' }] }, 3],
  [
    'a response',
    {
      output: [
        { type: 'message', id: 'msg', content: [{ type: 'output_text', text: '123' }] },
        { type: 'function_call', name: 'f', arguments: '{}' },
      ],
    },
    5,
  ],
  ['embeddings: nothing is said in them', { data: [{ embedding: [0.123456789, 1] }] }, 0],
  ['anything else', { id: 'a long id', object: 'x', model: 'm' }, 0],
  ['no answer', undefined, 0],
])('R42 what was generated in %s', (_what, answer, characters) => {
  expect(generatedIn(answer)).toBe(characters)
})
