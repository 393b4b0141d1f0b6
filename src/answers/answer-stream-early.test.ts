// What an upstream says before its first content waits here, so that another target may still answer; but not without
// bound.
import { expect, test } from 'vitest'
import { type ProviderAnswer, UpstreamError } from '../providers/provider.ts'
import { EARLY_MAX_BYTES, openStream } from './answer-stream.ts'
import { sseFrames } from './sse-frames.ts'

const PART_BYTES = 64 * 1024
const DONE = 'data: [DONE]\n\n'

/** An answer that is read as an upstream's is: part by part, and no further while the taker is busy. */
function answerOf(parts: Iterable<string>) {
  const read = { bytes: 0 }
  const answer: ProviderAnswer = {
    status: 200,
    content_type: 'text/event-stream',
    retry_after_s: undefined,
    async each(take) {
      for (const part of parts) {
        read.bytes += part.length
        await take(Buffer.from(part))
      }
    },
    whole: () => Promise.reject(new Error('nobody asks for the whole of a stream')),
    cancel() {},
  }
  return { answer, read }
}

/** Far more than may wait, and no content. */
function* endless(event: string): Iterable<string> {
  const part = event.repeat(Math.ceil(PART_BYTES / event.length))
  for (let bytes = 0; bytes < 64 * EARLY_MAX_BYTES; bytes += part.length) yield part
}

async function forwarded(answer: ProviderAnswer, kind: 'chat' | 'responses') {
  const stream = await openStream(answer, sseFrames({ kind, drop_usage: true }))
  let text = ''
  const last = await stream.forward((part) => {
    text += part
  })
  return text + (last ?? '')
}

test.each([
  ['comments', ': keep-alive\n\n'],
  ['empty lines', '\n\n'],
])('T-86 an upstream that sends nothing but %s has failed like one that hangs up', async (_what, event) => {
  const { answer, read } = answerOf(endless(event))
  const opened = openStream(answer, sseFrames({ kind: 'chat', drop_usage: true }))
  await expect(opened).rejects.toMatchObject({ name: UpstreamError.name, failure: 'too_large' })
  expect(read.bytes).toBeLessThanOrEqual(EARLY_MAX_BYTES + 2 * PART_BYTES)
})

test('T-86 data without content is not gathered without bound, and nothing more is read until somebody takes it', async () => {
  const { answer, read } = answerOf(endless('data: {"choices":[{"delta":{}}]}\n\n'))
  await openStream(answer, sseFrames({ kind: 'chat', drop_usage: true }))
  expect(read.bytes).toBeLessThanOrEqual(EARLY_MAX_BYTES + 2 * PART_BYTES)
})

// A response tells its instructions twice before its first content, and those may be as long as a request may be.
test('R26 however much an upstream has to say before its first content, it goes on as it came', async () => {
  const instructions = 'x'.repeat(EARLY_MAX_BYTES)
  const events = [
    ': keep-alive\n\n'.repeat(1_000),
    ...['response.created', 'response.in_progress'].map((type) => said(type, { response: { instructions } })),
    said('response.output_text.delta', { delta: 'four' }),
    said('response.completed', { response: { usage: { input_tokens: 1, output_tokens: 1 } } }),
  ]
  expect((await forwarded(answerOf(events).answer, 'responses')) === events.join('')).toBe(true)
})

const said = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`

test('R26 comments before and after the first content go on as they came', async () => {
  const content = 'data: {"choices":[{"delta":{"content":"four"}}]}\n\n'
  const events = [': a\n\n', ...Array.from({ length: 5_000 }, () => ':\n\n'), content, ': b\n\n', DONE]
  expect(await forwarded(answerOf(events).answer, 'chat')).toBe(events.join(''))
})
