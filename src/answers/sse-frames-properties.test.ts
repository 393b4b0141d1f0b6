// R26: of any stream, cut anywhere, the frames know what a parser that takes its time would find.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chat, chunk, DONE, data, through, USAGE, usageAlone } from '../../test/support/sse-events.ts'
import { sseFrames } from './sse-frames.ts'

/** What the frames promise, in the plain and slow way: parse everything. */
function slowly(events: readonly string[]) {
  const seen = { quarters: 0, content: false, complete: false, usage: undefined as unknown, text: '' }
  for (const event of events) {
    const line = event.split(/\r?\n/).find((each) => each.startsWith('data:'))
    const payload = line?.slice('data:'.length).trim()
    if (payload === '[DONE]') seen.complete = true
    const parsed = payload === undefined || payload === '[DONE]' ? {} : JSON.parse(payload)
    for (const { delta } of parsed.choices ?? []) {
      const { content, refusal, reasoning_content, tool_calls } = delta
      const parts = [content, refusal, reasoning_content]
      for (const { function: called } of tool_calls ?? []) parts.push(called.arguments)
      const quarters = parts.reduce((sum, part) => sum + quartersOf(part ?? ''), 0)
      seen.quarters += quarters
      if (quarters > 0 || tool_calls?.length > 0) seen.content = true
    }
    if (parsed.usage) seen.usage = parsed.usage
    if (!(parsed.usage && parsed.choices.length === 0)) seen.text += event
  }
  return seen
}

/** R77: four letters of English are a token; of what is not ASCII, each character is one. */
const quartersOf = (text: string) => [...text].reduce((sum, letter) => sum + (/[\0-\x7f]/.test(letter) ? 1 : 4), 0)

const tricky = fc.constantFrom(
  '"usage":{"a":1}',
  '"delta":{"content":"',
  '[DONE]\n\n',
  '\\',
  '"',
  'data: ',
  '\u2028',
  '😀',
)
const words = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 12 }).filter((text) => text.isWellFormed()),
  fc.array(tricky, { maxLength: 3 }).map((parts) => parts.join('')),
)
const aDelta = fc.oneof(
  { weight: 6, arbitrary: fc.record({ content: words }) },
  fc.record({ role: fc.constant('assistant'), content: fc.option(words), refusal: fc.option(words) }),
  fc.record({ content: fc.constantFrom('', 'same'), refusal: words }),
  fc.record({ content: fc.constant(null), reasoning_content: words }),
  fc.record({ tool_calls: fc.array(fc.record({ index: fc.nat(3), function: fc.record({ arguments: words }) })) }),
)
const anEvent = fc.oneof(
  { weight: 8, arbitrary: aDelta.map((delta) => data(chunk(delta, { usage: null }))) },
  aDelta.map((delta) => data(chunk(delta), '\r\n')),
  aDelta.map((delta) => data(chunk(delta, { usage: USAGE }))),
  fc
    .array(aDelta, { maxLength: 3 })
    .map((deltas) => data({ choices: deltas.map((delta) => ({ delta })), usage: null })),
  fc.constantFrom(': keep-alive\n\n', data(usageAlone), data(usageAlone, '\r\n'), DONE, `event: x\n${data(chunk({}))}`),
)

test('R26 of any stream, cut anywhere, the bytes go on and all that a parser would find is found', () => {
  fc.assert(
    fc.property(fc.array(anEvent, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 12 }), (events, places) => {
      const stream = Buffer.from(events.join(''))
      const cuts = places.map((place) => place % (stream.length + 1)).sort((a, b) => a - b)
      expect(through(chat, stream, cuts)).toMatchObject(slowly(events))
    }),
    { numRuns: 2_000 },
  )
})

test('R26 chunks that differ in their content only are known as well as any others', () => {
  fc.assert(
    fc.property(fc.array(aDelta, { maxLength: 20 }), (deltas) => {
      const events = deltas.map((delta) => data(chunk(delta, { usage: null })))
      const frames = sseFrames(chat)
      for (const event of events) frames.push(Buffer.from(event))
      const { quarters, content } = slowly(events)
      expect([frames.quarterTokens(), frames.hasContent()]).toEqual([quarters, content])
    }),
    { numRuns: 1_000 },
  )
})
