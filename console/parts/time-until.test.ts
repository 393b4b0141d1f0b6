// What lies ahead as people read it, and times as an input has them.
import { expect, test } from 'vitest'
import { typedLines } from './text-area-field.tsx'
import { until } from './time-until.tsx'
import { inputFrom, typedInstant } from './times.ts'

const NOW = 1_000_000_000_000

test.each([
  [30_000, 'in 1 minute'],
  [119_000, 'in 1 minute'],
  [120_000, 'in 2 minutes'],
  [90 * 60_000, 'in 90 minutes'],
  [47 * 3_600_000, 'in 47 hours'],
  [48 * 3_600_000, 'in 2 days'],
  [0, 'just now'],
  [-3_600_000, '1 hour ago'],
])('R60 what is %i ms away is %s', (left, text) => {
  expect(until(NOW + left, NOW)).toBe(text)
})

test('R60 a time survives the way through an input, to the minute', () => {
  expect(typedInstant(inputFrom('2031-05-06T07:08:00.000Z'))).toBe('2031-05-06T07:08:00.000Z')
  expect([inputFrom(undefined), typedInstant('')]).toEqual(['', null])
})

test('R62 entries stand on lines or between commas; none is null', () => {
  expect(typedLines(' gpt-4o* \n\n fast, slow ')).toEqual(['gpt-4o*', 'fast', 'slow'])
  expect(typedLines(' \n,')).toBeNull()
})
