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

test('R43 each choice of an event is counted, and what a comment says is not', () => {
  const choices = ['a', 'bc', 'def'].map((content) => ({ delta: { content, tool: { at: '}' } } }))
  const comment = ': {"delta":{"content":"not said"}}\n\n'
  expect(pushed(chat, `${comment}data: ${JSON.stringify({ choices })}\n\n`).frames.quarterTokens()).toBe(6)
  const { frames } = pushed(chat, `${comment}data: {"choices":[]}\n\n`)
  expect([frames.quarterTokens(), frames.hasContent()]).toEqual([0, false])
})

test('T-86 an event in a million parts is as good as in one', () => {
  const event = `data: {"choices":[{"delta":{"content":"${'x'.repeat(MANY)}"}}]}\n\n`
  const frames = sseFrames(chat)
  const bytes = Buffer.from(event)
  let went_on = 0
  for (let at = 0; at < bytes.length; at++) went_on += frames.push(bytes.subarray(at, at + 1))?.length ?? 0
  expect([went_on, frames.quarterTokens()]).toEqual([bytes.length, MANY])
})
