// How a time range is cut, and which roll-up answers what.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock.ts'
import { type Cuts, cubeWith, cut, type Span } from './usage-rollup.ts'

const [D, H, M] = [DAY_MS, HOUR_MS, 5 * MINUTE_MS]
const FINE = ['minutes', 'hour', 'day'] as const
const GRAINS = ['minutes', 'hour', 'quarter', 'day'] as const

const shown = (cuts: Cuts) => [
  ...cuts.ends.map(({ from, to }) => `events ${from}-${to}`),
  ...cuts.rollups.map(({ grain, from, to }) => `${grain} ${from}-${to}`),
]

test.each([
  ['whole days', 0, 3 * D, [`day 0-${3 * D}`]],
  [
    'ends in the middle of everything',
    1,
    3 * D - 1,
    [
      `events 1-${M}`,
      `events ${3 * D - M}-${3 * D - 1}`,
      `minutes ${M}-${H}`,
      `minutes ${3 * D - H}-${3 * D - M}`,
      `hour ${H}-${D}`,
      `hour ${2 * D}-${3 * D - H}`,
      `day ${D}-${2 * D}`,
    ],
  ],
  ['within a day', 2 * H, 5 * H, [`hour ${2 * H}-${5 * H}`]],
  ['within an hour', M, 3 * M + 1, [`events ${3 * M}-${3 * M + 1}`, `minutes ${M}-${3 * M}`]],
  ['within minutes', 5, 50, ['events 5-50']],
  ['nothing', 50, 50, []],
  ['backwards', 50, 5, []],
])('§8.2.3 a range is cut into events, minutes, hours and days: %s', (_case, from, to, expected) => {
  expect(shown(cut(from, to, FINE))).toEqual(expected)
})

test('§8.2.3 a range is cut by the grains there are, and without any it is all events', () => {
  expect(shown(cut(1, 3 * D - 1, ['day']))).toEqual([
    `events 1-${D}`,
    `events ${2 * D}-${3 * D - 1}`,
    `day ${D}-${2 * D}`,
  ])
  expect(shown(cut(0, 3 * D, ['hour']))).toEqual([`hour 0-${3 * D}`])
  expect(shown(cut(1, 3 * D, []))).toEqual([`events 1-${3 * D}`])
})

test('§8.2.3 no moment of a range is in two parts or in none, and what is rolled up is all but the ends', () => {
  const time = fc.integer({ min: 0, max: 4 * D })
  fc.assert(
    fc.property(time, time, fc.subarray([...GRAINS]), (from, to, grains) => {
      const { rollups, ends, rolled } = cut(from, to, grains)
      const spans = [...rollups, ...ends].sort((a, b) => a.from - b.from)
      const joints = spans.flatMap((span) => [span.from, span.to])
      expect(joints.slice(1, -1).every((at, n) => n % 2 === 1 || at === joints[n + 2])).toBe(true)
      expect([joints[0] ?? from, joints.at(-1) ?? Math.max(from, to)]).toEqual([from, Math.max(from, to)])
      const length = (some: readonly Span[]) => some.reduce((sum, span) => sum + span.to - span.from, 0)
      expect(length(rollups)).toBe(length([rolled]))
    }),
    { seed: 20_261_115 },
  )
})

test.each([
  [[], 'total'],
  [['key_id'], 'key'],
  [['model'], 'model'],
  [['profile'], 'path'],
  [['provider', 'cluster_id'], 'path'],
  [['key_id', 'model'], 'all'],
  [['model', 'provider'], 'place'],
  [['model', 'provider', 'profile', 'cluster_id'], 'place'],
  [['key_id', 'provider'], 'all'],
] as const)('§8.2.3 by %j the smallest roll-up that knows it is %s', (dimensions, name) => {
  expect(cubeWith([...dimensions]).name).toBe(name)
})
