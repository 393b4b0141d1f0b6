// §2: ids and sequences. What a raw key looks like is tested in keys/key.test.ts.
import { expect, test } from 'vitest'
import {
  base62,
  newId,
  newRequestId,
  newTraceId,
  nextSequence,
  randomBase62,
  randomNonce,
  requestIdOf,
  traceIdOf,
  traceIdsFrom,
} from './ids.ts'

test.each(['key', 'byc', 'prj', 'usr', 'req'] as const)('§2 a %s id carries its prefix and 20 letters', (prefix) => {
  expect(newId(prefix)).toMatch(new RegExp(`^${prefix}_[0-9A-Za-z]{20}$`))
})

test('§2 a hundred thousand ids are all different', () => {
  expect(new Set(Array.from({ length: 100_000 }, () => newId('byc'))).size).toBe(100_000)
})

test('§2 trace ids stand in the order of their times, whichever they are, and are all different', () => {
  const times = [0, 1, 61, 62, 1_789_999_999_999, 1_790_000_000_000, 3_500_000_000_000, 9_000_000_000_000]
  const ids = times.map(newTraceId)
  expect(ids).toEqual([...ids].sort())
  for (const [n, id] of ids.entries()) {
    expect(id).toMatch(/^trc_[0-9A-Za-z]{20}$/)
    expect(id >= traceIdsFrom(times[n] as number) && id < traceIdsFrom((times[n] as number) + 1)).toBe(true)
  }
  expect(new Set(Array.from({ length: 10_000 }, () => newTraceId(1_790_000_000_000))).size).toBe(10_000)
})

test('R80 a request and its generation are named alike, and in the order of their times', () => {
  const request_id = newRequestId(1_790_000_000_000)
  expect(request_id).toMatch(/^req_[0-9A-Za-z]{20}$/)
  expect(traceIdOf(request_id)).toBe(`trc_${request_id.slice(4)}`)
  expect(requestIdOf(traceIdOf(request_id))).toBe(request_id)
  expect(traceIdOf(request_id).startsWith(traceIdsFrom(1_790_000_000_000))).toBe(true)
})

/** Chi-squared over 62 letters: 61 degrees of freedom, so above 120 happens to a fair source once in 10^5 runs. */
function bias(text: string): number {
  const counts = new Map<string, number>()
  for (const letter of text) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  const expected = text.length / 62
  return [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
}

test('R5 every letter is as likely as any other', () => {
  const text = randomBase62(620_000)
  expect(new Set(text).size).toBe(62)
  expect(bias(text)).toBeLessThan(120)
})

test('R5 planted: taking a byte modulo 62 is caught', () => {
  const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const biased = Array.from({ length: 620_000 }, () => letters[Math.floor(Math.random() * 256) % 62]).join('')
  expect(bias(biased)).toBeGreaterThan(120)
})

test.each([
  [0, '000000'],
  [61, '00000z'],
  [62, '000010'],
  [2 ** 32 - 1, '4gfFC3'],
])('R5 %d in base 62 is %s', (value, text) => {
  expect(base62(value, 6)).toBe(text)
})

test('R11 a sequence grows with every call, whatever the clock does', () => {
  const times = [1_000, 1_000, 1_001, 900, 5_000, 5_000].map((ms) => ms + Date.UTC(2030, 0))
  const numbers = times.map(nextSequence)
  expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
  expect(new Set(numbers).size).toBe(numbers.length)
})

test('R11 a later millisecond on another replica sorts after everything of an earlier one', () => {
  const at = Date.UTC(2031, 0)
  const burst = Array.from({ length: 1_000 }, () => nextSequence(at))
  expect(Math.max(...burst)).toBeLessThan((at + 1) * 1_024)
  expect(Number.isSafeInteger(nextSequence(Date.UTC(2200, 0)))).toBe(true)
})

test('R20 no two nonces are the same, nor parts of one another, across refills of the pool', () => {
  const nonces = Array.from({ length: 5_000 }, () => randomNonce(12))
  expect(new Set(nonces.map((nonce) => nonce.toString('hex'))).size).toBe(nonces.length)
  expect(new Set(nonces.map((nonce) => nonce.subarray(0, 8).toString('hex'))).size).toBe(nonces.length)
  expect(nonces.every((nonce) => nonce.some((byte) => byte !== 0))).toBe(true)
})
