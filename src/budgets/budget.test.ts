import { expect, test } from 'vitest'
import { type Cap, capsThatBind, hardCap, quotaExceeded, settlementOf } from './budget.ts'

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

test.each<[string, Cap, { limit_micros: number; overage_enabled: boolean }[]]>([
  ['none', { cap_micros: null, operator_cap_micros: null, overage_enabled: 0 }, []],
  ['the own', cap(5, null), [hard(5)]],
  ['the operator’s', cap(null, 5), [hard(5)]],
  ['the operator’s below the own', cap(9, 5), [hard(5)]],
  ['the own below the operator’s', cap(5, 9), [hard(5)]],
  ['of two alike, one', cap(5, 5), [hard(5)]],
  ['with overage the own refuses nothing', cap(5, null, 1), [{ limit_micros: 5, overage_enabled: true }]],
  ['and the operator’s does', cap(5, 9, 1), [{ limit_micros: 5, overage_enabled: true }, hard(9)]],
])('R79 which caps bind: %s', (_case, of, expected) => {
  expect(capsThatBind(of)).toEqual(expected)
  expect(hardCap(of)).toBe(expected.find(({ overage_enabled }) => !overage_enabled)?.limit_micros)
})

function cap(cap_micros: number | null, operator_cap_micros: number | null, overage_enabled = 0): Cap {
  return { cap_micros, operator_cap_micros, overage_enabled }
}

function hard(limit_micros: number) {
  return { limit_micros, overage_enabled: false }
}
