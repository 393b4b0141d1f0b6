// What became of a generation: one set of facts for its headers, its usage event and its trace. Plain data, with
// nothing of the prompt or the answer in it, so that a bill which has to wait for the store keeps neither in memory.

import { NO_TOKENS, type TokenCounts } from '../answers/token-counts.ts'
import { rfc3339 } from '../core/clock.ts'
import {
  type ExecutionMode,
  type QosFacts,
  qosHeaders,
  type RouteFacts,
  routeHeaders,
  savings,
} from '../headers/agent-headers.ts'
import type { Tag } from '../headers/call-tags.ts'
import { isFallback } from '../routing/own-capacity.ts'
import type { Attempt, Route, Target } from '../routing/target.ts'
import type { TraceFacts } from '../usage/trace.ts'
import type { TracedPlacing } from '../usage/traced-placing.ts'
import { type Ending, keptAttempts, toldUnits, type UsageEvent } from '../usage/usage-event.ts'
import type { Call } from './call.ts'
import { hintsHonored, type ReuseBelief, targetMet } from './qos.ts'

export interface Outcome extends RouteFacts, QosFacts {
  project_id: string
  key_id: string
  endpoint: string
  requested_model: string
  session_id: string | undefined
  tags?: Call['tags']
  cluster_id: string | undefined
  received_at: number
  stream: boolean
  keyed: boolean
  queue_ms: number
  attempts: readonly Attempt[]
  /** Null where no content came. */
  ttft_ms: number | null
  /** R82: the headers leave before it is known whether the target is met; a trailer tells. */
  target_met_in_trailer: boolean
  /** R71: as the trailers told it, where the stream ran past a deadline that its headers had promised to keep. */
  hints_at_end: readonly string[] | undefined
  ending: Ending
  /** R71, R77: it broke off at a limit of ours, and what came of it is paid. */
  is_paid_so_far?: boolean | undefined
  tokens: TokenCounts
  repeated_tokens_est: number
  /** On a cluster: by which calls that begin alike are told. */
  prefix_hash: string | undefined
  /** How clusters stood, where there were several to choose from, and what was observed. */
  placing: TracedPlacing | undefined
  /** R71: what would have been charged, had it not been broken off in mid-stream: by its deadline, or by us. */
  waived_micros: number
  /** R81: which of a client's agents asked, and for whom it works. */
  agent_id: string | undefined
  parent_agent_id: string | undefined
}

/** A generation as far as its outcome needs it. */
export interface Went {
  call: Call
  route: Route
  target: Target
  attempts: readonly Attempt[]
  slot: { verdict: 'admitted' | 'queued'; queue_ms: number } | undefined
  clamped_to: number | undefined
  ttft_ms: number | null
  reuse: ReuseBelief | undefined
  is_target_open: boolean
  left_out?: readonly string[]
}

const NO_SLOT = { verdict: 'admitted', queue_ms: 0 } as const

export function outcomeOf(went: Went): Outcome {
  const { call, route, target } = went
  const slot = went.slot ?? NO_SLOT
  const { caller } = call
  const fallback_used = isFallback(route, went)
  return {
    trace_id: call.trace_id,
    provider: target.provider,
    model: target.model,
    region: target.region,
    profile: target.profile,
    mode: modeOf(target, fallback_used),
    alias_release_id: route.alias_release_id,
    credential_id: target.credential_id,
    subscription: target.subscription,
    output_clamped_to: went.clamped_to,
    bundle_id: call.bundle?.id,
    contents_dropped: call.drops_contents ? 'quota' : undefined,
    admission: slot.verdict,
    target_met: targetMet(call.hints, went.ttft_ms),
    fallback_used,
    hints_honored: hintsHonored(call.hints, went.reuse),
    ignored_fields: went.left_out?.length ? [...call.ignored_fields, ...went.left_out] : call.ignored_fields,
    project_id: caller.project_id,
    key_id: caller.key_id,
    endpoint: call.endpoint,
    requested_model: call.model,
    session_id: call.session_id,
    tags: call.tags,
    cluster_id: target.cluster_id,
    received_at: call.received_at,
    stream: call.stream,
    keyed: call.is_keyed,
    queue_ms: slot.queue_ms,
    attempts: went.attempts,
    ttft_ms: went.ttft_ms,
    target_met_in_trailer: went.is_target_open,
    hints_at_end: undefined,
    ending: 'completed',
    tokens: NO_TOKENS,
    repeated_tokens_est: 0,
    prefix_hash: undefined,
    placing: undefined,
    waived_micros: 0,
    agent_id: call.messages?.agent_id,
    parent_agent_id: call.messages?.parent_agent_id,
  }
}

function modeOf({ dialling }: Target, fallback_used: boolean): ExecutionMode {
  if (dialling.protocol === 'placeholder') return 'placeholder'
  return fallback_used ? 'emergency_fallback' : 'live'
}

/** §10.2: all that is known when they leave. */
export function headersOf(outcome: Outcome): Record<string, string> {
  const headers = routeHeaders(outcome)
  return Object.assign(headers, qosHeaders(outcome.target_met_in_trailer ? withoutTarget(outcome) : outcome))
}

const withoutTarget = ({ admission, fallback_used, hints_honored, ignored_fields }: Outcome): QosFacts => ({
  admission,
  target_met: undefined,
  fallback_used,
  hints_honored,
  ignored_fields,
})

/** R71: a deadline that is not kept is not named. */
export const withoutQos = (hints_honored: readonly string[] | undefined) =>
  hints_honored?.filter((section) => section !== 'qos')

export interface Figures {
  charged_micros: number
  direct_cost_micros: number
  written_off_micros: number
  overage_micros?: number
}

/** §8.2: as it is stored, once it is known what it cost. */
export function eventOf(outcome: Outcome, figures: Figures, now: number): UsageEvent {
  const { tokens, repeated_tokens_est } = outcome
  const { charged_micros, direct_cost_micros, written_off_micros, overage_micros = 0 } = figures
  return {
    id: outcome.trace_id,
    object: 'usage_event',
    trace_id: outcome.trace_id,
    project_id: outcome.project_id,
    key_id: outcome.key_id,
    created_at: rfc3339(now),
    endpoint: outcome.endpoint,
    status: outcome.ending,
    requested_model: outcome.requested_model,
    resolved_model: outcome.model,
    provider: outcome.provider,
    profile: outcome.profile,
    mode: outcome.mode,
    region: outcome.region,
    alias_release_id: outcome.alias_release_id ?? null,
    cluster_id: outcome.cluster_id ?? null,
    credential_id: outcome.credential_id ?? null,
    subscription_id: outcome.subscription?.id ?? null,
    session_id: outcome.session_id ?? null,
    tags: outcome.tags && asRecord(outcome.tags),
    bundle_id: outcome.bundle_id ?? null,
    input_tokens: tokens.input,
    cached_tokens: tokens.cached,
    written_tokens: tokens.written,
    output_tokens: tokens.output,
    reasoning_tokens: tokens.reasoning,
    repeated_tokens_est,
    missed_reuse_tokens: Math.max(0, repeated_tokens_est - tokens.cached),
    charged_micros,
    direct_cost_micros,
    savings_micros: savings(charged_micros, direct_cost_micros),
    written_off_micros,
    overage_micros,
    waived_micros: outcome.waived_micros,
    tokens_estimated: tokens.estimated,
    units: tokens.units ? toldUnits(tokens.units) : null,
    admission: outcome.admission,
    queue_ms: outcome.queue_ms,
    ttft_ms: outcome.ttft_ms,
    duration_ms: now - outcome.received_at,
    attempts: keptAttempts(outcome.attempts),
  }
}

const asRecord = (tags: readonly Tag[]) => Object.fromEntries(tags.map(({ name, value }) => [name, value]))

/** What its trace tells beyond the event. */
export const traceOf = (outcome: Outcome): TraceFacts => ({
  stream: outcome.stream,
  keyed: outcome.keyed,
  fallback_used: outcome.fallback_used,
  target_met: outcome.target_met,
  hints_honored: outcome.hints_honored,
  ignored_fields: outcome.ignored_fields?.length ? outcome.ignored_fields : undefined,
  target_met_in_trailer: outcome.target_met_in_trailer || undefined,
  hints_at_end: outcome.hints_at_end,
  input_discount_pct: outcome.subscription?.input_discount_pct,
  output_clamped_to: outcome.output_clamped_to,
  contents_dropped: outcome.contents_dropped,
  agent_id: outcome.agent_id,
  parent_agent_id: outcome.parent_agent_id,
  prefix_hash: outcome.prefix_hash,
  placing: outcome.placing,
})
