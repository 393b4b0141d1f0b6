// Which thresholds a charge crosses.
import { assert, integer, property, tuple } from 'fast-check'
import { expect, test } from 'vitest'
import { crossedBy, crossingsOfKey, crossingsOfProject } from './threshold.ts'

test.each([
  [10, 49, 100, undefined],
  [10, 50, 100, 50],
  [10, 79, 100, undefined],
  [40, 79, 100, 50],
  [1, 80, 100, 80],
  [60, 99, 100, 80],
  [100, 100, 100, 100],
  [1, 101, 100, undefined],
  [0, 80, 100, undefined],
  [5, 5, 0, undefined],
  [1, 2, 3, 50],
])('§notifications a charge of %d that comes to %d of %d crosses %s', (spent, after, limit, crossed) => {
  expect(crossedBy(spent, after, limit)).toBe(crossed)
})

test('§notifications whatever the charges, each threshold that is reached is crossed once, or by a higher one', () => {
  assert(
    property(tuple(integer({ min: 1, max: 1e9 }), integer({ min: 1, max: 20 })), ([limit, parts]) => {
      const crossed: number[] = []
      let spent = 0
      for (let n = 0; n < 2 * parts; n++) {
        const charge = Math.ceil(limit / parts)
        spent += charge
        const pct = crossedBy(charge, spent, limit)
        if (pct !== undefined) crossed.push(pct)
      }
      expect(crossed).toEqual([...new Set(crossed)].sort((a, b) => a - b))
      expect(crossed.at(-1)).toBe(100)
    }),
    { numRuns: 300 },
  )
})

test('§notifications a window that has begun anew counts from nothing', () => {
  const sums = { spent_micros: 1_000, budget_micros: null, window_spent_micros: 60, window_limit_micros: 100 }
  expect(crossingsOfKey({ id: 'key_1', project_id: 'prj_1' }, sums, 500)).toEqual([
    {
      ...{ id: 'key_1', project_id: 'prj_1', limit: 'window', limit_micros: 100, spent_micros: 60 },
      ...{ threshold_pct: 50, is_overage: false },
    },
  ])
})

test('R72 with overage, what is above the cap is told as such; the operator’s cap has none', () => {
  const sums = { spent_micros: 120, cap_micros: 100, operator_cap_micros: 120, overage_enabled: 1 }
  expect(crossingsOfProject('prj_1', sums, 50).map(({ limit, is_overage }) => [limit, is_overage])).toEqual([
    ['project', true],
    ['operator', false],
  ])
})
