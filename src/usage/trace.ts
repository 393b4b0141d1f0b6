// One generation's life as a timeline, worked out from its usage event: what happened, when, for how long, and which
// Agent-* headers its client got (§10.2). Pure.
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { orNull, time } from '../core/shapes.ts'
import {
  type ExecutionMode,
  type ExecutionProfile,
  type Headers,
  moneyHeaders,
  type QosFacts,
  qosHeaders,
  routeHeaders,
  TARGET_MET,
} from '../headers/agent-headers.ts'
import { explainHeader } from '../headers/header-explanations.ts'
import { UsageEvent } from './usage-event.ts'

/** What a trace tells beyond the usage event. */
export interface TraceFacts {
  stream: boolean
  keyed: boolean
  fallback_used: boolean
  /** Undefined where the request carried no target. */
  target_met?: boolean | undefined
  /** Undefined where the request carried no hints. */
  hints_honored?: readonly string[] | undefined
  /** What of its hints nobody acted on. */
  ignored_fields?: readonly string[] | undefined
  /** R82: the headers left before it was known whether the target was met. */
  target_met_in_trailer?: boolean | undefined
  input_discount_pct?: number | undefined
}

export interface TracedEvent {
  event: UsageEvent
  /** Undefined for generations of versions that did not note them. */
  facts: TraceFacts | undefined
}

const PHASES = ['arrival', 'admission', 'hold', 'attempt', 'first_token', 'answer', 'settle', 'end'] as const

const Step = Type.Object({
  phase: Type.Enum(PHASES),
  at: time(),
  started_ms: Type.Integer({ description: 'Since the request arrived.' }),
  duration_ms: Type.Integer({ description: '0 for what is a moment.' }),
  attempt: orNull(Type.Integer({ description: 'Which attempt it belongs to; null where to none.' })),
  target: orNull(Type.String()),
  outcome: orNull(Type.String({ description: 'How an attempt, or the whole, ended; null elsewhere.' })),
  sentence: Type.String({ description: 'The same for people.' }),
})
type Step = Static<typeof Step>

export const Trace = Type.Object(
  {
    id: Type.String({ description: 'The trace id.' }),
    object: Type.Literal('trace'),
    arrived_at: time(),
    ended_at: time(),
    duration_ms: Type.Integer(),
    timeline: Type.Array(Step, { description: 'In the order in which it happened.' }),
    headers: Type.Array(
      Type.Object({
        name: Type.String(),
        value: Type.String(),
        sent_as: Type.Enum(['header', 'trailer'], { description: 'What a stream cost is known at its end only.' }),
        sentence: Type.String(),
      }),
      { description: 'The Agent-* headers of the answer, each explained.' },
    ),
    usage: UsageEvent,
  },
  { title: 'Trace' },
)
export type Trace = Static<typeof Trace>

export function traceOf({ event, facts }: TracedEvent): Trace {
  const ended = Date.parse(event.created_at)
  const arrived = ended - event.duration_ms
  return {
    id: event.trace_id,
    object: 'trace',
    arrived_at: rfc3339(arrived),
    ended_at: event.created_at,
    duration_ms: event.duration_ms,
    timeline: timelineOf(event).map((moment) => ({ ...moment, at: rfc3339(arrived + moment.started_ms) })),
    headers: sentHeaders(event, facts),
    usage: event,
  }
}

type Moment = Omit<Step, 'at'>

const moment = (phase: Step['phase'], started_ms: number, sentence: string, more: Partial<Moment> = {}): Moment => ({
  phase,
  started_ms,
  duration_ms: 0,
  attempt: null,
  target: null,
  outcome: null,
  sentence,
  ...more,
})

function timelineOf(event: UsageEvent): Moment[] {
  const { attempts, ttft_ms, duration_ms, endpoint, requested_model } = event
  return [
    moment('arrival', 0, `${endpoint} asked for ${requested_model}.`),
    ...attempts.flatMap((attempt) => attemptSteps(attempt, event)),
    ...(ttft_ms === null ? [] : answerSteps(ttft_ms, duration_ms)),
    moment('settle', duration_ms, settleSentence(event)),
    moment('end', duration_ms, ENDINGS[event.status] ?? `It ended: ${event.status}.`, { outcome: event.status }),
  ]
}

type Attempt = UsageEvent['attempts'][number]

/** Events of earlier versions say that there were attempts, but not when: they then begin where the queue ended. */
function attemptSteps(told: Attempt, event: UsageEvent): Moment[] {
  const { n: attempt, target, failure } = told
  const ended_ms = told.ttft_ms ?? 0
  const { times = { started_ms: 0, queue_ms: event.queue_ms, dialled_ms: event.queue_ms, ended_ms } } = told
  const admitted_ms = times.started_ms + times.queue_ms
  const whose = { attempt, target }
  const waited = times.queue_ms > 0
  return [
    moment(
      'admission',
      times.started_ms,
      waited ? `It waited for a slot of ${target}.` : `${target} had a slot free.`,
      {
        ...whose,
        duration_ms: times.queue_ms,
      },
    ),
    moment('hold', admitted_ms, 'The most it could cost was set aside, where a limit applies.', {
      ...whose,
      duration_ms: Math.max(0, times.dialled_ms - admitted_ms),
    }),
    moment('attempt', times.dialled_ms, attemptSentence(told), {
      ...whose,
      duration_ms: Math.max(0, times.ended_ms - times.dialled_ms),
      outcome: failure ?? 'answered',
    }),
  ]
}

function attemptSentence({ kind, target, model, status, failure }: Attempt): string {
  const called = kind === 'first' ? `${target} was called for ${model}` : `${target} was called instead, for ${model}`
  if (failure === undefined) return `${called}, and answered.`
  return `${called}, and failed: ${failure}${status === undefined ? '' : `, status ${status}`}.`
}

const answerSteps = (ttft_ms: number, duration_ms: number): Moment[] => [
  moment('first_token', ttft_ms, 'The first content was there.'),
  moment('answer', ttft_ms, 'The answer went to the client.', { duration_ms: Math.max(0, duration_ms - ttft_ms) }),
]

function settleSentence({ charged_micros, written_off_micros }: UsageEvent): string {
  const charge = `$${charged_micros / 1e6} was charged.`
  return written_off_micros > 0 ? `${charge} $${written_off_micros / 1e6} more was written off.` : charge
}

const ENDINGS: Readonly<Record<string, string>> = {
  completed: 'It was answered in full.',
  client_left: 'The client left before the end; what was produced until then was charged.',
  upstream_failed: 'The upstream broke off in mid-answer; nothing was charged.',
  deadline_exceeded: 'Its deadline passed in mid-answer; nothing was charged.',
}

function sentHeaders(event: UsageEvent, facts: TraceFacts | undefined): Trace['headers'] {
  const before = { ...routeHeadersOf(event, facts), ...qosHeadersOf(event, facts) }
  if (facts?.keyed) before['agent-idempotent-replay'] = 'false'
  const behind = moneyHeaders(event)
  if (facts?.target_met_in_trailer && before[TARGET_MET] !== undefined) {
    behind[TARGET_MET] = before[TARGET_MET]
    delete before[TARGET_MET]
  }
  return [...explained(before, 'header'), ...explained(behind, facts?.stream ? 'trailer' : 'header')]
}

const explained = (headers: Headers, sent_as: 'header' | 'trailer') =>
  Object.entries(headers).map(([name, value]) => ({ name, value, sent_as, sentence: explainHeader(name, value) }))

function routeHeadersOf(event: UsageEvent, facts: TraceFacts | undefined): Headers {
  const { subscription_id, provider, region, trace_id } = event
  const input_discount_pct = facts?.input_discount_pct ?? 0
  return routeHeaders({
    trace_id,
    provider,
    region,
    model: event.resolved_model,
    profile: event.profile as ExecutionProfile,
    mode: event.mode as ExecutionMode,
    alias_release_id: event.alias_release_id ?? undefined,
    credential_id: event.credential_id ?? undefined,
    subscription: subscription_id === null ? undefined : { id: subscription_id, input_discount_pct },
  })
}

/** Of a generation from an earlier version only its admission is known. */
function qosHeadersOf({ admission }: UsageEvent, facts: TraceFacts | undefined): Headers {
  if (!facts) return { 'agent-qos-admission': admission }
  const { fallback_used, target_met, hints_honored, ignored_fields } = facts
  const told = { target_met, fallback_used, hints_honored, ignored_fields }
  return qosHeaders({ admission: admission as QosFacts['admission'], ...told })
}
