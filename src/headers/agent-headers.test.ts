// §10.2 as a table: which header appears when, and that none holds what a header cannot.
import { expect, test } from 'vitest'
import {
  type ExecutionMode,
  MONEY_TRAILERS,
  moneyHeaders,
  type QosFacts,
  qosHeaders,
  type RouteFacts,
  routeHeaders,
} from './agent-headers.ts'

const route = (more: Partial<RouteFacts> = {}): RouteFacts => ({
  trace_id: 'trc_1',
  provider: 'openai',
  model: 'gpt-4o',
  region: 'us',
  profile: 'managed_provider',
  mode: 'live',
  alias_release_id: undefined,
  credential_id: undefined,
  subscription: undefined,
  ...more,
})

const ALWAYS = {
  'agent-trace-id': 'trc_1',
  'agent-resolved-provider': 'openai',
  'agent-resolved-model': 'gpt-4o',
  'agent-execution-profile': 'managed_provider',
  'agent-execution-mode': 'live',
  'agent-region': 'us',
}
const subscription = { id: 'sub_1', input_discount_pct: 20 }

test.each([
  ['managed', {}, {}],
  ['an alias', { alias_release_id: 'alr_1' }, { 'agent-alias-release': 'alr_1' }],
  [
    'byok',
    { profile: 'byok', credential_id: 'pcr_1' },
    { 'agent-execution-profile': 'byok', 'agent-byok-credential-id': 'pcr_1' },
  ],
  [
    'a subscription',
    { profile: 'subscription', subscription },
    {
      'agent-execution-profile': 'subscription',
      'agent-subscription-id': 'sub_1',
      'agent-subscription-discount-pct': '20',
    },
  ],
  ['byoc', { profile: 'byoc_epp', credential_id: 'pcr_1' }, { 'agent-execution-profile': 'byoc_epp' }],
  [
    'no other profile tells of a subscription',
    { profile: 'byok', subscription },
    { 'agent-execution-profile': 'byok' },
  ],
  ['a fallback', { mode: 'emergency_fallback' as ExecutionMode }, { 'agent-execution-mode': 'emergency_fallback' }],
  ['the placeholder', { mode: 'placeholder' as ExecutionMode }, { 'agent-execution-mode': 'placeholder' }],
] as [string, Partial<RouteFacts>, object][])('§10.2 %s', (_what, facts, headers) => {
  expect(routeHeaders(route(facts))).toEqual({ ...ALWAYS, ...headers })
})

// Node throws on anything else, and a line break would become a header of its own (T-87).
test.each(['a\r\nx: y', 'gpt-🚀', '模型', 'a\0b', ' padded ', 'é'])(
  'T-87 %j in names becomes what a header can hold',
  (name) => {
    const headers = routeHeaders(route({ provider: name, model: name, region: name }))
    for (const field of ['provider', 'model'].map((one) => `agent-resolved-${one}`).concat('agent-region')) {
      expect(headers[field]).toMatch(/^[\x20-\x7e]*$/)
      expect(headers[field]?.trim()).toBe(headers[field])
      expect(decodeURIComponent(headers[field] ?? '')).toBe(name)
    }
  },
)

test.each([
  ['gpt-4o-mini', 'gpt-4o-mini'],
  ['a region, of ours', 'a region, of ours'],
  ['clu-ω', 'clu-%CF%89'],
  ['Zürich ☃', 'Z%C3%BCrich%20%E2%98%83'],
  ['100%', '100%25'],
  ['', ''],
])('§10.2 %j is told as %j, and nothing of it is lost', (name, told) => {
  expect(routeHeaders(route({ region: name }))['agent-region']).toBe(told)
  expect(decodeURIComponent(told)).toBe(name)
})

const qos = (more: Partial<QosFacts> = {}): QosFacts => ({
  admission: 'admitted',
  target_met: undefined,
  fallback_used: false,
  hints_honored: undefined,
  ...more,
})
const QUIET = { 'agent-qos-admission': 'admitted', 'agent-qos-fallback-used': 'false' }

test.each([
  ['no hints', {}, {}],
  ['queued', { admission: 'queued' }, { 'agent-qos-admission': 'queued' }],
  ['a target that was met', { target_met: true }, { 'agent-qos-target-met': 'true' }],
  ['a target that was missed', { target_met: false }, { 'agent-qos-target-met': 'false' }],
  ['a fallback', { fallback_used: true }, { 'agent-qos-fallback-used': 'true' }],
  ['hints that were honored', { hints_honored: ['qos', 'reuse'] }, { 'agent-hints-honored': 'qos,reuse' }],
  ['hints that changed nothing', { hints_honored: [] }, { 'agent-hints-honored': '' }],
] as [string, Partial<QosFacts>, object][])('§10.2 %s', (_what, facts, headers) => {
  expect(qosHeaders(qos(facts))).toEqual({ ...QUIET, ...headers })
})

test.each([
  [25, 40, '15'],
  [25, 25, '0'],
  [40, 25, '0'],
  [0, 0, '0'],
])('§10.2 charged %i, direct %i: savings %s, never below zero', (charged_micros, direct_cost_micros, saved) => {
  expect(moneyHeaders({ charged_micros, direct_cost_micros })).toEqual({
    'agent-charged-micros': String(charged_micros),
    'agent-direct-cost-micros': String(direct_cost_micros),
    'agent-savings-micros': saved,
  })
})

test('R41 what is announced as trailers is what is sent as them', () => {
  const sent = Object.keys(moneyHeaders({ charged_micros: 1, direct_cost_micros: 1 }))
  expect(MONEY_TRAILERS.split(', ')).toEqual(sent)
})
