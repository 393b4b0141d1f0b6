// R77: what is written in steps is what JSON.stringify writes.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonBytes, writtenInSteps } from './json-writing.ts'
import { atOnce } from './turns.ts'

test('R77 any value that is written in steps is the text that JSON.stringify makes', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      expect(atOnce(writtenInSteps(value)).toString()).toBe(Buffer.from(JSON.stringify(value)).toString())
    }),
    { numRuns: 1_000, seed: 20_261_117 },
  )
})

test.each([
  ['a long text', { a: 'some words '.repeat(50_000) }],
  ['pairs at every cut', [`x${'🙂'.repeat(200_000)}`, '🙂'.repeat(200_000)]],
  ['halves of pairs', [`${'\ud83d'.repeat(100_000)}`, `${'\ude42'.repeat(100_000)}`]],
  ['what must be escaped', { '"\\\n': '"\\\n\u0000'.repeat(60_000) }],
  ['many values', Array.from({ length: 60_000 }, (_, n) => ({ n, text: `${n}` }))],
  ['what is not said', { a: undefined, b: [undefined, 1], c: {} }],
])('R77 %s is written the same, in steps', async (_what, value) => {
  const text = JSON.stringify(value)
  expect((await jsonBytes(value, 10_000_000)).equals(Buffer.from(text))).toBe(true)
  expect((await jsonBytes(value, 10)).equals(Buffer.from(text))).toBe(true)
})
