// One generation's life as a timeline, worked out from its usage event, or from the record of its refusal (R80): what
// happened, when, for how long, and which Agent-* headers its client got (§10.2). Pure.
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { requestIdOf } from '../core/ids.ts'
import { orNull, time } from '../core/shapes.ts'
import {
  type ExecutionMode,
  type ExecutionProfile,
  type Headers,
  honoredHeader,
  moneyHeaders,
  type QosFacts,
  qosHeaders,
  routeHeaders,
  TARGET_MET,
} from '../headers/agent-headers.ts'
import { explainHeader } from '../headers/header-explanations.ts'
import { REFUSAL_KINDS, type RefusalKind } from '../refusals/refusal-kind.ts'
import type { RefusedCall, ToldRefusal } from '../refusals/refused-call.ts'
import { type Moment, refusedTimeline, Step, timelineOf } from './trace-timeline.ts'
import { TracedPlacing } from './traced-placing.ts'
import { UsageAttempt, UsageEvent } from './usage-event.ts'

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
  /** R71: what the trailers said, where a stream ran past a deadline that its headers had promised to keep. */
  hints_at_end?: readonly string[] | undefined
  input_discount_pct?: number | undefined
  /** What the client was told, where nobody answered (R80). */
  refusal?: ToldRefusal & { layer: RefusalKind }
  /** Undefined where the budget bought all that was asked for. */
  output_clamped_to?: number | undefined
  contents_dropped?: 'quota' | undefined
  /** R81: which of a client's agents asked, and for whom it works. */
  agent_id?: string | undefined
  parent_agent_id?: string | undefined
  /** Of the first link of its prompt, a keyed hash: which calls begin alike. On clusters only. */
  prefix_hash?: string | undefined
  /** Undefined where there were not several clusters to choose from. */
  placing?: TracedPlacing | undefined
}

export interface TracedEvent {
  event: UsageEvent
  facts: TraceFacts
}

const TracedRefusal = Type.Object(
  {
    layer: Type.Enum([...REFUSAL_KINDS], { description: 'Which layer said no; `upstream` also where one failed.' }),
    status: Type.Integer({ description: 'Of the answer. 200 where a stream had begun.' }),
    type: Type.String({ description: 'As in the envelope.' }),
    code: orNull(Type.String()),
    message: Type.String({ description: 'What the client was told.' }),
    upstream_message: orNull(
      Type.String({ description: "The upstream's own words: at most 2 KB, secrets removed. Null where it said none." }),
    ),
    count: Type.Integer({
      description: 'How many equal refusals its minute had, where this was the first of them; else 1.',
    }),
  },
  { title: 'TracedRefusal' },
)
type TracedRefusal = Static<typeof TracedRefusal>

const TracedRecording = Type.Object(
  {
    recorded: Type.Boolean({ description: 'Whether `GET /v2/recordings/{trace_id}` has request and answer.' }),
    why_not: orNull(Type.String()),
  },
  { title: 'TracedRecording' },
)
export type TracedRecording = Static<typeof TracedRecording>

export const Trace = Type.Object(
  {
    id: Type.String({ description: 'The trace id.' }),
    object: Type.Literal('trace'),
    request_id: Type.String({ description: 'The `x-request-id` of the answer.' }),
    outcome: Type.String({ description: 'The status of the usage event; `refused` where there is none.' }),
    endpoint: Type.String(),
    key_id: Type.String(),
    requested_model: orNull(Type.String({ description: 'Null where it was refused before it was read.' })),
    target: orNull(Type.String({ description: 'The last that it was meant for; null where it got to none.' })),
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
    attempts: Type.Unsafe<readonly UsageAttempt[]>(Type.Array(UsageAttempt)),
    agent_id: Type.Optional(Type.String({ description: 'Which of a client’s agents asked, where it said so.' })),
    parent_agent_id: Type.Optional(Type.String({ description: 'For whom that one works.' })),
    refusal: orNull(TracedRefusal),
    placing: orNull(TracedPlacing),
    usage: orNull(UsageEvent),
    recording: TracedRecording,
  },
  { title: 'Trace' },
)
export type Trace = Static<typeof Trace>

export function traceOf({ event, facts }: TracedEvent): Omit<Trace, 'recording'> {
  const { trace_id, status, endpoint, key_id, requested_model, duration_ms, attempts } = event
  return {
    id: trace_id,
    object: 'trace',
    request_id: requestIdOf(trace_id),
    outcome: status,
    endpoint,
    key_id,
    requested_model,
    target: attempts.at(-1)?.target ?? null,
    ...lived(Date.parse(event.created_at), duration_ms, timelineOf(event)),
    headers: facts.refusal ? explained(refusedHeaders(trace_id, facts), 'header') : sentHeaders(event, facts),
    attempts,
    ...agentIn(facts),
    refusal: refusalIn(event, facts),
    placing: facts.placing ?? null,
    usage: event,
  }
}

const agentIn = ({ agent_id, parent_agent_id }: TraceFacts) => ({
  ...(agent_id !== undefined && { agent_id }),
  ...(parent_agent_id !== undefined && { parent_agent_id }),
})

export function refusedTrace(call: RefusedCall): Omit<Trace, 'recording'> {
  const { trace_id, endpoint, key_id, kind: layer, model, target, attempts, count, headers } = call
  const { status, type, code, message, said } = call
  return {
    id: trace_id,
    object: 'trace',
    request_id: requestIdOf(trace_id),
    outcome: 'refused',
    endpoint,
    key_id,
    requested_model: model,
    target,
    ...lived(call.at_ms, call.duration_ms, refusedTimeline(call)),
    headers: explained(headers, 'header'),
    attempts,
    refusal: { layer, status, type, code, message, upstream_message: said, count },
    placing: null,
    usage: null,
  }
}

function lived(ended: number, duration_ms: number, timeline: readonly Moment[]) {
  const arrived = ended - duration_ms
  return {
    arrived_at: rfc3339(arrived),
    ended_at: rfc3339(ended),
    duration_ms,
    timeline: timeline.map((moment) => ({ ...moment, at: rfc3339(arrived + moment.started_ms) })),
  }
}

/** As it was noted; or else, of what broke off in the middle, as far as the event tells. */
export function refusalIn(
  { status: ending, attempts, charged_micros }: Pick<UsageEvent, 'status' | 'attempts' | 'charged_micros'>,
  facts: TraceFacts,
): TracedRefusal | null {
  const upstream_message = attempts.findLast(({ message }) => message !== undefined)?.message ?? null
  if (facts.refusal) {
    const { layer, status, type, code = null, message } = facts.refusal
    return { layer, status, type, code, message, upstream_message, count: 1 }
  }
  if (ending === 'completed' || ending === 'client_left') return null
  const { failure = 'unknown' } = attempts.at(-1) ?? {}
  const status = ending === 'failed' ? 502 : 200
  if (ending === 'deadline_exceeded') {
    const message = charged_micros > 0 ? LATE_AND_CHARGED : LATE
    return { layer: 'deadline', status, type: ending, code: ending, message, upstream_message, count: 1 }
  }
  const failed = { layer: 'upstream', type: 'server_error', code: 'upstream_error' } as const
  return { ...failed, status, message: `The upstream failed: ${failure}.`, upstream_message, count: 1 }
}

const LATE = 'The deadline has passed. Nothing was charged.'
/** R71: beyond the waiver of the day, what ends a stream is the longest that any call may take. */
const LATE_AND_CHARGED = 'The time limit has passed. What had come was charged.'

/** A refusal says how to look it up, and what its own headers say. */
function refusedHeaders(trace_id: string, { keyed, refusal }: TraceFacts): Headers {
  const own = Object.entries(refusal?.headers ?? {}).filter(([name]) => name.startsWith('agent-'))
  const replay = keyed ? { 'agent-idempotent-replay': 'false' } : {}
  return { 'agent-trace-id': trace_id, ...replay, ...(Object.fromEntries(own) as Headers) }
}

function sentHeaders(event: UsageEvent, facts: TraceFacts): Trace['headers'] {
  const before = { ...routeHeadersOf(event, facts), ...qosHeadersOf(event, facts) }
  if (facts.keyed) before['agent-idempotent-replay'] = 'false'
  const behind = moneyHeaders(event)
  if (facts.target_met_in_trailer && before[TARGET_MET] !== undefined) {
    behind[TARGET_MET] = before[TARGET_MET]
    delete before[TARGET_MET]
  }
  if (facts.hints_at_end) Object.assign(behind, honoredHeader(facts.hints_at_end))
  return [...explained(before, 'header'), ...explained(behind, facts.stream ? 'trailer' : 'header')]
}

const explained = (headers: Headers, sent_as: 'header' | 'trailer') =>
  Object.entries(headers).map(([name, value]) => ({ name, value, sent_as, sentence: explainHeader(name, value) }))

function routeHeadersOf(event: UsageEvent, facts: TraceFacts): Headers {
  const { subscription_id, provider, region, trace_id } = event
  const input_discount_pct = facts.input_discount_pct ?? 0
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
    output_clamped_to: facts.output_clamped_to,
    bundle_id: event.bundle_id ?? undefined,
    contents_dropped: facts.contents_dropped,
  })
}

function qosHeadersOf({ admission }: UsageEvent, facts: TraceFacts): Headers {
  const { fallback_used, target_met, hints_honored, ignored_fields } = facts
  const told = { target_met, fallback_used, hints_honored, ignored_fields }
  return qosHeaders({ admission: admission as QosFacts['admission'], ...told })
}
