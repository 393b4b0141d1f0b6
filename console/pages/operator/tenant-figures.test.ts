// Which cap binds, and when a month began.
import { expect, test } from 'vitest'
import { capOf, monthStart } from './tenant-figures.ts'

test.each([
  [undefined, undefined, false, undefined, 'yours'],
  [5, undefined, false, 5, 'its own'],
  [5, 3, false, 3, 'yours'],
  [3, 5, false, 3, 'its own'],
  [3, 5, true, 5, 'yours'],
  [3, undefined, true, undefined, 'yours'],
])('R79 own %s, operator’s %s, overage %s: %s, %s', (own, operators, overage_enabled, micros, whose) => {
  const caps = {
    ...(own !== undefined && { cap_micros: own }),
    ...(operators !== undefined && { operator_cap_micros: operators }),
  }
  expect(capOf({ ...caps, overage_enabled })).toEqual({ micros, whose })
})

test('§8.2 a month begins at midnight of UTC', () => {
  expect(monthStart(Date.parse('2026-11-17T04:00:00Z'))).toBe('2026-11-01T00:00:00.000Z')
  expect(monthStart(Date.parse('2026-01-01T00:00:00Z'))).toBe('2026-01-01T00:00:00.000Z')
})
