// 0348: ConverseStream's messages as chunks of chat, in whatever pieces they come.
import { expect, test } from 'vitest'
import { eventMessage, exceptionMessage } from '../../../test/support/aws-event-stream.ts'
import { UpstreamError } from '../provider.ts'
import { toCompletion } from './converse-answer.ts'
import { ConverseChunks } from './converse-stream.ts'

const names = { id: 'chatcmpl-1', model: 'amazon.nova-pro-v1:0', created: 1 }
const event = (type: string, payload: object) =>
  eventMessage(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify({ ...payload, p: 'abcdef' }),
  )
const text = (said: string, contentBlockIndex = 0) =>
  event('contentBlockDelta', { contentBlockIndex, delta: { text: said } })
const STOP = event('messageStop', { stopReason: 'end_turn' })
const USAGE = { inputTokens: 10, outputTokens: 5, totalTokens: 45, cacheReadInputTokens: 20, cacheWriteInputTokens: 10 }
const METADATA = event('metadata', { usage: USAGE, metrics: { latencyMs: 5 } })

async function told(frames: readonly Buffer[], more: object = {}, piece = 1_000_000) {
  const chunks = new ConverseChunks({ names, wants_usage: true, one_call: false, ...more })
  const bytes = Buffer.concat(frames)
  let said = ''
  for (let at = 0; at < bytes.length; at += piece) said += await chunks.take(bytes.subarray(at, at + piece))
  said += chunks.end()
  return said.split('\n\n').filter((line) => line !== '')
}
const parsed = (lines: readonly string[]) =>
  lines.map((line) => (line === 'data: [DONE]' ? 'DONE' : JSON.parse(line.slice(6))))
const deltas = (lines: readonly string[]) => parsed(lines).flatMap((chunk) => chunk.choices?.[0]?.delta ?? [])

test.each([1, 13, 1_000_000])('0348 text, usage and the end, in pieces of %i bytes', async (piece) => {
  const lines = await told(
    [event('messageStart', { role: 'assistant' }), text('Grüße, '), text('世界'), STOP, METADATA],
    {},
    piece,
  )
  const [first, , , stop, usage, done] = parsed(lines)
  expect(first).toEqual({
    ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: names.model },
    choices: [
      { index: 0, delta: { role: 'assistant', content: '', refusal: null }, logprobs: null, finish_reason: null },
    ],
    usage: null,
  })
  expect(
    deltas(lines)
      .map((delta) => delta.content ?? '')
      .join(''),
  ).toBe('Grüße, 世界')
  expect(stop.choices[0].finish_reason).toBe('stop')
  expect(usage).toMatchObject({
    choices: [],
    usage: {
      prompt_tokens: 40,
      completion_tokens: 5,
      total_tokens: 45,
      prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 10 },
    },
  })
  expect(done).toBe('DONE')
})

const call = (index: number, id: string, parts: readonly string[]) => [
  event('contentBlockStart', { contentBlockIndex: index, start: { toolUse: { toolUseId: id, name: `tool_${id}` } } }),
  ...parts.map((input) => event('contentBlockDelta', { contentBlockIndex: index, delta: { toolUse: { input } } })),
  event('contentBlockStop', { contentBlockIndex: index }),
]

test('0348 calls of tools are numbered among themselves; one without arguments has an empty object', async () => {
  const lines = await told([
    text('Let me see.'),
    ...call(1, 'a', ['{"x"', ':1}']),
    ...call(2, 'b', []),
    event('messageStop', { stopReason: 'tool_use' }),
  ])
  const calls = deltas(lines).flatMap((delta) => delta.tool_calls ?? [])
  expect(calls).toEqual([
    { index: 0, id: 'a', type: 'function', function: { name: 'tool_a', arguments: '' } },
    { index: 0, function: { arguments: '{"x"' } },
    { index: 0, function: { arguments: ':1}' } },
    { index: 1, id: 'b', type: 'function', function: { name: 'tool_b', arguments: '' } },
    { index: 1, function: { arguments: '{}' } },
  ])
  expect(parsed(lines).at(-2).choices[0].finish_reason).toBe('tool_calls')
})

test('0348 where one call at a time is wanted, the first comes and no other, whole or streamed', async () => {
  const lines = await told([...call(0, 'a', ['{}']), ...call(1, 'b', ['{}']), STOP], { one_call: true })
  expect(
    deltas(lines)
      .flatMap((delta) => delta.tool_calls ?? [])
      .map(({ index }) => index),
  ).toEqual([0, 0])
  const content = ['a', 'b'].map((id) => ({ toolUse: { toolUseId: id, name: id, input: { y: 1 } } }))
  const whole = toCompletion({ output: { message: { content } }, stopReason: 'tool_use' }, { names, one_call: true })
  expect(whole.choices[0]?.message.tool_calls).toEqual([
    { id: 'a', type: 'function', function: { name: 'a', arguments: '{"y":1}' } },
  ])
})

test('0348 what it thought is told beside what it said', async () => {
  const thought = event('contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { text: 'Hm.' } } })
  const signed = event('contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { signature: 'x' } } })
  expect(deltas(await told([thought, signed, text('Yes.', 1), STOP]))).toEqual([
    { reasoning_content: 'Hm.' },
    { content: 'Yes.' },
    {},
  ])
  const content = [{ reasoningContent: { reasoningText: { text: 'Hm.' } } }, { text: 'Yes.' }]
  const whole = toCompletion({ output: { message: { content } }, stopReason: 'end_turn' }, { names, one_call: false })
  expect(whole.choices[0]?.message).toMatchObject({ content: 'Yes.', reasoning_content: 'Hm.' })
  expect(whole).not.toHaveProperty('usage')
})

test.each([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['guardrail_intervened', 'content_filter'],
  ['content_filtered', 'content_filter'],
  ['something_new', 'stop'],
])('0348 %s is %s', (stopReason, reason) => {
  const whole = toCompletion(
    { output: { message: { content: [{ text: 'a' }] } }, stopReason },
    { names, one_call: false },
  )
  expect(whole.choices[0]?.finish_reason).toBe(reason)
})

test('0348 an event that takes long to be parsed keeps its place', async () => {
  const many = JSON.stringify(Array.from({ length: 20_000 }, (_, at) => at))
  const odd = event('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'second', other: JSON.parse(many) } })
  expect(odd.length).toBeGreaterThan(64 * 1024)
  const lines = await told([text('first'), odd, text('third'), STOP, METADATA])
  expect(deltas(lines).flatMap((delta) => delta.content ?? [])).toEqual(['first', 'second', 'third'])
})

test('0348 an exception in mid-stream is an error of chat, in AWS’s words, and the last thing told', async () => {
  const lines = await told([text('a'), exceptionMessage('throttlingException', 'Too many tokens.'), text('b'), STOP])
  expect(parsed(lines).at(-1)).toEqual({
    error: { message: 'Too many tokens.', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' },
  })
})

test.each([
  ['without its end', [text('a')]],
  ['cut in the middle of a message', [text('a'), STOP, METADATA.subarray(0, 30)]],
  ['tampered with', [Buffer.from(text('a')).fill(0, 40, 44)]],
  ['no JSON', [eventMessage({ ':event-type': 'metadata', ':message-type': 'event' }, '{')]],
])('R77 a stream that is %s has failed', async (_case, frames) => {
  await expect(told(frames)).rejects.toThrow(UpstreamError)
})

const begun = (contentBlockIndex: unknown, more: object = {}) =>
  event('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId: 'a', name: 'f' } }, ...more })

test.each(['x', -1, 0.5, 2 ** 53, { 0: 0 }, null])(
  'R77 a stream has failed in which a call’s block is numbered %j, also where that is parsed late',
  async (index) => {
    const many = Array.from({ length: 20_000 }, (_, at) => at)
    for (const frame of [begun(index), begun(index, { many })])
      await expect(told([frame, STOP])).rejects.toThrow(UpstreamError)
  },
)

test('R77 a thousand calls of a stream are told, and no more', async () => {
  const calls = Array.from({ length: 1_024 }, (_, at) => begun(at))
  expect(await told([...calls, STOP])).toHaveLength(1_026)
  await expect(told([...calls, begun(1_024), STOP])).rejects.toThrow(UpstreamError)
})
