import { expect, test } from 'vitest'
import type { Price } from '../models/price.ts'
import type { Pricing, Target } from '../routing/target.ts'
import type { Asked } from './call.ts'
import { chargeFor, clampedTo, worstCost } from './charge.ts'

const PRICE: Price = { input: 1_000_000, cached_input: 500_000, cache_write: 2_000_000, output: 2_000_000 }
const TOKENS: Pricing = { kind: 'tokens', price: PRICE }
const FEE: Pricing = { kind: 'fee', micros: 7 }
const UNPRICED: Pricing = { kind: 'unpriced' }

const target = (pricing: Pricing, subscription?: Target['subscription']) =>
  ({ pricing, max_output_tokens: 1_000, subscription }) as Target
const asked = (more: Partial<Asked> = {}) =>
  ({ kind: 'chat', input_bound: 100, output_limit: undefined, choices: 1, ...more }) as Asked
const used = { input: 100, cached: 40, written: 0, output: 10, reasoning: 0, estimated: false }

test.each([
  ['the prompt at its dearest, and the caller’s limit', TOKENS, { output_limit: 50 }, 300],
  ['or the model’s maximum', TOKENS, {}, 2_200],
  ['for every choice', TOKENS, { choices: 3 }, 6_200],
  ['on a path that the customer pays for, the fee', FEE, { output_limit: 50 }, 7],
  ['where nobody knows, nothing', UNPRICED, {}, 0],
  ['more than can be counted fits nowhere', TOKENS, { output_limit: 1e300 }, Number.MAX_SAFE_INTEGER],
])('R43 held: %s', (_what, pricing, more, micros) => {
  expect(worstCost(asked(more), target(pricing))).toBe(micros)
})

test.each([
  ['what is left buys', 300, {}, { micros: 300, clamp_output_to: 50 }],
  ['one token', 202, {}, { micros: 202, clamp_output_to: 1 }],
  ['not even one', 201, {}, undefined],
  ['not the prompt', 100, {}, undefined],
  ['shared by the choices', 312, { choices: 3 }, { micros: 308, clamp_output_to: 18 }],
  [
    'never over the model’s maximum, though there is money again',
    1_000_000,
    {},
    { micros: 2_200, clamp_output_to: 1_000 },
  ],
  ['not where the caller said how much', 300, { output_limit: 900 }, undefined],
  ['nor for embeddings', 300, { kind: 'embeddings' as const }, undefined],
])('R43 shortened to %s', (_what, available, more, estimate) => {
  expect(clampedTo(asked(more), target(TOKENS), available)).toEqual(estimate)
})

test('R43 free output is never asked for without end', () => {
  const free = target({ kind: 'tokens', price: { ...PRICE, output: 0 } })
  expect(clampedTo(asked(), free, 200)).toEqual({ micros: 200, clamp_output_to: 1_000 })
  expect(clampedTo(asked(), target(FEE), 3)).toBeUndefined()
})

test('R42 charged with the cached price, direct without any reuse', () => {
  expect(chargeFor(target(TOKENS), used, 0)).toEqual({ cost_micros: 100, direct_cost_micros: 120 })
})

test('R42 BYOK and BYOC: both are the fee', () => {
  expect(chargeFor(target(FEE), used, 0)).toEqual({ cost_micros: 7, direct_cost_micros: 7 })
  expect(chargeFor(target(UNPRICED), used, 0)).toEqual({ cost_micros: 0, direct_cost_micros: 0 })
})

test.each([
  ['the whole input', 50, 100, 60],
  ['half of it', 50, 50, 80],
  ['none, for the allowance is used up', 50, 0, 100],
  ['all for nothing', 100, 100, 20],
  ['at no discount', 0, 100, 100],
  ['a part of a micro, which is not given', 1, 1, 100],
])('§10.2 a subscription takes its discount off %s', (_what, input_discount_pct, covered, cost_micros) => {
  const subscribed = target(TOKENS, { id: 'sub_1', input_discount_pct })
  expect(chargeFor(subscribed, used, covered)).toEqual({ cost_micros, direct_cost_micros: 120 })
})
