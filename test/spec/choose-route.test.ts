// R40 as a table: what is known of a project's routes, and where a request then goes, in which order, and why not
// elsewhere.
import { describe, expect, test } from 'vitest'
import { rfc3339, SECOND_MS } from '../../src/core/clock.ts'
import type { ClusterFacts } from '../../src/inference/byoc-targets.ts'
import { chooseRoute, type Question, type Snapshot } from '../../src/inference/choose-route.ts'
import type { ProviderSettings } from '../../src/providers/provider-config.ts'
import type { Subscription } from '../../src/subscriptions/subscription.ts'
import { NOON } from '../support/clock.ts'

const price = { input: 1, cached_input: 1, cache_write: 1, output: 1 }

const provider = (id: string, models: string[], more: Partial<ProviderSettings> = {}): ProviderSettings => ({
  id,
  protocol: 'openai',
  base_url: `https://${id}.example/v1`,
  api_key: `sk-${id}`,
  region: 'us',
  max_concurrency: 10,
  responses: false,
  unlisted_models: false,
  timeouts: { connect_ms: 1, first_byte_ms: 1, idle_ms: 1, total_ms: 1 },
  models: models.map((name) => ({ id: name, upstream_id: name, price, max_output_tokens: 100 })),
  ...more,
})

const cluster = (id: string, more: Partial<ClusterFacts> = {}): ClusterFacts => ({
  id,
  name: id,
  region: 'eu',
  status: 'active',
  orchestrator: 'kserve',
  endpoint: `https://${id}.example`,
  last_heartbeat_ms: NOON,
  models: ['m'],
  max_concurrency: undefined,
  has_picker: false,
  ...more,
})

const subscription = (id: string, more: Partial<Subscription> = {}): Subscription => ({
  id,
  object: 'subscription',
  project_id: 'prj_1',
  plan: 'pro',
  provider: 'one',
  status: 'active',
  input_discount_pct: 20,
  allowance_tokens: 100,
  used_tokens: 0,
  period_start: rfc3339(NOON - SECOND_MS),
  period_end: rfc3339(NOON + SECOND_MS),
  overage_enabled: false,
  created_at: rfc3339(NOON),
  ...more,
})

const credential = (id: string, name = 'one', base_url: string | null = null) => ({ id, provider: name, base_url })

function snapshot({ providers = [], ...more }: Partial<Snapshot> & { providers?: ProviderSettings[] } = {}): Snapshot {
  return {
    gateway: { providers, fees: { byok_micros: 3, byoc_micros: 4 }, full_fidelity: false },
    aliases: new Map(),
    clusters: [],
    credentials: [],
    subscriptions: [],
    allowed_regions: undefined,
    ...more,
  }
}

function choose(known: Snapshot, more: Partial<Question> = {}) {
  const idle = { affine_to: undefined, breakerAllows: () => true, inFlight: () => 0 }
  return chooseRoute({ model: 'm', seed: 'trc_1', now: NOON, ...idle, ...more }, known)
}

/** Where it would go, best first. */
function order(known: Snapshot, more: Partial<Question> = {}): string[] {
  const answer = choose(known, more)
  return answer.kind === 'route' ? answer.route.candidates.map(({ id }) => id) : [answer.kind]
}

function dropped(known: Snapshot, more: Partial<Question> = {}): Record<string, string> {
  const answer = choose(known, more)
  const list = answer.kind === 'route' ? answer.route.dropped : answer.kind === 'none_fit' ? answer.dropped : []
  return Object.fromEntries(list.map(({ target, reason }) => [target, reason]))
}

const one = provider('one', ['m'])
const two = provider('two', ['m', 'n'])

describe('R40 profiles', () => {
  const everything = {
    providers: [one, two],
    clusters: [cluster('byc_1')],
    credentials: [credential('pcr_1')],
    subscriptions: [subscription('sub_1', { provider: 'two' })],
  }

  test('R40 own clusters, own credentials, a subscription, then the providers as listed', () => {
    expect(order(snapshot(everything))).toEqual([
      'cluster:byc_1',
      'credential:pcr_1',
      'provider:two', // under the subscription
      'provider:one',
      'provider:two',
    ])
    const answer = choose(snapshot(everything))
    if (answer.kind !== 'route') throw new Error('nowhere')
    expect(answer.route.candidates.map(({ profile }) => profile)).toEqual([
      'byoc_native',
      'byok',
      'subscription',
      'managed_provider',
      'managed_provider',
    ])
  })

  test.each([
    ['no cluster', { clusters: [] }, 'credential:pcr_1'],
    ['no credential either', { clusters: [], credentials: [] }, 'provider:two'],
    ['no subscription either', { clusters: [], credentials: [], subscriptions: [] }, 'provider:one'],
  ])('R40 with %s', (_what, less, first) => {
    expect(order(snapshot({ ...everything, ...less }))[0]).toBe(first)
  })

  test('R40, R53 the placeholder answers for any name, but only where there is no provider at all', () => {
    expect(order(snapshot(), { model: 'anything' })).toEqual(['placeholder'])
    expect(order(snapshot({ providers: [one] }), { model: 'anything' })).toEqual(['unknown_model'])
    expect(order(snapshot({ clusters: [cluster('byc_1')] }), { model: 'anything' })).toEqual(['placeholder'])
    expect(order(snapshot({ clusters: [cluster('byc_1')] }))).toEqual(['cluster:byc_1'])
  })

  test('R40 only providers that list the model, or that take any', () => {
    expect(order(snapshot({ providers: [one, two] }), { model: 'n' })).toEqual(['provider:two'])
    const open = provider('open', [], { unlisted_models: true })
    expect(order(snapshot({ providers: [one, open] }), { model: 'x' })).toEqual(['provider:open'])
  })

  test('R40 a model may have another name at the provider', () => {
    const renamed = provider('one', [], {
      models: [{ id: 'm', upstream_id: 'org/m-2', price, max_output_tokens: 1 }],
    })
    expect(choose(snapshot({ providers: [renamed] }))).toMatchObject({ route: { candidates: [{ model: 'org/m-2' }] } })
  })
})

describe('R40, R52 clusters', () => {
  const FRESH = 45 * SECOND_MS

  test.each([
    ['registering', { status: 'registering' }, 'the cluster is registering'],
    ['draining', { status: 'draining' }, 'the cluster is draining'],
    ['down', { status: 'down' }, 'the cluster is down'],
    ['without an endpoint', { endpoint: null }, 'the cluster has no endpoint to dial'],
  ])('R40 one that is %s is never dialled, and it is said why', (_what, more, reason) => {
    const known = snapshot({ clusters: [cluster('byc_1', more)] })
    expect(choose(known)).toEqual({ kind: 'none_fit', dropped: [{ target: 'cluster:byc_1', reason }] })
    expect(order(snapshot({ clusters: [cluster('byc_1', more)], providers: [one] }))).toEqual(['provider:one'])
  })

  test('R52 only clusters that serve the model are thought of at all', () => {
    const known = snapshot({ clusters: [cluster('byc_1', { models: ['other'] })], providers: [one] })
    expect([order(known), dropped(known)]).toEqual([['provider:one'], {}])
  })

  test('R40 one that has not reported for 45 s comes last of all: only a fresh cluster goes before the rest', () => {
    const stale = { last_heartbeat_ms: NOON - FRESH - 1 }
    const known = snapshot({
      clusters: [cluster('byc_old', stale), cluster('byc_new', { last_heartbeat_ms: NOON - FRESH })],
      credentials: [credential('pcr_1')],
      providers: [one],
    })
    expect(order(known)).toEqual(['cluster:byc_new', 'credential:pcr_1', 'provider:one', 'cluster:byc_old'])
    expect(order(snapshot({ clusters: [cluster('byc_old', stale)] }))).toEqual(['cluster:byc_old'])
  })

  test('R40 of several, the one with the least load for its size', () => {
    const clusters = [cluster('byc_a', { max_concurrency: 10 }), cluster('byc_b', { max_concurrency: 100 })]
    const inFlight = (id: string) => (id === 'cluster:byc_a' ? 5 : 20)
    expect(order(snapshot({ clusters }), { inFlight })).toEqual(['cluster:byc_b', 'cluster:byc_a'])
  })

  test.each([
    ['llm-d', false, 'byoc_epp'],
    ['kserve', true, 'byoc_epp'],
    ['kserve', false, 'byoc_native'],
  ])('§1 orchestrator %s, an endpoint picker in telemetry: %s → %s', (orchestrator, has_picker, profile) => {
    const known = snapshot({ clusters: [cluster('byc_1', { orchestrator, has_picker })] })
    expect(choose(known)).toMatchObject({ route: { candidates: [{ profile, pricing: { kind: 'fee', micros: 4 } }] } })
  })

  test('T-85 no credential of ours goes to a cluster, and its address is judged on every dial', () => {
    expect(choose(snapshot({ clusters: [cluster('byc_1')] }))).toMatchObject({
      route: { candidates: [{ dialling: { secret: { kind: 'none' }, customer_address: true } }] },
    })
  })
})

describe('R40 credentials', () => {
  test('§1 the project’s own key, at the provider’s address and for its models, for the fee', () => {
    const known = snapshot({ providers: [one], credentials: [credential('pcr_1')] })
    expect(choose(known)).toMatchObject({
      route: {
        candidates: [
          {
            profile: 'byok',
            provider: 'one',
            region: 'us',
            credential_id: 'pcr_1',
            pricing: { kind: 'fee', micros: 3 },
            dialling: { base_url: one.base_url, secret: { kind: 'credential', id: 'pcr_1' }, customer_address: false },
          },
          { profile: 'managed_provider' },
        ],
      },
    })
  })

  test('R12 an address of the customer’s own is judged like a cluster’s', () => {
    const known = snapshot({ providers: [one], credentials: [credential('pcr_1', 'one', 'https://own.example/v1')] })
    expect(choose(known)).toMatchObject({
      route: { candidates: [{ dialling: { base_url: 'https://own.example/v1', customer_address: true } }, {}] },
    })
  })

  test.each([
    ['anthropic', 'claude-sonnet-4-6', 'anthropic', 'https://api.anthropic.com/v1'],
    ['openai', 'gpt-4o', 'openai', 'https://api.openai.com/v1'],
    ['groq', 'gpt-4o', undefined, undefined],
  ])('R40 one for %s serves %s where the price book says so', (name, model, protocol, base_url) => {
    const answer = choose(snapshot({ credentials: [credential('pcr_1', name)] }), { model })
    if (protocol === undefined) expect(answer).toMatchObject({ route: { candidates: [{ id: 'placeholder' }] } })
    else
      expect(answer).toMatchObject({ route: { candidates: [{ profile: 'byok', dialling: { protocol, base_url } }] } })
  })
})

describe('R40 subscriptions', () => {
  test.each([
    ['active', {}, true],
    ['not active', { status: 'past_due' as const }, false],
    ['cancelled', { status: 'canceled' as const }, false],
    ['over', { period_end: rfc3339(NOON) }, false],
    ['not begun', { period_start: rfc3339(NOON + 1_000) }, false],
    ['used up', { used_tokens: 100 }, false],
    ['used up, though overage is allowed', { used_tokens: 100, overage_enabled: true }, false],
    ['at another provider', { provider: 'elsewhere' }, false],
  ])('R40 one that is %s', (_what, more, is_used) => {
    const answer = choose(snapshot({ providers: [one], subscriptions: [subscription('sub_1', more)] }))
    if (answer.kind !== 'route') throw new Error('nowhere')
    const [first] = answer.route.candidates
    expect([first?.profile === 'subscription', first?.subscription]).toEqual([
      is_used,
      is_used ? { id: 'sub_1', input_discount_pct: 20 } : undefined,
    ])
    expect(first?.pricing.kind).toBe('tokens')
  })
})

describe('§9.4 aliases', () => {
  const alias = (...targets: { provider?: string; cluster_id?: string; credential_id?: string; weight: number }[]) => ({
    aliases: new Map([['fast', { release_id: 'alr_1', targets: targets.map((one) => ({ ...one, model: 'm' })) }]]),
  })

  test('§9.4 the release decides, whatever else the project has; and it is named', () => {
    const known = snapshot({
      ...alias({ provider: 'two', weight: 1 }),
      providers: [one, two],
      clusters: [cluster('c')],
    })
    const answer = choose(known, { model: 'fast' })
    expect(answer).toMatchObject({ route: { alias_release_id: 'alr_1', candidates: [{ id: 'provider:two' }] } })
    expect(choose(known)).toMatchObject({ route: { alias_release_id: undefined } })
  })

  test('§9.4 the pick is by weight, and the same for the same trace', () => {
    const known = snapshot({
      ...alias({ provider: 'one', weight: 3 }, { provider: 'two', weight: 1 }),
      providers: [one, two],
    })
    const firsts = Array.from({ length: 2_000 }, (_, n) => order(known, { model: 'fast', seed: `trc_${n}` })[0])
    const share = firsts.filter((id) => id === 'provider:one').length / firsts.length
    expect(share).toBeGreaterThan(0.7)
    expect(share).toBeLessThan(0.8)
    for (let n = 0; n < 50; n++) expect(order(known, { model: 'fast', seed: `trc_${n}` })[0]).toBe(firsts[n])
  })

  test('R47 the others are where to go when it fails, the heaviest first; weight 0 is never gone to', () => {
    const three = provider('three', ['m'])
    const known = snapshot({
      ...alias(
        { provider: 'one', weight: 1_000 },
        { provider: 'two', weight: 0 },
        { provider: 'three', weight: 1 },
        { cluster_id: 'byc_1', weight: 2 },
      ),
      providers: [one, two, three],
      clusters: [cluster('byc_1')],
    })
    expect(order(known, { model: 'fast' })).toEqual(['provider:one', 'cluster:byc_1', 'provider:three'])
  })

  test('§9.4 what a release names and the project no longer has is left out; what is down is told', () => {
    const known = snapshot({
      ...alias({ cluster_id: 'gone', weight: 5 }, { credential_id: 'gone', weight: 5 }, { cluster_id: 'c', weight: 1 }),
      clusters: [cluster('c', { status: 'down' })],
    })
    expect(choose(known, { model: 'fast' })).toMatchObject({ kind: 'none_fit', dropped: [{ target: 'cluster:c' }] })
    const nothing = snapshot({ ...alias({ provider: 'gone', weight: 1 }) })
    expect(choose(nothing, { model: 'fast' })).toEqual({ kind: 'unknown_model' })
  })

  test('§9.4 an alias may hide a model of the same name', () => {
    const aliases = new Map([['m', { release_id: 'alr_1', targets: [{ provider: 'two', model: 'n', weight: 1 }] }]])
    const known = snapshot({ aliases, providers: [one, two] })
    expect(choose(known)).toMatchObject({ route: { candidates: [{ provider: 'two', model: 'n' }] } })
  })
})

describe('what speaks against a target', () => {
  const eu = provider('two', ['m'], { region: 'eu' })

  test('§10.2 a region that the project does not allow', () => {
    const known = snapshot({ providers: [one, eu], allowed_regions: ['eu'] })
    expect([order(known), dropped(known)]).toEqual([
      ['provider:two'],
      { 'provider:one': "the project does not allow region 'us'" },
    ])
    expect(order(snapshot({ providers: [one], allowed_regions: ['eu'] }))).toEqual(['none_fit'])
    expect(order(snapshot({ providers: [one], allowed_regions: [] }))).toEqual(['none_fit'])
  })

  test('R47 a breaker that is open', () => {
    const known = snapshot({ providers: [one, eu] })
    const breakerAllows = (id: string) => id !== 'provider:one'
    expect(order(known, { breakerAllows })).toEqual(['provider:two'])
    expect(dropped(known, { breakerAllows })['provider:one']).toContain('left alone')
  })
})

describe('affinity', () => {
  const known = snapshot({ clusters: [cluster('a'), cluster('b')], providers: [one, two] })

  test('§1 a conversation stays where its cache is', () => {
    expect(order(known, { affine_to: 'cluster:b' }).slice(0, 2)).toEqual(['cluster:b', 'cluster:a'])
  })

  test('§1 but not at the price of another profile, nor where it cannot go', () => {
    expect(order(known, { affine_to: 'provider:two' })[0]).toBe('cluster:a')
    expect(order(known, { affine_to: 'cluster:b', breakerAllows: (id) => id !== 'cluster:b' })[0]).toBe('cluster:a')
    expect(order(known, { affine_to: 'cluster:gone' })[0]).toBe('cluster:a')
  })
})
