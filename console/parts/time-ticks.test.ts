// Marks of an axis of time: at round times, few enough to read, and at least two where there is room for two.
import { expect, test } from 'vitest'
import { PERIOD_IDS, PERIODS, STEP_MS, spanOf } from './periods.ts'
import { placedTicks, timeTicks } from './time-ticks.ts'

const NOW = Date.parse('2026-11-15T14:25:10.500Z')
const startsOf = (from_ms: number, step_ms: number, steps: number) =>
  Array.from({ length: steps }, (_, at) => from_ms + at * step_ms)

test.each([
  ['1h', ['13:30', '13:40', '13:50', '14:00', '14:10', '14:20']],
  ['24h', ['16:00', '20:00', 'Nov 15', '04:00', '08:00', '12:00']],
  ['7d', ['Nov 9', 'Nov 10', 'Nov 11', 'Nov 12', 'Nov 13', 'Nov 14', 'Nov 15']],
  ['30d', ['Oct 19', 'Oct 26', 'Nov 2', 'Nov 9']],
  ['90d', ['Aug 31', 'Sep 14', 'Sep 28', 'Oct 12', 'Oct 26', 'Nov 9']],
] as const)('§console %s is marked at %j', (period, labels) => {
  const { from_ms, step } = spanOf(period, NOW)
  expect(timeTicks(startsOf(from_ms, STEP_MS[step], PERIODS[period].steps)).map(({ label }) => label)).toEqual(labels)
})

test('§console marks are few, in order, and each stands where its time begins, whatever the range', () => {
  for (const period of PERIOD_IDS)
    for (let steps = 1; steps <= 400; steps = Math.ceil(steps * 1.4)) {
      const step_ms = STEP_MS[PERIODS[period].step]
      const ticks = timeTicks(startsOf(NOW - (NOW % step_ms), step_ms, steps))
      expect(ticks.length).toBeGreaterThan(0)
      expect(ticks.length).toBeLessThanOrEqual(7)
      expect(ticks.map(({ at }) => at)).toEqual(ticks.map(({ at }) => at).toSorted((a, b) => a - b))
    }
  expect(timeTicks([])).toEqual([])
})

test('§console labels do not run into each other or out of the chart, wherever a day begins in it', () => {
  const HOUR_MS = 3_600_000
  const LABEL = 42 / 320 // of the narrowest chart that shows every label
  for (const [steps, step_ms] of [
    [24 * 7, HOUR_MS],
    [24, HOUR_MS],
    [30, 24 * HOUR_MS],
    [90, 24 * HOUR_MS],
  ] as const)
    for (let n = 0; n < 24 * 8; n++) {
      const from_ms = Date.parse('2026-11-01T00:00:00Z') + n * step_ms
      const lefts = placedTicks(startsOf(from_ms, step_ms, steps)).map(({ across, side }) =>
        side === 'end' ? 1 - LABEL : side === 'behind' ? across : across - LABEL / 2,
      )
      expect(lefts.length).toBeGreaterThan(2)
      for (const [at, left] of lefts.entries()) {
        expect(left).toBeGreaterThan(-LABEL / 3)
        expect(left + LABEL).toBeLessThan(1.01)
        if (at > 0) expect(left - (lefts[at - 1] ?? 0)).toBeGreaterThan(LABEL)
      }
    }
})
