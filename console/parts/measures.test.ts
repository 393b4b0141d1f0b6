// Times, sizes and shares as engineers read them.
import { expect, test } from 'vitest'
import { lasting, latency, size, wholePercent } from './measures.ts'

test.each([
  [0.05, '0.05 ms'],
  [12.345, '12.3 ms'],
  [812.4, '812 ms'],
  [9_999, '9,999 ms'],
  [12_340, '12.3 s'],
  [-3.2, '-3.2 ms'],
])('§console %d ms are %s', (ms, text) => {
  expect(latency(ms)).toBe(text)
})

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [2_684_354_560, '2.68 GB'],
  [512e9, '512 GB'],
])('§console %d bytes are %s', (bytes, text) => {
  expect(size(bytes)).toBe(text)
})

test.each([
  [400, '1 s'],
  [42_000, '42 s'],
  [60_000, '1 min'],
  [3_600_000, '1 h'],
  [86_340_000, '23 h 59 min'],
])('§console %d ms lasted %s', (ms, text) => {
  expect(lasting(ms)).toBe(text)
})

test('§console a share is a percentage', () => {
  expect(wholePercent(0.415)).toBe('42%')
})
