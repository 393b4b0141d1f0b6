// §10.2: no header goes out that nobody explains, and nothing is explained that never goes out.
import { expect, test } from 'vitest'
import { REPLAY_HEADER } from '../idempotency/idempotency.ts'
import { moneyHeaders, qosHeaders, routeHeaders } from './agent-headers.ts'
import { explainHeader, HEADER_EXPLANATIONS } from './header-explanations.ts'

const route = { trace_id: 't', provider: 'p', model: 'm', region: 'r', mode: 'live' } as const
const whose = {
  alias_release_id: 'alr_1',
  credential_id: 'pcr_1',
  subscription: { id: 'sub_1', input_discount_pct: 5 },
  bundle_id: 'bnd_1',
  output_clamped_to: 234,
  contents_dropped: 'quota',
} as const

test('§10.2 the table has every header that is sent, and no other', () => {
  const sent = {
    ...routeHeaders({ ...route, ...whose, profile: 'byok' }),
    ...routeHeaders({ ...route, ...whose, profile: 'subscription' }),
    ...qosHeaders({
      admission: 'admitted',
      target_met: true,
      fallback_used: false,
      hints_honored: ['qos'],
      ignored_fields: ['x'],
    }),
    ...moneyHeaders({ charged_micros: 1, direct_cost_micros: 2 }),
    [REPLAY_HEADER]: 'false',
  }
  expect(Object.keys(HEADER_EXPLANATIONS).sort()).toEqual(Object.keys(sent).sort())
  for (const [name, value] of Object.entries(sent)) expect(explainHeader(name, value)).toMatch(/^[A-Z].*\.$/)
})

test.each([
  ['agent-qos-admission', ['admitted', 'queued', 'rejected', 'expired_before_start']],
  ['agent-execution-mode', ['live', 'emergency_fallback', 'placeholder']],
  ['agent-execution-profile', ['managed_provider', 'byok', 'subscription', 'byoc_native', 'byoc_epp']],
  ['agent-qos-target-met', ['true', 'false']],
])('§10.2 %s: each value has a sentence of its own', (name, values) => {
  expect(new Set(values.map((value) => explainHeader(name, value))).size).toBe(values.length)
})

test('planted: a header that nobody explains is a fault', () => {
  expect(() => explainHeader('agent-new', '1')).toThrow('agent-new')
})
