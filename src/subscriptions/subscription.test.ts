// What may be subscribed to, when a subscription counts, and what its allowance covers.
import { Value } from 'typebox/value'
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { HOUR_MS, rfc3339 } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { coveredTokens, hasAllowance, isActive, NewSubscription, subscribe } from './subscription.ts'

const PRO = { plan: 'pro', provider: 'openai', input_discount_pct: 20, allowance_tokens: 1_000 }

function outcome(more: object): string {
  const asked = { ...PRO, ...more }
  if (!Value.Check(NewSubscription, asked)) return 'refused'
  try {
    subscribe('prj_1', asked, NOON)
    return 'accepted'
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'invalid_request') return 'refused'
    throw error
  }
}

test('§10.2 what was not said has its default: from now, for a month, without overage', () => {
  expect(subscribe('prj_1', { ...PRO, plan: ' pro ' }, NOON)).toEqual({
    id: expect.stringMatching(/^sub_/),
    object: 'subscription',
    project_id: 'prj_1',
    ...PRO,
    status: 'active',
    used_tokens: 0,
    period_start: '2026-11-15T12:00:00.000Z',
    period_end: '2026-12-15T12:00:00.000Z',
    overage_enabled: false,
    created_at: '2026-11-15T12:00:00.000Z',
  })
})

test.each([
  ['2026-01-31T08:00:00Z', '2026-02-28T08:00:00.000Z'],
  ['2028-01-31T08:00:00Z', '2028-02-29T08:00:00.000Z'],
  ['2026-12-05T00:00:00+02:00', '2027-01-04T22:00:00.000Z'],
])('§10.2 a month from %s ends at %s', (period_start, period_end) => {
  expect(subscribe('prj_1', { ...PRO, period_start }, NOON).period_end).toBe(period_end)
})

test.each([
  ['a discount of 0', 'accepted', { input_discount_pct: 0 }],
  ['a discount of 100', 'accepted', { input_discount_pct: 100 }],
  ['a discount of 101', 'refused', { input_discount_pct: 101 }],
  ['a negative discount', 'refused', { input_discount_pct: -1 }],
  ['half a percent', 'refused', { input_discount_pct: 0.5 }],
  ['no discount said', 'refused', { input_discount_pct: undefined }],
  ['no allowance', 'accepted', { allowance_tokens: 0 }],
  ['a negative allowance', 'refused', { allowance_tokens: -1 }],
  ['an allowance beyond counting', 'refused', { allowance_tokens: 1e16 }],
  ['an allowance as text', 'refused', { allowance_tokens: '1000' }],
  ['a blank plan', 'refused', { plan: ' ' }],
  ['no provider', 'refused', { provider: undefined }],
  ['1 for overage', 'refused', { overage_enabled: 1 }],
  ['overage', 'accepted', { overage_enabled: true }],
  ['a day for a time', 'refused', { period_start: '2026-11-15' }],
  ['an end before the start', 'refused', { period_start: '2026-11-15T00:00:00Z', period_end: '2026-11-14T00:00:00Z' }],
  ['an end at the start', 'refused', { period_start: '2026-11-15T00:00:00Z', period_end: '2026-11-15T00:00:00Z' }],
  ['an end before now', 'refused', { period_end: '2026-11-15T11:00:00Z' }],
  ['a month that ends after all years', 'refused', { period_start: '9999-12-15T00:00:00Z' }],
])('§10.2 %s is %s', (_case, expected, more) => {
  expect(outcome(more)).toBe(expected)
})

test('R40 it counts from its start until just before its end, while it is active', () => {
  const period = { period_start: rfc3339(NOON), period_end: rfc3339(NOON + HOUR_MS) }
  const made = subscribe('prj_1', { ...PRO, ...period }, NOON)
  expect([-1, 0, HOUR_MS - 1, HOUR_MS].map((ms) => isActive(made, NOON + ms))).toEqual([false, true, true, false])
  for (const status of ['past_due', 'canceled'] as const) expect(isActive({ ...made, status }, NOON)).toBe(false)
})

test('§10.2 there is a discount while there is allowance', () => {
  const allowance_tokens = 10
  const left = [0, 9, 10, 11].map((used_tokens) =>
    hasAllowance({ ...subscribe('p', PRO, NOON), used_tokens, allowance_tokens }),
  )
  expect(left).toEqual([true, true, false, false])
})

test.each([
  [10, 10, 100, 10],
  [10, 100, 100, 10],
  [10, 105, 100, 5],
  [10, 110, 100, 0],
  [10, 500, 100, 0],
  [0, 50, 100, 0],
  [150, 150, 100, 100],
])('§10.2 of %i tokens, with %i then used of %i, %i were covered', (tokens, used_tokens, allowance_tokens, covered) => {
  expect(coveredTokens(tokens, { used_tokens, allowance_tokens })).toBe(covered)
})
