// What goes through a stream is not changed, and what is picked up in passing is what a parser would have found.
import { expect, test } from 'vitest'
import { chat, chunk, DONE, data, through, USAGE, usageAlone } from '../../test/support/sse-events.ts'
import { BUDGETS } from '../core/foreign.ts'
import { type FrameOptions, sseFrames } from './sse-frames.ts'

const STREAM = [
  ': open\n\n',
  data(chunk({ role: 'assistant', content: '' }, { usage: null })),
  data(chunk({ content: 'Grüße, "world" \n' }, { usage: null }), '\r\n'),
  data(chunk({ content: '😀' }, { usage: null })),
  data(chunk({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: '{"a"' } }] })),
  data({ ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }),
  data(usageAlone),
  DONE,
]
const WHOLE = Buffer.from(STREAM.join(''))
const WITHOUT_USAGE = STREAM.filter((event) => event !== data(usageAlone)).join('')

test('R26 wherever a stream is cut, the same bytes go on and the same is known of it', () => {
  const uncut = through(chat, WHOLE)
  expect(uncut).toEqual({
    text: WITHOUT_USAGE,
    content: true,
    complete: true,
    failed: false,
    usage: USAGE,
    quarters: 14 + 2 * 4 + 4 + 4, // what is not ASCII is a token a character
  })
  for (let at = 0; at <= WHOLE.length; at++) expect(through(chat, WHOLE, [at])).toEqual(uncut)
  const bytewise = Array.from({ length: WHOLE.length - 1 }, (_, at) => at + 1)
  expect(through(chat, WHOLE, bytewise)).toEqual(uncut)
})

test('R26 the usage chunk goes on where the client asked for it', () => {
  expect(through({ kind: 'chat', drop_usage: false }, WHOLE).text).toBe(String(WHOLE))
})

test('R26 a part of whole events is handed on as it is, not copied', () => {
  const frames = sseFrames(chat)
  const one = Buffer.from(data(chunk({ content: 'one' })))
  const two = Buffer.from(data(chunk({ content: 'two' })) + data(chunk({ content: 'three' })))
  expect(frames.push(one)).toBe(one)
  expect(frames.push(two)).toBe(two)
  const half = Buffer.concat([one, two.subarray(0, 10)])
  expect(frames.push(half)?.buffer).toBe(half.buffer)
})

test('R26 nothing goes on before its event is whole', () => {
  const frames = sseFrames(chat)
  const event = Buffer.from(data(chunk({ content: 'x' })))
  expect(frames.push(event.subarray(0, -1))).toBeUndefined()
  expect(frames.hasContent()).toBe(false)
  expect(String(frames.push(event.subarray(-1)))).toBe(String(event))
  expect(frames.hasContent()).toBe(true)
})

test('R26 an event goes on with the last byte of its blank line, whatever parts that came in', () => {
  for (const event of [data(chunk({ content: 'x' })), data(chunk({ content: 'x' }), '\r\n')]) {
    const frames = sseFrames(chat)
    const parts = Array.from(Buffer.from(event), (byte) => frames.push(Buffer.of(byte)))
    expect(parts.filter((part) => part !== undefined).map(String)).toEqual([event])
    expect(String(parts.at(-1))).toBe(event)
  }
})

test('R43 of two texts in one chunk, neither is lost when the next chunk looks alike', () => {
  const pair = (content: string, refusal: string) => Buffer.from(data(chunk({ content, refusal })))
  const frames = sseFrames(chat)
  for (const part of [pair('four', 'a'), pair('four', 'bc'), pair('four', 'def')]) frames.push(part)
  expect(frames.quarterTokens()).toBe(4 + 1 + 4 + 2 + 4 + 3)
})

test.each<[string, FrameOptions['kind'], object, boolean]>([
  ['text', 'chat', chunk({ content: 'x' }), true],
  ['an empty text', 'chat', chunk({ role: 'assistant', content: '' }), false],
  ['null', 'chat', chunk({ content: null, refusal: null, tool_calls: null }), false],
  ['a refusal', 'chat', chunk({ refusal: 'No.' }), true],
  ['reasoning', 'chat', chunk({ content: null, reasoning_content: 'Hm' }), true],
  ['reasoning by its other name', 'chat', chunk({ reasoning: 'Hm' }), true],
  ['a tool call without arguments yet', 'chat', chunk({ tool_calls: [{ index: 0, function: { name: 'f' } }] }), true],
  ['no tool call', 'chat', chunk({ content: '', tool_calls: [] }), false],
  ['text in parts', 'chat', chunk({ content: [{ type: 'text', text: 'x' }] }), true],
  ['an empty delta', 'chat', chunk({}), false],
  ['sound', 'chat', chunk({ audio: { id: 'audio_1', data: 'UklGRg==' } }), true],
  ['what the sound says', 'chat', chunk({ content: null, audio: { transcript: 'Hm' } }), true],
  ['sound that has not begun', 'chat', chunk({ audio: { id: 'audio_1', data: '', transcript: '' } }), false],
  ['the end of the sound', 'chat', chunk({ audio: { id: 'audio_1', expires_at: 1 }, data: 'x' }), false],
  ['data of something else', 'chat', chunk({ audio: { of: { data: 'x' } }, more: { transcript: 'x' } }), false],
  ['the second of two choices', 'chat', { choices: [{ delta: {} }, { delta: { content: 'x' } }] }, true],
  ['a key that ends alike', 'chat', { choices: [{ no_delta: { content: 'x' } }] }, false],
  ['a completion', 'completions', { choices: [{ text: 'x', index: 0 }] }, true],
  ['an empty completion', 'completions', { choices: [{ text: '', index: 0, logprobs: { text_offset: [1] } }] }, false],
  ['output text', 'responses', { type: 'response.output_text.delta', delta: 'x', logprobs: [] }, true],
  ['arguments', 'responses', { type: 'response.function_call_arguments.delta', delta: '{' }, true],
  ['a response that began', 'responses', { type: 'response.created', response: { output: [], usage: null } }, false],
  ['an open message', 'responses', { type: 'response.output_item.added', item: { type: 'message' } }, false],
  ['an open call', 'responses', { type: 'response.output_item.added', item: { type: 'function_call' } }, true],
])('R47 is it content? %s', (_what, kind, event, content) => {
  for (const spaced of [JSON.stringify(event), JSON.stringify(event, null, 1).replaceAll('\n', '')]) {
    const seen = through({ kind, drop_usage: true }, Buffer.from(`data: ${spaced}\n\n`))
    expect(seen.content).toBe(content)
  }
})

test.each<[string, FrameOptions['kind'], string, unknown]>([
  ['an error object', 'chat', data({ error: { message: 'overloaded' } }), { message: 'overloaded' }],
  ['one beside choices', 'chat', data(chunk({ content: '' }, { error: { code: 502 } })), { code: 502 }],
  ['one by its object', 'chat', data({ object: 'error', message: 'bad' }), { object: 'error', message: 'bad' }],
  ['no error', 'chat', data(chunk({ content: 'an "error' }, { error: null })), undefined],
  ['a text about one', 'chat', data(chunk({ content: '{"error":{"code":1}}' })), undefined],
  [
    'a failed response',
    'responses',
    data({ type: 'response.failed', response: { error: { code: 'x' } } }),
    { code: 'x' },
  ],
  ['an error event', 'responses', `event: error\n${data({ type: 'error', message: 'm' })}`, { message: 'm' }],
])('R47 is it an error? %s', (_what, kind, event, error) => {
  const frames = sseFrames({ kind, drop_usage: true })
  expect(String(frames.push(Buffer.from(event)))).toBe(event)
  expect([frames.failed(), frames.error()]).toEqual([error !== undefined, error])
})

test.each<[string, FrameOptions['kind'], string, boolean]>([
  ['[DONE]', 'chat', DONE, true],
  ['[DONE] with CRLF', 'chat', 'data:[DONE]\r\n\r\n', true],
  ['[DONE] without its blank line', 'chat', 'data: [DONE]', true],
  ['[DONE] with one line end', 'chat', 'data: [DONE]\n', true],
  ['[DONE] in a text', 'chat', data(chunk({ content: 'data: [DONE]\n\n' })), false],
  ['half a word', 'chat', 'data: [DON', false],
  ['nothing', 'chat', '', false],
  ['a finished response', 'responses', data({ type: 'response.completed', response: { usage: USAGE } }), true],
  ['a response cut short', 'responses', data({ type: 'response.incomplete', response: {} }), true],
  [
    'a response under way',
    'responses',
    data({ type: 'response.output_text.delta', delta: 'response.completed' }),
    false,
  ],
])('R47 is it complete? %s', (_what, kind, event, complete) => {
  expect(through({ kind, drop_usage: true }, Buffer.from(event)).complete).toBe(complete)
})

test('R41 the last usage counts, wherever it stands', () => {
  const early = data(chunk({ content: 'x' }, { usage: { ...USAGE, completion_tokens: 1 } }))
  const seen = through(chat, Buffer.from(early + data(chunk({}, { usage: USAGE })) + DONE))
  expect(seen.usage).toEqual(USAGE)
  expect(seen.text).toBe(early + data(chunk({}, { usage: USAGE })) + DONE)
  const response = data({ type: 'response.completed', response: { usage: { input_tokens: 4 } } })
  expect(through({ kind: 'responses', drop_usage: true }, Buffer.from(response)).usage).toEqual({ input_tokens: 4 })
})

test('R41 an empty list of choices alone is no usage chunk', () => {
  const filters = data({ choices: [], prompt_filter_results: [], usage: null })
  expect(through(chat, Buffer.from(filters)).text).toBe(filters)
})

test('R41 a usage chunk over several data lines is taken out as one', () => {
  const lines = JSON.stringify(usageAlone, null, 1).split('\n')
  const event = `event: message\n${lines.map((line) => `data: ${line}`).join('\n')}\n\n`
  expect(through(chat, Buffer.from(event + DONE))).toMatchObject({ text: DONE, usage: USAGE })
})

test('T-86 an event without end is refused, however small its parts', () => {
  const frames = sseFrames(chat)
  const part = Buffer.alloc(16 * 1024, 'x')
  const pushAll = () => {
    for (let bytes = 0; bytes <= BUDGETS.event.bytes; bytes += part.length) frames.push(part)
  }
  expect(pushAll).toThrow('too_large')
})

test('R43 what chunks say twice is counted once', () => {
  const both = chunk({ reasoning: 'twelve chars', reasoning_content: 'twelve chars', content: 'four' })
  expect(through(chat, Buffer.from(data(both))).quarters).toBe(16)
})

test('R43 the length of a sound is not taken for text', () => {
  const sounds = chunk({ content: 'four', audio: { data: 'UklGRg==', transcript: 'Hm' } })
  expect(through(chat, Buffer.from(data(sounds))).quarters).toBe(4)
})

test.each([
  ['as bytes', '"你好，😀"'],
  ['as escapes', '"\\u4f60\\u597d\\uff0c\\ud83d"'],
])('R77 what is not ASCII is a token a character where nobody counted, %s', (_how, json) => {
  const frames = sseFrames(chat)
  frames.push(Buffer.from(`data: {"choices":[{"delta":{"content":${json}}}]}\n\n`))
  frames.push(Buffer.from('data: {"choices":[{"delta":{"content":"\\u0041\\n\\u007e"}}]}\n\n'))
  expect(frames.quarterTokens()).toBe(4 * 4 + 3)
})
