// §2: times are RFC 3339 texts that compare as the instants they name.
import { expect, test } from 'vitest'
import { rfc3339 } from './clock.ts'

test('§2 a time is UTC with milliseconds', () => {
  expect(rfc3339(Date.UTC(2026, 10, 15, 12, 0, 0, 7))).toBe('2026-11-15T12:00:00.007Z')
})

test('§2 texts sort as their instants do', () => {
  const instants = [0, 999, 1_000, Date.UTC(1999, 11, 31), Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1) + 1]
  expect(instants.map(rfc3339).sort()).toEqual(instants.map(rfc3339))
})
