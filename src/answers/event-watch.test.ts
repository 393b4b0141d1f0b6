// What an upstream can make us do is in proportion to what it sends. No clock stands here: each input is so large that
// to look at it again for each of its parts would take days, and to look at it once takes a moment.
import { expect, test } from 'vitest'
import { type FrameOptions, sseFrames } from './sse-frames.ts'

const chat = { kind: 'chat', drop_usage: true } as const
const MANY = 1_500_000 // an event of as many is still within the bound

function pushed(options: FrameOptions, ...parts: readonly string[]) {
  const frames = sseFrames(options)
  const bytes = parts.map((part) => frames.push(Buffer.from(part))?.length ?? 0)
  return { frames, bytes }
}

test.each<[string, FrameOptions['kind'], string]>([
  ['deltas within deltas', 'chat', `${'"delta":{'.repeat(MANY)}"content":"four"${'}'.repeat(MANY)}`],
  ['deltas that never end', 'chat', `${'"delta":{'.repeat(MANY)}"content":"four"`],
  ['texts within texts', 'completions', `${'"text":{'.repeat(MANY)}"content":"four"`],
])('T-86 %s are looked at once, and what they hold is counted once', (_what, kind, inside) => {
  const event = `data: {"choices":[{${inside}}]}\n\n`
  const { frames, bytes } = pushed({ kind, drop_usage: true }, event)
  expect([bytes, frames.quarterTokens()]).toEqual([[event.length], 4])
})

test.each([
  ['comments', ':\n\n'],
  ['comments with CRLF', ':\r\n\r\n'],
  ['empty lines', '\n\n'],
  ['names of events without data', 'event: x\n\n'],
])('T-86 %s, however many in one part, are looked at once', (_what, event) => {
  const content = 'data: {"choices":[{"delta":{"content":"four"}}]}\n\n'
  const part = event.repeat(MANY)
  expect(pushed(chat, part).bytes).toEqual([part.length])
  const { frames, bytes } = pushed(chat, part + content)
  expect([bytes, frames.quarterTokens()]).toEqual([[part.length + content.length], 4])
})

test('R43 what goes into a custom tool is counted like what goes into a function', () => {
  const delta = (call: object) => `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [call] } }] })}\n\n`
  const custom = delta({ index: 0, id: 'c', type: 'custom', custom: { name: 'answer', input: 'four' } })
  const call = delta({ index: 0, id: 'c', type: 'function', function: { name: 'answer', arguments: 'four' } })
  expect(pushed(chat, custom).frames.quarterTokens()).toBe(4)
  expect(pushed(chat, call).frames.quarterTokens()).toBe(4)
})

test('R43 each choice of an event is counted, and what a comment says is not', () => {
  const choices = ['a', 'bc', 'def'].map((content) => ({ delta: { content, tool: { at: '}' } } }))
  const comment = ': {"delta":{"content":"not said"}}\n\n'
  expect(pushed(chat, `${comment}data: ${JSON.stringify({ choices })}\n\n`).frames.quarterTokens()).toBe(6)
  const { frames } = pushed(chat, `${comment}data: {"choices":[]}\n\n`)
  expect([frames.quarterTokens(), frames.hasContent()]).toEqual([0, false])
})

test('T-86 an event in a million parts is as good as in one', () => {
  const length = 1_000_000
  const event = `data: {"choices":[{"delta":{"content":"${'x'.repeat(length)}"}}]}\n\n`
  const frames = sseFrames(chat)
  const bytes = Buffer.from(event)
  let went_on = 0
  for (let at = 0; at < bytes.length; at++) went_on += frames.push(bytes.subarray(at, at + 1))?.length ?? 0
  expect([went_on, frames.quarterTokens()]).toEqual([bytes.length, length])
})

// R77: an event that is too large to be parsed while everybody waits tells the same as a small one.
const LONG = 'x'.repeat(100_000)
const dataOf = (event: object) => `data: ${JSON.stringify(event)}\n\n`

test.each([
  [
    'its usage',
    { choices: [{ delta: { content: LONG } }], usage: { prompt_tokens: 3 } },
    { usage: { prompt_tokens: 3 } },
  ],
  [
    'its usage first',
    { usage: { prompt_tokens: 3 }, choices: [{ delta: { content: LONG } }] },
    { usage: { prompt_tokens: 3 } },
  ],
  ['an error', { id: LONG, error: { message: 'no' } }, { error: { message: 'no' } }],
  ['an error too large to be told', { error: { message: LONG } }, { error: {} }],
  ['usage of null', { id: LONG, choices: [], usage: null }, { usage: undefined, error: undefined }],
])('R77 a large event of chat with %s', (_what, event, expected) => {
  const { frames } = pushed(chat, dataOf(event))
  expect({ usage: frames.usage(), error: frames.error() }).toMatchObject(expected)
})

test('R77 a large chunk that has usage and nothing else is taken out like a small one', () => {
  const event = dataOf({ id: LONG, choices: [], usage: { prompt_tokens: 3 } })
  const frames = sseFrames({ kind: 'chat', drop_usage: true })
  expect(frames.push(Buffer.from(event))).toBeUndefined()
  expect(frames.usage()).toEqual({ prompt_tokens: 3 })
})

test('R77 a large last event of a response tells its usage and that it is the last', () => {
  const response = {
    output: [{ content: [{ text: LONG }] }],
    usage: { input_tokens: 3, output_tokens: 4 },
    error: null,
  }
  const frames = sseFrames({ kind: 'responses', drop_usage: false })
  frames.push(Buffer.from(dataOf({ type: 'response.completed', response })))
  expect([frames.usage(), frames.isDone(), frames.failed()]).toEqual([response.usage, true, false])
  const failing = sseFrames({ kind: 'responses', drop_usage: false })
  const failed = { output: [{ text: LONG }], error: { code: 'x', message: 'no' } }
  failing.push(Buffer.from(dataOf({ type: 'response.failed', response: failed })))
  expect(failing.error()).toEqual(failed.error)
})

test('R77 an event of more than 250,000 parts has failed', () => {
  const many = `data: {"usage":{},"x":[${Array(250_000).fill('[]').join()}]}\n\n`
  expect(() => pushed(chat, many)).toThrow('too_many_parts')
})

test('R77 what is no JSON tells nothing, however large it is', () => {
  const { frames } = pushed(chat, `data: {"usage":{"a":${LONG}\n\n`)
  expect([frames.usage(), frames.failed()]).toEqual([undefined, false])
})
