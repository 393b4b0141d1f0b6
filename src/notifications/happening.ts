// What a project is told of: each kind of event, and what is said of it. Facts in, an event out; pure.
import { rfc3339 } from '../core/clock.ts'
import { dollars } from '../core/money.ts'

export const EVENT_TYPES = [
  'budget.threshold',
  'budget.refused',
  'project.overage',
  'key.expiring',
  'key.leaked',
  'cluster.down',
  'cluster.up',
  'cluster.slow',
  'cluster.recovered',
  'credential.refused',
  'provider.left_alone',
  'provider.back',
  'purge.finished',
  'replay.finished',
  'spend.anomaly',
] as const
export type EventType = (typeof EVENT_TYPES)[number] | 'test'

/** As `storage/telling.ts` takes it. */
export interface Event {
  project_id: string
  type: EventType
  subject: string
  sentence: string
  data: Readonly<Record<string, unknown>>
}

/** Which limit: a key's in all, a key's of its window, the project's own cap, the operator's. */
export type LimitKind = 'key' | 'window' | 'project' | 'operator'

export interface Crossing {
  project_id: string
  limit: LimitKind
  /** The key's, or the project's. */
  id: string
  threshold_pct: number
  limit_micros: number
  spent_micros: number
  /** R72: nothing is refused above it. */
  is_overage: boolean
}

export const crossingEvent = (crossing: Crossing, name: string): Event =>
  crossing.is_overage ? projectOverage(crossing) : budgetThreshold(crossing, name)

function budgetThreshold({ project_id, id, is_overage: _told, ...crossing }: Crossing, name: string): Event {
  const { limit, threshold_pct, limit_micros, spent_micros } = crossing
  const whose = { key: `The key ${name}`, window: `The key ${name}`, project: 'The project', operator: 'The project' }
  const what = {
    key: 'its limit',
    window: 'its limit for this window',
    project: 'its cap',
    operator: 'the cap that the operator set',
  }
  const sentence =
    `${whose[limit]} has spent $${dollars(spent_micros)}: ${threshold_pct} % of ${what[limit]} of ` +
    `$${dollars(limit_micros)} is reached.`
  return { project_id, type: 'budget.threshold', subject: id, sentence, data: { id, name, ...crossing } }
}

function projectOverage({ project_id, limit_micros, spent_micros }: Crossing): Event {
  const above = `above its cap of $${dollars(limit_micros)}`
  const sentence = `The project has spent $${dollars(spent_micros)}, ${above}; overage is enabled.`
  return { project_id, type: 'project.overage', subject: project_id, sentence, data: { limit_micros, spent_micros } }
}

export interface RefusedLimit {
  project_id: string
  id: string
  name: string
  limit: 'key' | 'window' | 'project'
  limit_micros: number
  spent_micros: number
}

export function budgetRefused({ project_id, id, name, ...limit }: RefusedLimit): Event {
  const whose = limit.limit === 'project' ? 'the project’s cap' : `the limit of the key ${name}`
  const sentence =
    `A call was refused: it does not fit into what is left of ${whose} of $${dollars(limit.limit_micros)}, of which ` +
    `$${dollars(limit.spent_micros)} is spent.`
  return { project_id, type: 'budget.refused', subject: id, sentence, data: { id, name, ...limit } }
}

interface NamedKey {
  id: string
  project_id: string
  name: string
  masked: string
}

export function keyExpiring({ id, project_id, name, masked }: NamedKey, expires_ms: number): Event {
  const expires_at = rfc3339(expires_ms)
  const sentence = `The key ${name} (${masked}) expires at ${expires_at}.`
  return { project_id, type: 'key.expiring', subject: id, sentence, data: { id, name, masked, expires_at } }
}

/** `where` is in whoever's words who reported it: it is data, and in no sentence of ours. */
export function keyLeaked({ id, project_id, name, masked }: NamedKey, where: string | null): Event {
  const sentence = `The key ${name} (${masked}) was reported to be known to others. Rotate or revoke it.`
  return { project_id, type: 'key.leaked', subject: id, sentence, data: { id, name, masked, where } }
}

interface NamedCluster {
  id: string
  project_id: string
  name: string
}

interface Turned {
  from: string | null
  to: string
  why: string
}

/** Undefined where a change of status is none that anybody is told of. */
export function clusterTurned({ id, project_id, name }: NamedCluster, { from, to, why }: Turned): Event | undefined {
  if (from === to || (to !== 'down' && from !== 'down') || to === 'deregistered') return undefined
  const data = { id, name, from, to, why }
  if (to !== 'down')
    return { project_id, type: 'cluster.up', subject: id, sentence: `The cluster ${name} is back: ${to}.`, data }
  const cause = why === 'sweep' ? 'it stopped reporting' : 'it reported so'
  return { project_id, type: 'cluster.down', subject: id, sentence: `The cluster ${name} is down: ${cause}.`, data }
}

const RECOVERED_SHARE = 0.8 // of its target: what hovers about the target is not told of again and again

/** Whether a cluster is slow now, by what it last reported and what was thought of it; undefined: nothing is new. */
export function paceTurned(was_slow: boolean, ttft_p95_ms: number, target_ttft_ms: number) {
  if (!was_slow) return ttft_p95_ms > target_ttft_ms ? ('slow' as const) : undefined
  return ttft_p95_ms <= target_ttft_ms * RECOVERED_SHARE ? ('recovered' as const) : undefined
}

interface Pace {
  turned: 'slow' | 'recovered'
  ttft_p95_ms: number
  target_ttft_ms: number
}

export function clusterPace({ id, project_id, name }: NamedCluster, { turned, ...pace }: Pace): Event {
  const again = turned === 'slow' ? 'takes' : 'has recovered: it takes'
  const sentence =
    `The cluster ${name} ${again} ${pace.ttft_p95_ms} ms to the first token (p95); ` +
    `its target is ${pace.target_ttft_ms} ms.`
  return { project_id, type: `cluster.${turned}`, subject: id, sentence, data: { id, name, ...pace } }
}

interface NamedCredential {
  id: string
  project_id: string
  name: string
  provider: string
}

export function credentialRefused({ id, project_id, name, provider }: NamedCredential): Event {
  const sentence = `${provider} refused the credential ${name}: nothing goes through it until it is verified.`
  return { project_id, type: 'credential.refused', subject: id, sentence, data: { id, name, provider } }
}

/** `target` as routes name it: `provider:openai`, `cluster:byc_…`, `credential:pcr_…`. */
export function targetLeft(project_id: string, target: string, left_by: 'everyone' | 'project'): Event {
  const whose = left_by === 'everyone' ? 'Calls of all projects' : 'This project’s calls'
  const sentence = `${whose} leave ${target} alone, since it kept failing.`
  return { project_id, type: 'provider.left_alone', subject: target, sentence, data: { target, left_by } }
}

export function targetBack(project_id: string, target: string): Event {
  const sentence = `${target} answers again: calls go there.`
  return { project_id, type: 'provider.back', subject: target, sentence, data: { target } }
}

interface Finished {
  id: string
  status: string
  error: string | null
}

export function purgeFinished(project_id: string, { id, status, error }: Finished): Event {
  const sentence = `The purge job ${id} has ${status}${error === null ? '' : `: ${error}`}.`.replace('..', '.')
  return { project_id, type: 'purge.finished', subject: id, sentence, data: { id, status, error } }
}

export function replayFinished(project_id: string, { id, status, error }: Finished): Event {
  const sentence = `The replay run ${id} has ${status}${error === null ? '' : `: ${error}`}.`.replace('..', '.')
  return { project_id, type: 'replay.finished', subject: id, sentence, data: { id, status, error } }
}

interface Anomaly {
  hour_start_ms: number
  spent_micros: number
  usual_micros: number
  limit_micros: number
}

export function spendAnomaly(project_id: string, { hour_start_ms, ...figures }: Anomaly): Event {
  const hour = rfc3339(hour_start_ms)
  const sentence =
    `The project spent $${dollars(figures.spent_micros)} in the hour from ${hour}; ` +
    `in that hour of the week it is usually $${dollars(figures.usual_micros)}.`
  return { project_id, type: 'spend.anomaly', subject: project_id, sentence, data: { hour, ...figures } }
}

export function testEvent(project_id: string, channel_id: string): Event {
  const sentence = 'This is a test: what this channel is told arrives here.'
  return { project_id, type: 'test', subject: channel_id, sentence, data: { channel_id } }
}
