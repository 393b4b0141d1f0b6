import { expect, test } from 'vitest'
import { quotaExceeded, settlementOf } from './budget.ts'

test.each([
  [30, 100, 30, 0],
  [100, 100, 100, 0],
  [101, 100, 100, 1],
  [30, 0, 0, 30],
  [30, undefined, 30, 0],
  [0, 100, 0, 0],
])('R43 a cost of %i with %s held: charged %i, written off %i', (cost, held, charged_micros, written_off_micros) => {
  expect(settlementOf(cost, held)).toEqual({ charged_micros, written_off_micros })
})

test.each(['key', 'project'] as const)(
  'R45, R48 the %s’s refusal: not to be tried again, and no time to wait',
  (limit) => {
    const { status, body, headers } = quotaExceeded(limit)
    expect([status, body.error.type, body.error.code]).toEqual([429, 'quota_exceeded', 'quota_exceeded'])
    expect(headers).toEqual({ 'x-should-retry': 'false' })
    expect(body.error.message).toContain(limit)
  },
)
