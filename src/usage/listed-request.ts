// R80: one line of the list of requests, made of a usage event or of the record of a refusal. Pure.
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { requestIdOf } from '../core/ids.ts'
import { orNull, time } from '../core/shapes.ts'
import { REFUSAL_KINDS } from '../refusals/refusal-kind.ts'
import type { RefusedCall } from '../refusals/refused-call.ts'
import type { RequestFilter } from './request-query.ts'
import { refusalIn, type TraceFacts } from './trace.ts'
import type { UsageEvent } from './usage-event.ts'

const text = (description?: string) => orNull(Type.String(description === undefined ? {} : { description }))
const amount = (description?: string) => Type.Integer(description === undefined ? {} : { description })

export const ListedRequest = Type.Object(
  {
    id: Type.String({ description: 'The trace id.' }),
    object: Type.Literal('request'),
    request_id: Type.String({ description: 'The `x-request-id` of the answer.' }),
    outcome: Type.String({ description: 'How it ended, as in usage; `refused` where there is no usage.' }),
    layer: orNull(Type.Enum([...REFUSAL_KINDS], { description: 'What refused it, or where it failed.' })),
    http_status: orNull(Type.Integer({ description: 'Of the refusal. 200 where a stream had begun.' })),
    code: text(),
    message: text('What the client was told, where it was refused or failed.'),
    upstream_message: text("The upstream's own words."),
    count: amount('How many equal refusals its minute had, where this was the first of them; else 1.'),
    key_id: Type.String(),
    key_name: text('What people call the key; null where it was no key of the project.'),
    created_at: time(),
    endpoint: Type.String(),
    requested_model: text('Null where it was refused before it was read.'),
    resolved_model: text(),
    provider: text(),
    target: text('The last that it was meant for; null where it got to none.'),
    mode: text(),
    alias_release_id: text(),
    cluster_id: text(),
    session_id: text(),
    bundle_id: text(),
    tags: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'What it is filed under.' })),
    input_tokens: amount(),
    cached_tokens: amount(),
    output_tokens: amount(),
    charged_micros: amount(),
    ttft_ms: orNull(Type.Integer()),
    duration_ms: amount(),
    attempts: amount('How many targets were tried.'),
  },
  { title: 'Request' },
)
export type ListedRequest = Static<typeof ListedRequest>

export const RequestPage = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(ListedRequest),
    has_more: Type.Boolean({
      description: 'Whether there may be more: a search ends after a bounded number of requests.',
    }),
    next: orNull(Type.String({ description: 'For `after`; null at the end.' })),
    searched_from: orNull(
      Type.String({ format: 'date-time', description: 'How far back this answer has looked; null at the end.' }),
    ),
  },
  { title: 'RequestPage' },
)

const CLUSTER = 'cluster:'

/** The columns of an event that a line is made of. */
export type ListedEvent = Pick<
  UsageEvent,
  | 'trace_id'
  | 'status'
  | 'key_id'
  | 'created_at'
  | 'endpoint'
  | 'requested_model'
  | 'resolved_model'
  | 'provider'
  | 'mode'
  | 'alias_release_id'
  | 'cluster_id'
  | 'session_id'
  | 'bundle_id'
  | 'tags'
  | 'input_tokens'
  | 'cached_tokens'
  | 'output_tokens'
  | 'charged_micros'
  | 'ttft_ms'
  | 'duration_ms'
  | 'attempts'
>

export function requestOfEvent(event: ListedEvent, facts: TraceFacts): ListedRequest {
  const { trace_id, status: outcome, attempts, tags, ...columns } = event
  const refusal = refusalIn(event, facts)
  return {
    id: trace_id,
    object: 'request',
    request_id: requestIdOf(trace_id),
    outcome,
    layer: refusal?.layer ?? null,
    http_status: refusal?.status ?? null,
    code: refusal?.code ?? null,
    message: refusal?.message ?? null,
    upstream_message: refusal?.upstream_message ?? null,
    count: 1,
    key_name: null,
    target: attempts.at(-1)?.target ?? null,
    attempts: attempts.length,
    ...(tags && { tags }),
    ...columns,
  }
}

const NOTHING_USED = { input_tokens: 0, cached_tokens: 0, output_tokens: 0, charged_micros: 0, ttft_ms: null }
const NOT_ROUTED = { resolved_model: null, mode: null, alias_release_id: null, session_id: null, bundle_id: null }

export function requestOfRefusal(call: RefusedCall): ListedRequest {
  const { trace_id, kind: layer, status, code, message, said, count, key_id, endpoint, model, provider, target } = call
  return {
    id: trace_id,
    object: 'request',
    request_id: requestIdOf(trace_id),
    outcome: 'refused',
    layer,
    http_status: status,
    code,
    message,
    upstream_message: said ?? call.attempts.findLast((attempt) => attempt.message !== undefined)?.message ?? null,
    count,
    key_id,
    key_name: null,
    created_at: rfc3339(call.at_ms),
    endpoint,
    requested_model: model,
    provider,
    target,
    ...NOT_ROUTED,
    cluster_id: target?.startsWith(CLUSTER) ? target.slice(CLUSTER.length) : null,
    ...NOTHING_USED,
    duration_ms: call.duration_ms,
    attempts: call.attempts.length,
  }
}

type Text = Pick<RequestFilter, 'layer' | 'error'>

/** What no column tells. */
export const hasText = ({ layer, error }: Text) => layer !== null || error !== null

export const fitsText = (request: ListedRequest, { layer, error }: Text) =>
  (layer === null || request.layer === layer) && (error === null || saidOf(request).includes(error))

const saidOf = ({ code, message, upstream_message }: ListedRequest) =>
  `${code ?? ''}\n${message ?? ''}\n${upstream_message ?? ''}`.toLowerCase()

/** Whether a refusal is what is asked for; it never had a session, a bundle, a release, a cost or a first token. */
export function fitsRefusal(request: ListedRequest, filter: RequestFilter): boolean {
  const { key_id, model, provider, cluster_id } = filter
  const equal = [
    [key_id, request.key_id],
    [model, request.requested_model],
    [provider, request.provider],
    [cluster_id, request.cluster_id],
  ]
  return equal.every(([asked, is]) => asked === null || asked === is) && fitsText(request, filter)
}

/** Whether a generation that was dialled could be among what is asked for. */
export const asksForEvents = ({ outcomes }: RequestFilter) => outcomes.some((outcome) => outcome !== 'refused')

/** Whether a refusal could be among what is asked for. */
export const asksForRefusals = (filter: RequestFilter) =>
  filter.outcomes.includes('refused') &&
  (filter.alias_release_id ?? filter.session_id ?? filter.bundle_id ?? filter.tag ?? filter.min_ttft_ms) === null &&
  (filter.min_charged_micros ?? 0) === 0
