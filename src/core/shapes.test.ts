// R8: labels that people gave.
import { expect, test } from 'vitest'
import { Refusal } from './refusal.ts'
import { label, storable } from './shapes.ts'

const ZWSP = '\u200b'
const NBSP = '\u00a0'

test.each([
  ['atlas', 'atlas'],
  ['  atlas  ', 'atlas'],
  [`${NBSP}atlas\n`, 'atlas'],
  ['a b', 'a b'],
  ['日本語 🚀', '日本語 🚀'],
  [`a${ZWSP}b`, `a${ZWSP}b`],
])('R8 %j is kept as %j', (given, kept) => {
  expect(label('name', given)).toBe(kept)
})

test.each([
  ['nothing', ''],
  ['spaces', '   '],
  ['a no-break space', NBSP],
  ['a zero-width space', ZWSP],
  ['a soft hyphen', '\u00ad'],
  ['a byte-order mark and a tab', '\ufeff\t'],
  ['a Hangul filler', '\u3164'],
])('T-38 %s is no name', (_what, given) => {
  expect(() => label('name', given)).toThrow("'name' must not be empty.")
})

test.each([
  ['a NUL', 'a\0b'],
  ['a lone high surrogate', 'a\ud800'],
  ['a lone low surrogate', '\udc00a'],
])('T-37 %s would not survive the store', (_what, given) => {
  expect(() => label('region', given)).toThrow(Refusal)
  expect(() => storable('region', given)).toThrow("'region' must be valid Unicode text without NUL characters.")
})

test('R8 what is only stored is not trimmed', () => {
  expect(storable('runtime', ' vllm ')).toBe(' vllm ')
})
