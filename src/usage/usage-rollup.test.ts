// How a time range is cut, and which roll-up answers what.
import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../core/clock.ts'
import { cubeWith, cut } from './usage-rollup.ts'

const BOTH = ['hour', 'day'] as const
const [D, H] = [DAY_MS, HOUR_MS]

test.each([
  ['whole days', 0, 3 * D, [0, 0, 0, 3 * D, 3 * D, 3 * D]],
  ['ends in the middle of hours', 1, 3 * D - 1, [1, H, D, 2 * D, 3 * D - H, 3 * D - 1]],
  ['within a day', 2 * H, 5 * H, [2 * H, 2 * H, 5 * H, 5 * H, 5 * H, 5 * H]],
  ['within an hour', 5, 50, [5, 50, 50, 50, 50, 50]],
  ['nothing', 50, 50, [50, 50, 50, 50, 50, 50]],
  ['backwards', 50, 5, [50, 50, 50, 50, 50, 50]],
])('§8.2.3 a range is cut into events, hours and days: %s', (_case, from, to, expected) => {
  const { from: a, hours, days, days_end, hours_end, to: z } = cut(from, to, BOTH)
  expect([a, hours, days, days_end, hours_end, z]).toEqual(expected)
})

test('§8.2.3 where there are only days, the ends are events; where only hours, there are no days', () => {
  expect(cut(1, 3 * D - 1, ['day'])).toEqual({
    from: 1,
    hours: D,
    days: D,
    days_end: 2 * D,
    hours_end: 2 * D,
    to: 3 * D - 1,
  })
  const { days, days_end, hours_end } = cut(0, 3 * D, ['hour'])
  expect([days, days_end, hours_end]).toEqual([3 * D, 3 * D, 3 * D])
})

test.each([
  [[], 'total'],
  [['key_id'], 'key'],
  [['model'], 'model'],
  [['profile'], 'path'],
  [['provider', 'cluster_id'], 'path'],
  [['key_id', 'model'], 'all'],
  [['model', 'provider'], 'all'],
] as const)('§8.2.3 by %j the smallest roll-up that knows it is %s', (dimensions, name) => {
  expect(cubeWith([...dimensions]).name).toBe(name)
})
