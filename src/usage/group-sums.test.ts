import { expect, test } from 'vitest'
import { type GroupRow, groupSums } from './group-sums.ts'
import { noAmounts } from './usage-rollup.ts'

const row = (day: string, model: string, charged_micros: number): GroupRow =>
  ({ ...noAmounts(), day, model, events: 1, charged_micros }) as GroupRow

test('§8.2.3 groups that were added up in parts: the latest day first, then the dearest, then by name', () => {
  const sums = groupSums({ group_by: ['day', 'model'], group_tag: undefined })
  sums.add([row('2026-11-15', 'a', 5), row('2026-11-15', 'c', 3), row('2026-11-16', 'a', 1)])
  sums.add([row('2026-11-15', 'b', 9), row('2026-11-15', 'a', 4), row('2026-11-15', 'd', 3)])
  const told = (most: number) => sums.newest(most).map((one) => [one.day, one.model, one.events, one.charged_micros])
  expect(told(9)).toEqual([
    ['2026-11-16', 'a', 1, 1],
    ['2026-11-15', 'a', 2, 9],
    ['2026-11-15', 'b', 1, 9],
    ['2026-11-15', 'c', 1, 3],
    ['2026-11-15', 'd', 1, 3],
  ])
  expect(told(2)).toHaveLength(2)
})

test('§8.2.3 without a group there is one sum, and none where nothing was used', () => {
  const sums = groupSums({ group_by: [], group_tag: undefined })
  expect(sums.newest(1)).toEqual([])
  sums.add([row('', '', 2)])
  sums.add([row('', '', 3)])
  expect(sums.newest(9).map(({ events, charged_micros }) => [events, charged_micros])).toEqual([[2, 5]])
})
