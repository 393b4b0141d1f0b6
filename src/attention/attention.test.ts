// What draws attention, how urgently, and from which number on; by tables of facts.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { HOUR_MS, rfc3339, SECOND_MS } from '../core/clock.ts'
import { type AttentionFacts, attentionOf, type ClusterState, type SubscriptionState } from './attention.ts'

const DAY_MS = 24 * HOUR_MS
const QUIET: AttentionFacts = {
  project: { id: 'prj_1', name: 'home', owner_verified: true, caps: [] },
  keys: [],
  clusters: [],
  credentials: [],
  subscriptions: [],
  channels: [],
  left_alone: [],
  set_aside: { events: 0, charged_micros: 0 },
  departures: [],
}

const WITHOUT_OVERAGE = { spent_micros: 96, overage_enabled: false }

const told = (facts: Partial<AttentionFacts>) =>
  attentionOf({ ...QUIET, ...facts }, NOON).map(({ severity, kind, about }) => `${severity} ${kind} ${about.id}`)

test('nothing is the matter where nothing is', () => {
  expect(told({})).toEqual([])
})

test.each([
  [799_999, []],
  [800_000, ['warning key_budget key_1']],
  [949_999, ['warning key_budget key_1']],
  [950_000, ['critical key_budget key_1']],
  [1_200_000, ['critical key_budget key_1']],
])('§4.4 a key that has used %d of a million: %j', (used_micros, expected) => {
  expect(told({ keys: [{ id: 'key_1', name: 'ci', limit_micros: 1_000_000, used_micros }] })).toEqual(expected)
})

test('R6 a limit of 0 was meant to block, and the cap of the project counts like a key’s', () => {
  expect(told({ keys: [{ id: 'key_1', name: 'ci', limit_micros: 0, used_micros: 0 }] })).toEqual([])
  const cap = { id: 'prj_1', name: 'home', limit_micros: 100, used_micros: 96, ...WITHOUT_OVERAGE }
  expect(told({ project: { ...QUIET.project, caps: [cap] } })).toEqual(['critical project_cap prj_1'])
})

test('§notifications a channel that fails, or that its receiver ended, is told of', () => {
  const failing = { id: 'nch_1', name: 'ops', status: 'active', failures: 3 }
  const ended = { id: 'nch_2', name: 'old', status: 'disabled', failures: 0 }
  expect(told({ channels: [failing, ended] })).toEqual([
    'warning channel_failing nch_1',
    'warning channel_failing nch_2',
  ])
})

function cluster(more: Partial<ClusterState>): ClusterState {
  const autoscaling = { min_replicas: 2, max_replicas: 4, target_ttft_ms: 500 }
  const when = { created_ms: NOON - 30 * DAY_MS, last_heartbeat_ms: NOON - 10 * SECOND_MS }
  return { id: 'byc_1', name: 'atlas', status: 'active', ...when, autoscaling, telemetry: undefined, ...more }
}
const reporting = (load: object, capacity: object = {}) => ({ load, capacity, reported_at: rfc3339(NOON) })

test.each<[string, Partial<ClusterState>, string[]]>([
  ['active and fresh', {}, []],
  ['silent for 45 s', { last_heartbeat_ms: NOON - 45 * SECOND_MS }, []],
  ['silent for longer', { last_heartbeat_ms: NOON - 45 * SECOND_MS - 1 }, ['warning cluster_silent byc_1']],
  ['down', { status: 'down' }, ['critical cluster_down byc_1']],
  ['draining', { status: 'draining' }, ['info cluster_draining byc_1']],
  ['new', { status: 'registering', created_ms: NOON - DAY_MS + 1, last_heartbeat_ms: undefined }, []],
  [
    'registered a day ago',
    { status: 'registering', created_ms: NOON - DAY_MS, last_heartbeat_ms: undefined },
    ['info cluster_never_reported byc_1'],
  ],
  ['on its target', { telemetry: reporting({ ttft_p95_ms: 500 }) }, []],
  ['above its target', { telemetry: reporting({ ttft_p95_ms: 501 }) }, ['warning cluster_slow byc_1']],
  ['short of replicas', { telemetry: reporting({}, { replicas_ready: 1 }) }, ['warning cluster_short byc_1']],
])('R13 a cluster that is %s', (_case, more, expected) => {
  expect(told({ clusters: [cluster(more)] })).toEqual(expected)
})

test('§5.8 a target that fails is told of to whom it belongs; a provider belongs to all', () => {
  const failing = ['provider:openai', 'cluster:byc_1', 'cluster:byc_else', 'credential:pcr_1', 'credential:pcr_else']
  const left_alone = failing.map((target) => ({ target, left_by: 'everyone' as const, kind: undefined }))
  const credentials = [{ id: 'pcr_1', name: 'mine', provider: 'openai', status: 'active' }]
  expect(told({ left_alone, clusters: [cluster({})], credentials })).toEqual([
    'warning breaker_open openai',
    'warning breaker_open byc_1',
    'warning breaker_open pcr_1',
  ])
})

const plan = (more: Partial<SubscriptionState>): SubscriptionState => ({
  id: 'sub_1',
  plan: 'pro',
  provider: 'openai',
  status: 'active',
  allowance_tokens: 1_000,
  used_tokens: 0,
  period_end_ms: NOON + 20 * DAY_MS,
  overage_enabled: false,
  ...more,
})

test.each<[string, Partial<SubscriptionState>, string[]]>([
  ['fresh', {}, []],
  ['nearly used up', { used_tokens: 800 }, ['warning subscription_used_up sub_1']],
  ['all but used up', { used_tokens: 950 }, ['critical subscription_used_up sub_1']],
  ['used up, with overage', { used_tokens: 2_000, overage_enabled: true }, ['warning subscription_used_up sub_1']],
  ['past due', { status: 'past_due' }, ['critical subscription_past_due sub_1']],
  ['ending in a week', { period_end_ms: NOON + 7 * DAY_MS }, ['info subscription_ending sub_1']],
  ['over', { period_end_ms: NOON, used_tokens: 1_000 }, []],
])('a subscription that is %s', (_case, more, expected) => {
  expect(told({ subscriptions: [plan(more)] })).toEqual(expected)
})

test('the most urgent first; every item has a sentence', () => {
  const items = attentionOf(
    {
      ...QUIET,
      project: { ...QUIET.project, owner_verified: false },
      clusters: [cluster({ status: 'draining' })],
      credentials: [{ id: 'pcr_1', name: 'mine', provider: 'openai', status: 'refused' }],
    },
    NOON,
  )
  expect(items.map(({ kind }) => kind)).toEqual(['credential_refused', 'owner_unverified', 'cluster_draining'])
  expect(items.every(({ sentence }) => /^\S.*\.$/.test(sentence))).toBe(true)
})

test.each([
  [79, []],
  [96, ['warning project_cap prj_1']],
  [100, ['warning project_cap prj_1']],
  [101, ['warning project_overage prj_1']],
])('R72 a project with overage that has spent %d of 100: %j, and nothing is urgent', (spent_micros, expected) => {
  const cap = { id: 'prj_1', name: 'home', limit_micros: 100, used_micros: spent_micros, spent_micros }
  const project = { ...QUIET.project, caps: [{ ...cap, overage_enabled: true }] }
  expect(told({ project })).toEqual(expected)
})

test('R72 how much a project is above its cap is told', () => {
  const cap = { id: 'prj_1', name: 'home', limit_micros: 0, used_micros: 1_250_000, spent_micros: 1_250_000 }
  const project = { ...QUIET.project, caps: [{ ...cap, overage_enabled: true }] }
  expect(attentionOf({ ...QUIET, project }, NOON)[0]?.sentence).toContain('$1.25 above its cap of $0.00')
})

test('R73 calls that left own capacity are told with how many, where to and why; of what is gone, nothing', () => {
  const seen = { went_to: 'provider:openai', reason: 'the cluster is draining', since: NOON }
  const departures = [
    { target: 'cluster:byc_1', calls: 3, ...seen },
    { target: 'credential:pcr_1', calls: 1, ...seen },
    { target: 'cluster:byc_gone', calls: 1, ...seen },
  ]
  const credentials = [{ id: 'pcr_1', name: 'mine', provider: 'openai', status: 'active' }]
  const items = attentionOf({ ...QUIET, departures, credentials, clusters: [cluster({})] }, NOON)
  expect(items.map(({ about, sentence }) => [about.type, about.id, sentence])).toEqual([
    [
      'byoc_cluster',
      'byc_1',
      `3 calls left atlas since ${rfc3339(NOON)}, the last for provider:openai: the cluster is draining.`,
    ],
    ['provider_credential', 'pcr_1', expect.stringMatching(/^A call left mine since/)],
  ])
})

test('R78 usage that cannot be added up is told, with what it was charged', () => {
  expect(told({ set_aside: { events: 2, charged_micros: 1_500_000 } })).toEqual(['warning usage_set_aside prj_1'])
})
