// What somebody should look at: money that runs out, clusters that went silent, targets that fail, credentials that are
// refused. Facts in, sentences out; pure.
import { type Static, Type } from 'typebox'
import { type Autoscaling, type Cluster, SUSPECT_MS } from '../clusters/cluster.ts'
import type { Telemetry } from '../clusters/cluster-telemetry.ts'
import { HOUR_MS, rfc3339 } from '../core/clock.ts'
import { dollars } from '../core/money.ts'
import { orNull } from '../core/shapes.ts'
import { ago, span } from './spoken-time.ts'

export const NEAR_PCT = 80
const URGENT_PCT = 95
const NEVER_REPORTED_MS = 24 * HOUR_MS
const ENDING_MS = 7 * 24 * HOUR_MS

const KINDS = [
  'key_budget',
  'project_cap',
  'project_overage',
  'cluster_down',
  'cluster_silent',
  'cluster_draining',
  'cluster_slow',
  'cluster_short',
  'cluster_never_reported',
  'breaker_open',
  'own_capacity_left',
  'credential_refused',
  'subscription_past_due',
  'subscription_used_up',
  'subscription_ending',
  'channel_failing',
  'usage_set_aside',
  'owner_unverified',
] as const

const SEVERITIES = ['critical', 'warning', 'info'] as const
type Severity = (typeof SEVERITIES)[number]

export const AttentionItem = Type.Object(
  {
    object: Type.Literal('attention_item'),
    severity: Type.Enum(SEVERITIES),
    kind: Type.Enum(KINDS),
    about: Type.Object({
      type: Type.Enum([
        'api_key',
        'project',
        'byoc_cluster',
        'provider',
        'provider_credential',
        'subscription',
        'notification_channel',
      ]),
      id: Type.String(),
      name: orNull(Type.String()),
    }),
    sentence: Type.String({ description: 'What is the matter, for people.' }),
  },
  { title: 'AttentionItem' },
)
export type AttentionItem = Static<typeof AttentionItem>

export interface SpendingFacts {
  id: string
  name: string
  limit_micros: number
  /** Held counts like spent. */
  used_micros: number
}

export interface CapFacts extends SpendingFacts {
  spent_micros: number
  overage_enabled: boolean
}

export type ClusterState = Pick<Cluster, 'id' | 'name' | 'status'> & {
  created_ms: number
  last_heartbeat_ms: number | undefined
  autoscaling: Autoscaling
  telemetry: Telemetry | undefined
}

export interface AttentionFacts {
  /** `caps`: those that bind, its own and the operator's (R79). */
  project: { id: string; name: string; owner_verified: boolean; caps: readonly CapFacts[] }
  keys: readonly SpendingFacts[]
  clusters: readonly ClusterState[]
  credentials: readonly { id: string; name: string; provider: string; status: string }[]
  subscriptions: readonly SubscriptionState[]
  /** Those that are disabled, or fail. */
  channels: readonly { id: string; name: string; status: string; failures: number }[]
  /** R78: events that no report has in it. */
  set_aside: { events: number; charged_micros: number }
  /** As this process sees them; another may see others. */
  left_alone: readonly LeftAlone[]
  /** R73: calls that left a cluster or a credential behind, as this process saw them. */
  departures: readonly { target: string; reason: string; went_to: string; calls: number; since: number }[]
}

/** R78: a target that calls leave alone, since it failed: everyone's, or the project's of one kind. */
export interface LeftAlone {
  target: string
  left_by: 'everyone' | 'project'
  kind: string | undefined
}

export interface SubscriptionState {
  id: string
  plan: string
  provider: string
  status: string
  allowance_tokens: number
  used_tokens: number
  period_end_ms: number
  overage_enabled: boolean
}

type About = AttentionItem['about']

/** The most urgent first. */
export function attentionOf(facts: AttentionFacts, now: number): AttentionItem[] {
  const { project, keys, clusters, credentials, subscriptions } = facts
  const items = [
    ...project.caps.flatMap((cap) => ofCap(cap, { type: 'project', ...named(project) })),
    ...keys.flatMap((key) => spending('key_budget', { type: 'api_key', ...named(key) }, key)),
    ...clusters.flatMap((cluster) => ofCluster(cluster, now)),
    ...facts.left_alone.flatMap((left) => ofTarget(left, facts)),
    ...facts.departures.flatMap((departure) => ofDeparture(departure, facts)),
    ...credentials.flatMap(ofCredential),
    ...subscriptions.flatMap((subscription) => ofSubscription(subscription, now)),
    ...facts.channels.map(ofChannel),
    ...setAside(facts.set_aside, { type: 'project', ...named(project) }),
    ...(project.owner_verified ? [] : [unverified({ type: 'project', ...named(project) })]),
  ]
  return SEVERITIES.flatMap((severity) => items.filter((one) => one.severity === severity))
}

const named = ({ id, name }: { id: string; name: string }) => ({ id, name })

function item(severity: Severity, kind: AttentionItem['kind'], about: About, sentence: string): AttentionItem {
  return { object: 'attention_item', severity, kind, about, sentence }
}

/** R72: with overage nothing is refused, so nothing is urgent; but what is above the cap is told. */
function ofCap(cap: CapFacts, about: About): AttentionItem[] {
  const { name, limit_micros, spent_micros, overage_enabled } = cap
  if (!overage_enabled) return spending('project_cap', about, cap)
  if (spent_micros <= limit_micros) return spending('project_cap', about, cap).map(asWarning)
  const over = `$${dollars(spent_micros - limit_micros)} above its cap of $${dollars(limit_micros)}`
  return [item('warning', 'project_overage', about, `The project ${name} has spent ${over}; overage is enabled.`)]
}

const asWarning = (told: AttentionItem): AttentionItem => ({ ...told, severity: 'warning' })

/** A limit of 0 was set to block: it needs nobody's attention. */
function spending(kind: 'key_budget' | 'project_cap', about: About, facts: SpendingFacts): AttentionItem[] {
  const { limit_micros, used_micros, name } = facts
  const pct = limit_micros > 0 ? Math.floor((used_micros * 100) / limit_micros) : 0
  if (pct < NEAR_PCT) return []
  const whose = kind === 'project_cap' ? `The project ${name}` : `The key ${name}`
  const left = dollars(Math.max(0, limit_micros - used_micros))
  const severity = pct >= URGENT_PCT ? 'critical' : 'warning'
  return [item(severity, kind, about, `${whose} has used ${pct}% of its limit; $${left} is left.`)]
}

function ofCluster(cluster: ClusterState, now: number): AttentionItem[] {
  const { id, name, status, created_ms, last_heartbeat_ms } = cluster
  const about: About = { type: 'byoc_cluster', id, name }
  const silent_ms = now - (last_heartbeat_ms ?? created_ms)
  if (status === 'registering')
    return silent_ms < NEVER_REPORTED_MS
      ? []
      : [
          item(
            'info',
            'cluster_never_reported',
            about,
            `${name} was registered ${ago(silent_ms)}, and has never reported.`,
          ),
        ]
  if (status === 'down')
    return [item('critical', 'cluster_down', about, `${name} is down; it last reported ${ago(silent_ms)}.`)]
  if (silent_ms > SUSPECT_MS)
    return [
      item(
        'warning',
        'cluster_silent',
        about,
        `${name} last reported ${ago(silent_ms)}: it is used only where nothing else is.`,
      ),
    ]
  if (status === 'draining')
    return [item('info', 'cluster_draining', about, `${name} is draining: it gets no new requests.`)]
  return degraded(cluster, about)
}

function degraded({ name, autoscaling, telemetry }: ClusterState, about: About): AttentionItem[] {
  const { ttft_p95_ms = 0 } = telemetry?.load ?? {}
  const ready = telemetry?.capacity?.replicas_ready
  const { target_ttft_ms, min_replicas } = autoscaling
  const slow = `${name} takes ${ttft_p95_ms} ms to the first token (p95); its target is ${target_ttft_ms} ms.`
  const short = `${name} has ${ready} replicas ready; at least ${min_replicas} are wanted.`
  return [
    ...(ttft_p95_ms > target_ttft_ms ? [item('warning', 'cluster_slow', about, slow)] : []),
    ...(ready !== undefined && ready < min_replicas ? [item('warning', 'cluster_short', about, short)] : []),
  ]
}

/** R73: told of clusters and credentials that are still there. */
function ofDeparture(departure: AttentionFacts['departures'][number], facts: AttentionFacts): AttentionItem[] {
  const [type, id] = split(departure.target)
  const cluster = type === 'cluster' && facts.clusters.find((one) => one.id === id)
  const credential = type === 'credential' && facts.credentials.find((one) => one.id === id)
  const one = cluster || credential
  if (!one) return []
  const about: About = { type: cluster ? 'byoc_cluster' : 'provider_credential', ...named(one) }
  const { calls, since, went_to, reason } = departure
  const times = calls === 1 ? 'A call' : `${calls} calls`
  const sentence = `${times} left ${one.name} since ${rfc3339(since)}, the last for ${went_to}: ${reason}.`
  return [item('warning', 'own_capacity_left', about, sentence)]
}

/** A provider is everybody's; a cluster or a credential is told of to its own project only. */
function ofTarget({ target, kind }: LeftAlone, { clusters, credentials }: AttentionFacts): AttentionItem[] {
  const [type, id = ''] = split(target)
  const [cluster, credential] = [clusters.find((one) => one.id === id), credentials.find((one) => one.id === id)]
  const whose = kind === undefined ? 'Calls of all projects' : `This project’s ${kind} calls`
  const sentence = (name: string) =>
    `${whose} leave ${name} alone, since it kept failing. This process tries it once in 30 seconds, until a call ` +
    'succeeds.'
  const open = (about: About) => [item('warning', 'breaker_open', about, sentence(about.name ?? about.id))]
  if (type === 'provider') return open({ type: 'provider', id, name: null })
  if (type === 'cluster' && cluster) return open({ type: 'byoc_cluster', ...named(cluster) })
  if (type === 'credential' && credential) return open({ type: 'provider_credential', ...named(credential) })
  return []
}

/** `provider:openai`, `cluster:byc_…`, `credential:pcr_…`. */
function split(target: string): [type: string, id: string] {
  const at = target.indexOf(':')
  return [target.slice(0, at), target.slice(at + 1)]
}

function ofCredential({ id, name, provider, status }: AttentionFacts['credentials'][number]): AttentionItem[] {
  if (status !== 'refused') return []
  const about: About = { type: 'provider_credential', id, name }
  return [
    item(
      'critical',
      'credential_refused',
      about,
      `${provider} refused the credential ${name}: nothing goes through it until it is verified.`,
    ),
  ]
}

function ofSubscription(subscription: SubscriptionState, now: number): AttentionItem[] {
  const { id, plan, status, allowance_tokens, used_tokens, period_end_ms, overage_enabled } = subscription
  const about: About = { type: 'subscription', id, name: plan }
  if (period_end_ms <= now || status === 'canceled') return []
  if (status === 'past_due')
    return [
      item('critical', 'subscription_past_due', about, `The subscription ${plan} is past due: it serves nothing.`),
    ]
  const pct = allowance_tokens > 0 ? Math.floor((used_tokens * 100) / allowance_tokens) : 100
  const beyond = overage_enabled ? 'beyond it the list price holds' : 'beyond it only own capacity serves its models'
  const ending = `The subscription ${plan} ends in ${span(period_end_ms - now)}.`
  return [
    ...(pct >= NEAR_PCT
      ? [
          item(
            pct >= URGENT_PCT && !overage_enabled ? 'critical' : 'warning',
            'subscription_used_up',
            about,
            `The subscription ${plan} has used ${pct}% of its allowance; ${beyond}.`,
          ),
        ]
      : []),
    ...(period_end_ms - now <= ENDING_MS ? [item('info', 'subscription_ending', about, ending)] : []),
  ]
}

function ofChannel({ id, name, status, failures }: AttentionFacts['channels'][number]): AttentionItem {
  const failed = `does not arrive: ${failures} attempts failed in a row.`
  const what = status === 'disabled' ? 'is disabled: its receiver answered 410.' : failed
  const sentence = `The notification channel ${name} ${what}`
  return item('warning', 'channel_failing', { type: 'notification_channel', id, name }, sentence)
}

function setAside({ events, charged_micros }: AttentionFacts['set_aside'], about: About): AttentionItem[] {
  if (events === 0) return []
  const which = events === 1 ? 'A usage event' : `${events} usage events`
  const charged = `$${dollars(charged_micros)} charged`
  const sentence = `${which} (${charged}) cannot be added up: no report has it. Tell the operator.`
  return [item('warning', 'usage_set_aside', about, sentence)]
}

const unverified = (about: About) =>
  item('warning', 'owner_unverified', about, 'The owner’s e-mail address is not verified: no keys can be made.')
