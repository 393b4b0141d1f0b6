// §8: the native form tells in the body what /v1 tells in headers.
import { expect, test } from 'vitest'
import { type NativeFacts, nativeBlocks } from './native-response.ts'

const facts: NativeFacts = {
  route: {
    trace_id: 'trc_1',
    provider: 'openai',
    model: 'gpt-4o-mini',
    region: 'us',
    profile: 'managed_provider',
    mode: 'emergency_fallback',
    alias_release_id: undefined,
  },
  qos: { admission: 'queued', target_met: undefined, fallback_used: true, hints_honored: ['qos', 'reuse'] },
  money: { charged_micros: 70, direct_cost_micros: 100 },
  attempts: [
    { n: 1, kind: 'first', target: 'a', status: 503, failure: 'status 503', ttft_ms: undefined },
    { n: 2, kind: 'provider_failover', target: 'b', status: 200, failure: undefined, ttft_ms: 120 },
  ],
}

test('§8 routing, QoS, cost and attempts are told with the response', () => {
  expect(nativeBlocks(facts)).toEqual({
    routing: {
      trace_id: 'trc_1',
      provider: 'openai',
      model: 'gpt-4o-mini',
      execution_profile: 'managed_provider',
      execution_mode: 'emergency_fallback',
      region: 'us',
      alias_release_id: null,
      output_clamped_to: null,
    },
    qos: { admission: 'queued', target_met: null, fallback_used: true, hints_honored: ['qos', 'reuse'] },
    cost: { charged_micros: 70, direct_cost_micros: 100, savings_micros: 30 },
    attempts: [
      { n: 1, kind: 'first', target: 'a', status: 503, failure: 'status 503', ttft_ms: null },
      { n: 2, kind: 'provider_failover', target: 'b', status: 200, failure: null, ttft_ms: 120 },
    ],
  })
})

test('§10.2 savings are never below zero; what is unknown is null', () => {
  const native = nativeBlocks({
    route: { ...facts.route, alias_release_id: 'alr_1', output_clamped_to: 234 },
    qos: { admission: 'admitted', target_met: false, fallback_used: false, hints_honored: undefined },
    money: { charged_micros: 100, direct_cost_micros: 70 },
    attempts: [],
  })
  expect(native.cost.savings_micros).toBe(0)
  expect(native.routing).toMatchObject({ alias_release_id: 'alr_1', output_clamped_to: 234 })
  expect(native.qos).toMatchObject({ target_met: false, hints_honored: null })
})

test('§8 what an attempt knows beyond its shape is not told', () => {
  const attempt = { ...facts.attempts[0], secret: 'x' } as NativeFacts['attempts'][number]
  expect(nativeBlocks({ ...facts, attempts: [attempt] }).attempts[0]).not.toHaveProperty('secret')
})
