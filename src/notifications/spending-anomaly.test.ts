// Whether an hour is out of the ordinary, beside the same hour of the weeks before.
import { array, assert, integer, property, tuple } from 'fast-check'
import { expect, test } from 'vitest'
import { FLOOR_MICROS, judgeHour, median } from './spending-anomaly.ts'

const USD = 1_000_000

test.each([
  ['as always', 10, [10, 10, 10, 10], false],
  ['twice as much, where every week is the same', 21, [10, 10, 10, 10], true],
  ['half as much again', 15, [10, 10, 10, 10], false],
  ['much, where weeks differ much', 40, [10, 30, 5, 50, 20], false],
  ['more than any week', 400, [10, 30, 5, 50, 20], true],
  ['one wild week before does not hide the next', 100, [10, 10, 11, 900, 10, 9], true],
  ['less than usual', 0, [10, 10, 10, 10], false],
  ['a few dollars where nothing is usual', 4, [0, 0, 0, 0], false],
  ['more than the floor where nothing is usual', 6, [0, 0, 0, 0], true],
])('§notifications %s', (_case, spent, before, is_anomaly) => {
  expect(
    judgeHour(
      spent * USD,
      before.map((usd) => usd * USD),
    )?.is_anomaly,
  ).toBe(is_anomaly)
})

test('§notifications with less than four weeks there is nothing to compare with', () => {
  expect(judgeHour(1_000 * USD, [1, 1, 1])).toBeUndefined()
})

const micros = integer({ min: 0, max: 1e12 })
const weeks = array(micros, { minLength: 4, maxLength: 8 })

test('§notifications robust: a minority of wild weeks moves the limit by no more than the others do', () => {
  assert(
    property(tuple(integer({ min: 0, max: 1e9 }), micros, micros), ([usual, wild, spent]) => {
      const [calm, hit] = [
        judgeHour(spent, Array(8).fill(usual)),
        judgeHour(spent, [...Array(5).fill(usual), wild, wild, wild]),
      ]
      expect(hit?.limit_micros).toBe(calm?.limit_micros)
    }),
    { numRuns: 300 },
  )
})

test('§notifications the order of weeks is of no account, more is never less of an anomaly, the floor holds', () => {
  assert(
    property(tuple(micros, weeks), ([spent, before]) => {
      const verdict = judgeHour(spent, before)
      expect(judgeHour(spent, before.toReversed())).toEqual(verdict)
      if (verdict?.is_anomaly) {
        expect(judgeHour(spent + 1, before)?.is_anomaly).toBe(true)
        expect(spent - verdict.usual_micros).toBeGreaterThan(FLOOR_MICROS - 1)
      }
    }),
    { numRuns: 500 },
  )
})

test('§notifications the median', () => {
  expect([median([3, 1, 2]), median([4, 1, 2, 3]), median([7])]).toEqual([2, 3, 7])
})
