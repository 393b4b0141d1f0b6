// R65: the calendar's windows, in UTC.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rfc3339 } from '../core/clock.ts'
import { type Period, windowEnd, windowLimit, windowStart } from './budget-window.ts'

const at = (text: string) => Date.parse(text)
const bounds = (period: Period, now: string) =>
  [windowStart(period, at(now)), windowEnd(period, at(now))].map((ms) => rfc3339(ms).slice(0, 10))

test.each<[Period, string, string, string]>([
  ['day', '2026-11-15T23:59:59.999Z', '2026-11-15', '2026-11-16'],
  ['day', '2026-11-16T00:00:00.000Z', '2026-11-16', '2026-11-17'],
  ['week', '2026-11-15T23:59:59.999Z', '2026-11-09', '2026-11-16'], // a Sunday
  ['week', '2026-11-16T00:00:00.000Z', '2026-11-16', '2026-11-23'],
  ['week', '2026-01-01T12:00:00.000Z', '2025-12-29', '2026-01-05'],
  ['month', '2026-12-31T23:59:59.999Z', '2026-12-01', '2027-01-01'],
  ['month', '2028-02-29T00:00:00.000Z', '2028-02-01', '2028-03-01'],
])('R65 the %s of %s', (period, now, start, end) => {
  expect(bounds(period, now)).toEqual([start, end])
})

test('R65 every moment is in exactly one window, and each begins where the last one ends', () => {
  const moments = fc.integer({ min: at('1970-01-01T00:00:00Z'), max: at('2199-12-31T00:00:00Z') })
  fc.assert(
    fc.property(moments, fc.constantFrom<Period>('day', 'week', 'month'), (now, period) => {
      const [start, end] = [windowStart(period, now), windowEnd(period, now)]
      expect(start <= now && now < end).toBe(true)
      expect([windowStart(period, end), windowEnd(period, start - 1)]).toEqual([end, start])
      if (period === 'week') expect(new Date(start).getUTCDay()).toBe(1)
      if (period === 'month') expect(new Date(start).getUTCDate()).toBe(1)
    }),
  )
})

test('R65, R6 dollars become micros exactly; null and absence stay what they are', () => {
  expect(windowLimit({ window: { period: 'day', limit_usd: 8.2 } })).toEqual({ period: 'day', limit_micros: 8_200_000 })
  expect([windowLimit({ window: null }), windowLimit({})]).toEqual([null, undefined])
  expect(() => windowLimit({ window: { period: 'day', limit_usd: 1e-7 } })).toThrow("'window.limit_usd'")
})
