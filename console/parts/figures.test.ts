// Durations, shares and changes as people read them.
import { expect, test } from 'vitest'
import { change, duration, percent } from './figures.ts'

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_250, '1.25 s'],
  [59_990, '59.99 s'],
  [59_999, '1 min'],
  [125_000, '2 min 5 s'],
  [899_999, '15 min'],
])('§console %i ms are %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test('§console shares and changes: none where there is nothing to compare with, and small is not zero', () => {
  expect(percent(1, 0)).toBe('–')
  expect(percent(0, 10)).toBe('0%')
  expect(percent(1, 100_000)).toBe('< 0.1%')
  expect(percent(1, 8)).toBe('12.5%')
  expect(change(5, 0)).toBeUndefined()
  expect([change(15, 10), change(5, 10), change(10, 10), change(250, 10)]).toEqual(['+50%', '-50%', '0%', '×25'])
})
