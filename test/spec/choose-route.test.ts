// R40 as a table: what is known of a project's routes, and where a request then goes, in which order, and why not
// elsewhere.
import { describe, expect, test } from 'vitest'
import { rfc3339, SECOND_MS } from '../../src/core/clock.ts'
import { atOnce } from '../../src/core/turns.ts'
import type { AliasTarget } from '../../src/models/alias.ts'
import type { Boundary } from '../../src/models/boundary.ts'
import type { ProviderSettings } from '../../src/providers/provider-config.ts'
import { type ClusterFacts, servingOf } from '../../src/routing/byoc-targets.ts'
import { Sought } from '../../src/routing/cache-belief.ts'
import { chooseRoute, type Question, type Snapshot } from '../../src/routing/choose-route.ts'
import type { CredentialFacts } from '../../src/routing/credential-address.ts'
import type { Target } from '../../src/routing/target.ts'
import { noGateway } from '../../src/start/gateway-settings.ts'
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
  byok: true,
  list_models: false,
  timeouts: { connect_ms: 1, first_byte_ms: 1, idle_ms: 1, total_ms: 1 },
  models: models.map((name) => ({ id: name, upstream_id: name, price, max_output_tokens: 100 })),
  ...more,
})

interface ServingCluster extends ClusterFacts {
  models: readonly string[]
}

const cluster = (id: string, more: Partial<ServingCluster> = {}): ServingCluster => ({
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
  cache_tokens: new Map(),
  tokens_per_s: undefined,
  sequence: undefined,
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

const credential = (id: string, name = 'one', base_url: string | null = null): CredentialFacts => ({
  id,
  provider: name,
  base_url,
  status: 'active',
  refusals: 0,
})

interface Known extends Omit<Partial<Snapshot>, 'clusters' | 'serving'> {
  providers?: ProviderSettings[]
  clusters?: readonly ServingCluster[]
}

function snapshot({ providers = [], clusters = [], ...more }: Known = {}): Snapshot {
  return {
    gateway: { ...noGateway().gateway, providers, fees: { byok_micros: 3, byoc_micros: 4 } },
    aliases: new Map(),
    clusters,
    serving: atOnce(servingOf(clusters.map((one) => ({ cluster: one, models: one.models })))),
    credentials: [],
    subscriptions: [],
    allowed_regions: undefined,
    boundary: 'own_first',
    ...more,
  }
}

const NO_PROMPT = { project_id: 'prj_1', sought: new Sought([]), tokens: 0 }
const asTheyCame: Question['place'] = (targets) => ({ targets, placing: { prompt: NO_PROMPT, standings: [] } })
const lastFirst: Question['place'] = (targets) => asTheyCame(targets.toReversed())

function choose(known: Snapshot, more: Partial<Question> = {}) {
  const idle = { affine_to: undefined, leftAlone: () => undefined, inFlight: () => 0, place: asTheyCame }
  return chooseRoute({ model: 'm', seed: 'trc_1', now: NOON, ...idle, ...more }, known)
}

const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1)

const failing = (target: string) => (id: string) =>
  id === target ? { reason: 'it failed, and is left alone', wait_ms: 1 } : undefined

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

const released = (targets: AliasTarget[], boundary?: Boundary) => ({ release_id: 'alr_1', targets, boundary })

/** Own capacity that the first candidate was not, and why. */
function passedOver(known: Snapshot, more: Partial<Question> = {}): string[] {
  const answer = choose(known, more)
  if (answer.kind !== 'route') return [answer.kind]
  return answer.route.passed_over.map(({ target, reason }) => `${target}: ${reason}`)
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

  test('R83 a provider that takes any model comes after all that list it', () => {
    const open = provider('open', [], { unlisted_models: true })
    expect(order(snapshot({ providers: [open, one, two] }))).toEqual(['provider:one', 'provider:two', 'provider:open'])
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
    expect(choose(known)).toEqual({ kind: 'none_fit', dropped: [{ target: 'cluster:byc_1', reason, kind: 'now' }] })
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
    ['used up, though overage is allowed', { used_tokens: 100, overage_enabled: true }, false],
    ['at another provider', { provider: 'elsewhere' }, false],
    ['used up and over', { used_tokens: 100, period_end: rfc3339(NOON) }, false],
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
    aliases: new Map([['fast', released(targets.map((one) => ({ ...one, model: 'm' })))]]),
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

  test('R47, R83 the others are where to go when it fails, the heaviest first; weight 0 stands by', () => {
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
    expect(order(known, { model: 'fast' })).toEqual(['provider:one', 'cluster:byc_1', 'provider:three', 'provider:two'])
  })

  test('R83, §3.1 of a release too, a cluster that has not reported for 45 s is tried after all others', () => {
    const old = cluster('old', { last_heartbeat_ms: NOON - 45 * SECOND_MS - 1 })
    const known = snapshot({
      ...alias(
        { cluster_id: 'old', weight: 1_000 },
        { cluster_id: 'new', weight: 1_000 },
        { provider: 'one', weight: 1 },
        { provider: 'two', weight: 0 },
      ),
      providers: [one, two],
      clusters: [old, cluster('new')],
    })
    for (let n = 0; n < 20; n++) {
      const told = { model: 'fast', seed: `trc_${n}`, place: lastFirst }
      expect(order(known, told).at(-1)).toBe('cluster:old')
    }
    const released_to = alias({ cluster_id: 'old', weight: 1 }, { provider: 'one', weight: 0 })
    const standing_by = snapshot({ ...released_to, providers: [one], clusters: [old] })
    expect([order(standing_by, { model: 'fast' })[0], passedOver(standing_by, { model: 'fast' })]).toEqual([
      'provider:one',
      ['cluster:old: the cluster has not reported for 45 seconds'],
    ])
  })

  test('§9.4 what a release names and is no longer there is told, with its reason, like what is down', () => {
    const known = snapshot({
      ...alias({ cluster_id: 'gone', weight: 5 }, { credential_id: 'gone', weight: 5 }, { cluster_id: 'c', weight: 1 }),
      clusters: [cluster('c', { status: 'down' })],
    })
    expect(dropped(known, { model: 'fast' })).toEqual({
      'cluster:gone': 'the cluster is not registered any more',
      'credential:gone': 'the credential was revoked',
      'cluster:c': 'the cluster is down',
    })
    const nothing = snapshot({ ...alias({ provider: 'gone', weight: 1 }), providers: [one] })
    expect(dropped(nothing, { model: 'fast' })).toEqual({ 'provider:gone': 'there is no such provider any more' })
    const unlisted = snapshot({ ...alias({ provider: 'two', weight: 1 }), providers: [provider('two', ['n'])] })
    expect(dropped(unlisted, { model: 'fast' })).toEqual({ 'provider:two': "it does not list 'm' any more" })
  })

  test('§9.4, R53 without a gateway the placeholder stands in for a provider', () => {
    expect(order(snapshot({ ...alias({ provider: 'openai', weight: 1 }) }), { model: 'fast' })).toEqual(['placeholder'])
  })

  test('§9.4 an alias may hide a model of the same name', () => {
    const aliases = new Map([['m', released([{ provider: 'two', model: 'n', weight: 1 }])]])
    const known = snapshot({ aliases, providers: [one, two] })
    expect(choose(known)).toMatchObject({ route: { candidates: [{ provider: 'two', model: 'n' }] } })
  })
})

describe('R72 an allowance that is used up', () => {
  const spent = (more: Partial<Subscription> = {}) => subscription('sub_1', { used_tokens: 100, ...more })
  const USED_UP = "the allowance of the subscription 'pro' (sub_1) is used up, and it has no overage"

  test('R72 without overage nobody is billed for its model, at no provider', () => {
    const known = snapshot({ providers: [one, two], subscriptions: [spent()] })
    expect(choose(known)).toMatchObject({ kind: 'none_fit', dropped: [{ kind: 'allowance' }, { kind: 'allowance' }] })
    expect(dropped(known)).toEqual({ 'provider:one': USED_UP, 'provider:two': USED_UP })
    expect(order(known, { model: 'n' })).toEqual(['provider:two']) // which it is not for
  })

  test('R72 with overage: managed, at the list price', () => {
    const known = snapshot({ providers: [one, two], subscriptions: [spent({ overage_enabled: true })] })
    expect(order(known)).toEqual(['provider:one', 'provider:two'])
  })

  test('R72 own capacity serves all the same', () => {
    const known = snapshot({ providers: [one], subscriptions: [spent()], clusters: [cluster('byc_1')] })
    expect(order(known)).toEqual(['cluster:byc_1'])
    const byok = snapshot({ providers: [one], subscriptions: [spent()], credentials: [credential('pcr_1')] })
    expect(order(byok)).toEqual(['credential:pcr_1'])
  })

  test('R72 another subscription that has allowance, or overage, serves at its own provider', () => {
    const other = (more: Partial<Subscription>) => subscription('sub_2', { provider: 'two', ...more })
    const running = snapshot({ providers: [one, two], subscriptions: [spent(), other({})] })
    expect(order(running)).toEqual(['provider:two', 'provider:two'])
    const over = snapshot({
      providers: [one, two],
      subscriptions: [spent(), other({ used_tokens: 100, overage_enabled: true })],
    })
    expect(order(over)).toEqual(['provider:two'])
  })
})

describe('R73 leaving own capacity', () => {
  const FRESH = 45 * SECOND_MS
  const draining = cluster('byc_1', { status: 'draining' })
  const everywhere = { providers: [one], clusters: [draining] }

  test.each<[string, Known, string]>([
    ['draining', { clusters: [draining] }, 'cluster:byc_1: the cluster is draining'],
    ['down', { clusters: [cluster('byc_1', { status: 'down' })] }, 'cluster:byc_1: the cluster is down'],
    [
      'silent',
      { clusters: [cluster('byc_1', { last_heartbeat_ms: NOON - FRESH - 1 })] },
      'cluster:byc_1: the cluster has not reported for 45 seconds',
    ],
    [
      'a refused credential',
      { credentials: [{ ...credential('pcr_1'), status: 'refused' }] },
      'credential:pcr_1: its provider refused the credential; verify it once it is in order',
    ],
  ])('R73 own_first, %s: it goes elsewhere, and is known to have been passed over', (_what, own, expected) => {
    const known = snapshot({ providers: [one], ...own })
    expect([order(known)[0], passedOver(known)]).toEqual(['provider:one', [expected]])
  })

  test('R73 own_first, a breaker that is open', () => {
    const known = snapshot({ providers: [one], clusters: [cluster('byc_1')] })
    const leftAlone = failing('cluster:byc_1')
    expect(passedOver(known, { leftAlone })).toEqual([expect.stringContaining('left alone')])
  })

  test('R73 nothing is passed over where own capacity of the same kind serves, or where the project says so', () => {
    const two_clusters = snapshot({ providers: [one], clusters: [draining, cluster('byc_2')] })
    expect([order(two_clusters)[0], passedOver(two_clusters)]).toEqual(['cluster:byc_2', []])
    const other_region = snapshot({ providers: [one], clusters: [draining], allowed_regions: ['us'] })
    expect([order(other_region), passedOver(other_region)]).toEqual([['provider:one'], []])
    const refused = { ...credential('pcr_1'), status: 'refused' as const }
    expect(passedOver(snapshot({ clusters: [cluster('byc_1')], credentials: [refused] }))).toEqual([])
  })

  test('R73 from a cluster to a credential is a step out of the cluster', () => {
    const known = snapshot({ ...everywhere, credentials: [credential('pcr_1')] })
    expect([order(known)[0], passedOver(known)]).toEqual([
      'credential:pcr_1',
      ['cluster:byc_1: the cluster is draining'],
    ])
  })

  test('R73 own_only: a model that own capacity serves goes nowhere else, whatever is the matter with it', () => {
    const known = snapshot({ ...everywhere, boundary: 'own_only' })
    expect(choose(known)).toMatchObject({ kind: 'none_fit', dropped: [{ kind: 'now' }, { kind: 'boundary' }] })
    const silent = snapshot({
      providers: [one],
      clusters: [cluster('byc_1', { last_heartbeat_ms: 0 })],
      boundary: 'own_only',
    })
    expect(order(silent)).toEqual(['cluster:byc_1'])
    const refused = snapshot({
      providers: [one],
      credentials: [{ ...credential('pcr_1'), status: 'refused' }],
      boundary: 'own_only',
    })
    expect(order(refused)).toEqual(['none_fit'])
  })

  test('R73 own_only: what own capacity does not serve goes where it always went', () => {
    const known = snapshot({ providers: [two], clusters: [draining], boundary: 'own_only' })
    expect(order(known, { model: 'n' })).toEqual(['provider:two'])
  })

  test('R52, R73 own_only: where own clusters name more models than are known, nothing that may be one goes elsewhere', () => {
    const models = Array.from({ length: 100_001 }, (_, at) => `model-${at}`)
    const known = snapshot({ providers: [two], clusters: [{ ...draining, models }], boundary: 'own_only' })
    expect(order(known, { model: 'n' })).toEqual(['none_fit'])
    expect(order({ ...known, boundary: 'own_first' }, { model: 'n' })).toEqual(['provider:two'])
  })

  test('R73 an alias says otherwise for itself, or is bound like the model it stands for', () => {
    const through = (boundary: Boundary | undefined, ...targets: Omit<AliasTarget, 'model'>[]) => {
      const aliases = new Map([
        [
          'fast',
          released(
            targets.map((one) => ({ ...one, model: 'm' })),
            boundary,
          ),
        ],
      ])
      return { aliases, ...everywhere }
    }
    const both = [
      { cluster_id: 'byc_1', weight: 1_000 },
      { provider: 'one', weight: 0 },
    ]
    const fast = { model: 'fast' }
    expect(order(snapshot(through('own_only', ...both)), fast)).toEqual(['none_fit'])
    expect(order(snapshot({ ...through('own_first', ...both), boundary: 'own_only' }), fast)).toEqual(['provider:one'])
    expect(passedOver(snapshot(through(undefined, ...both)), fast)).toHaveLength(1)
    const provider_only = through(undefined, { provider: 'one', weight: 1 })
    expect(order(snapshot({ ...provider_only, boundary: 'own_only' }), fast)).toEqual(['none_fit'])
    expect(order(snapshot(provider_only), fast)).toEqual(['provider:one'])
  })

  test('R73 an alias that splits by weight leaves nothing when its pick is elsewhere', () => {
    const targets = [
      { provider: 'one', model: 'm', weight: 1_000 },
      { cluster_id: 'byc_1', model: 'm', weight: 0 },
    ]
    const known = snapshot({ ...everywhere, aliases: new Map([['fast', released(targets)]]) })
    expect([order(known, { model: 'fast' }), passedOver(known, { model: 'fast' })]).toEqual([['provider:one'], []])
  })
})

describe('R79 where a credential without an address of its own goes', () => {
  const addressOf = (providers: ProviderSettings[], name: string, model: string) => {
    const answer = choose(snapshot({ providers, credentials: [credential('pcr_1', name)] }), { model })
    if (answer.kind !== 'route') return answer.kind
    const [{ profile, dialling, region }] = answer.route.candidates as [Target]
    return [profile, dialling.base_url, region]
  }
  const operators = provider('openai', ['gpt-4o'], { byok: false, region: 'eu' })

  test('R79 to the provider’s public address, never to one that the operator configured', () => {
    expect(addressOf([operators], 'openai', 'gpt-4o')).toEqual(['byok', 'https://api.openai.com/v1', 'global'])
  })

  test('R79 to the operator’s, where the operator says so, or where it is the public one', () => {
    expect(addressOf([{ ...operators, byok: true }], 'openai', 'gpt-4o')).toEqual(['byok', operators.base_url, 'eu'])
    const is_public = { ...operators, base_url: 'https://api.openai.com/v1/' }
    expect(addressOf([is_public], 'openai', 'gpt-4o')).toEqual(['byok', is_public.base_url, 'eu'])
  })

  test('R79 one for a provider that nobody knows serves nothing, and its call is not silently somebody else’s', () => {
    const up = provider('up', ['m'], { byok: false })
    const known = snapshot({ providers: [up], credentials: [credential('pcr_1', 'up')] })
    expect([order(known), passedOver(known)]).toEqual([
      ['provider:up'],
      ['credential:pcr_1: it has no base_url, and no address of its provider is known'],
    ])
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
    const leftAlone = failing('provider:one')
    expect(order(known, { leftAlone })).toEqual(['provider:two'])
    expect(dropped(known, { leftAlone })['provider:one']).toContain('left alone')
  })
})

describe('affinity', () => {
  const known = snapshot({ clusters: [cluster('a'), cluster('b')], providers: [one, two] })

  test('§1 a conversation stays where its cache is', () => {
    const providers = snapshot({ providers: [one, two] })
    expect(order(providers, { affine_to: 'provider:two' })).toEqual(['provider:two', 'provider:one'])
  })

  test('R84 among clusters that serve a model their caches decide, and nothing else moves', () => {
    expect(order(known, { place: lastFirst }).slice(0, 3)).toEqual(['cluster:b', 'cluster:a', 'provider:one'])
  })

  test('R84 one that is down is not chosen, and what is sent to the other is still noted', () => {
    const asked: string[][] = []
    const place: Question['place'] = (targets) => {
      asked.push(targets.map(({ id }) => id))
      return asTheyCame(targets)
    }
    expect(order(known, { place, leftAlone: failing('cluster:b') })[0]).toBe('cluster:a')
    expect(asked).toEqual([['cluster:a']])
    expect(order(snapshot({ clusters: [cluster('a')], providers: [one] }), { place })[0]).toBe('cluster:a')
    expect(asked).toHaveLength(1)
  })

  test('R84 weights of an alias are kept; caches decide among equal ones of the same model', () => {
    const release = (weights: Record<string, number>) =>
      new Map([
        [
          'm',
          {
            release_id: 'rel_1',
            boundary: undefined,
            targets: Object.entries(weights).map(([id, weight]) => ({ cluster_id: id, model: 'm', weight })),
          },
        ],
      ])
    const clusters = [cluster('a'), cluster('b'), cluster('c')]
    const equal = snapshot({ clusters, aliases: release({ a: 50, b: 50, c: 0 }) })
    expect(order(equal, { place: (targets) => asTheyCame([...targets].sort(byId)) })).toEqual([
      'cluster:a',
      'cluster:b',
      'cluster:c',
    ])
    const canary = snapshot({ clusters, aliases: release({ a: 99, b: 1 }) })
    expect(order(canary, { place: lastFirst })).toEqual(order(canary))
  })

  test('§1 but not at the price of another profile, nor where it cannot go', () => {
    expect(order(known, { affine_to: 'provider:two' })[0]).toBe('cluster:a')
    expect(order(known, { affine_to: 'cluster:b', leftAlone: failing('cluster:b') })[0]).toBe('cluster:a')
    expect(order(known, { affine_to: 'cluster:gone' })[0]).toBe('cluster:a')
  })
})
