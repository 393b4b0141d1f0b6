// R9: what arrives as text is a value in full, or refused.
import { expect, test } from 'vitest'
import { Refusal } from './refusal.ts'
import { instant, wholeNumber } from './text-values.ts'

test.each([
  ['2026-11-15T12:00:00Z', Date.UTC(2026, 10, 15, 12)],
  ['2026-11-15t12:00:00z', Date.UTC(2026, 10, 15, 12)],
  ['2026-11-15T12:00:00.25Z', Date.UTC(2026, 10, 15, 12, 0, 0, 250)],
  ['2026-11-15T13:30:00+01:30', Date.UTC(2026, 10, 15, 12)],
  ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29)],
  ['1960-01-01T00:00:00Z', Date.UTC(1960, 0, 1)],
])('§2 %s is a time', (text, time_ms) => {
  expect(instant('from', text)).toBe(time_ms)
})

test.each([
  '',
  'now',
  '2026-11-15',
  '2026-11-15T12:00:00',
  '2026-11-15 12:00:00Z',
  '2026-11-15T24:00:00Z',
  '2026-11-15T23:59:60Z',
  '2026-02-30T00:00:00Z',
  '2027-02-29T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-11-15T12:00:00+25:00',
  '0000-01-01T00:00:00+14:00',
  '9999-12-31T23:59:59-14:00',
  '+012026-11-15T12:00:00Z',
  '1794744000000',
])('§2 %j is no time', (text) => {
  expect(() => instant('from', text)).toThrow("'from' must be an RFC 3339 time")
})

test.each([
  ['1', 1],
  ['0010', 10],
  ['10000', 10_000],
])('R9 %s is a whole number', (text, value) => {
  expect(wholeNumber('limit', text, { minimum: 1, maximum: 10_000 })).toBe(value)
})

test.each(['', '0', '10001', '-1', '1.0', '1e3', '0x10', ' 1', 'many', '9'.repeat(400)])('R9 %j is none', (text) => {
  expect(() => wholeNumber('limit', text, { minimum: 1, maximum: 10_000 })).toThrow(Refusal)
})
