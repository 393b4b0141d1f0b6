// §10.2: every Agent-* response header, and when it appears. Facts in, headers out; pure.
import { inHeader } from './header-text.ts'
import { IGNORED_FIELDS_HEADER, ignoredFieldsHeader } from './ignored-fields.ts'

export type ExecutionProfile = 'managed_provider' | 'byok' | 'subscription' | 'byoc_native' | 'byoc_epp'
export type ExecutionMode = 'live' | 'emergency_fallback' | 'placeholder'
export type Admission = 'admitted' | 'queued' | 'rejected' | 'expired_before_start'

/** Where a generation went. Known before its first byte leaves. */
export interface RouteFacts {
  trace_id: string
  provider: string
  model: string
  region: string
  profile: ExecutionProfile
  mode: ExecutionMode
  alias_release_id: string | undefined
  credential_id: string | undefined
  subscription: { id: string; input_discount_pct: number } | undefined
  /** Tokens of output for each choice, where the budget bought no more (R76). */
  output_clamped_to?: number | undefined
  /** What went before the client's own turns. */
  bundle_id?: string | undefined
  /** R78: why its session keeps nothing of what was said, where it was to. */
  contents_dropped?: 'quota' | undefined
}

export interface QosFacts {
  admission: Admission
  /** Undefined where the request carried no target. */
  target_met: boolean | undefined
  fallback_used: boolean
  /** Undefined where the request carried no hints. */
  hints_honored: readonly string[] | undefined
  /** R75: what of its hints nobody acted on. */
  ignored_fields?: readonly string[] | undefined
}

export interface MoneyFacts {
  charged_micros: number
  direct_cost_micros: number
}

export type Headers = Record<string, string>

export function routeHeaders(facts: RouteFacts): Headers {
  const headers: Headers = {
    'agent-trace-id': facts.trace_id,
    'agent-resolved-provider': inHeader(facts.provider),
    'agent-resolved-model': inHeader(facts.model),
    'agent-execution-profile': facts.profile,
    'agent-execution-mode': facts.mode,
    'agent-region': inHeader(facts.region),
  }
  if (facts.alias_release_id) headers['agent-alias-release'] = facts.alias_release_id
  if (facts.profile === 'byok' && facts.credential_id) headers['agent-byok-credential-id'] = facts.credential_id
  if (facts.profile === 'subscription' && facts.subscription) {
    headers['agent-subscription-id'] = facts.subscription.id
    headers['agent-subscription-discount-pct'] = String(facts.subscription.input_discount_pct)
  }
  if (facts.output_clamped_to !== undefined) headers['agent-output-clamped'] = String(facts.output_clamped_to)
  if (facts.bundle_id !== undefined) headers['agent-bundle'] = facts.bundle_id
  if (facts.contents_dropped !== undefined) headers['agent-session-contents-dropped'] = facts.contents_dropped
  return headers
}

export function qosHeaders(facts: QosFacts): Headers {
  const { admission, target_met, fallback_used, hints_honored, ignored_fields = [] } = facts
  const headers: Headers = { 'agent-qos-admission': admission, 'agent-qos-fallback-used': String(fallback_used) }
  if (target_met !== undefined) headers[TARGET_MET] = String(target_met)
  if (hints_honored !== undefined) Object.assign(headers, honoredHeader(hints_honored))
  return Object.assign(headers, ignoredHeaders(ignored_fields))
}

/** A trailer of the same name says otherwise where a stream ran past its deadline (R71). */
export const HONORED = 'agent-hints-honored'
export const honoredHeader = (hints_honored: readonly string[]): Headers => ({ [HONORED]: hints_honored.join(',') })

/** R75: also on refusals. */
export function ignoredHeaders(names: readonly string[]): Headers | undefined {
  const told = ignoredFieldsHeader(names)
  return told === undefined ? undefined : { [IGNORED_FIELDS_HEADER]: told }
}

/** A trailer where a stream's headers leave before it is known (R82). */
export const TARGET_MET = 'agent-qos-target-met'

/** Of a stream, known only at its end: these then go out as trailers (R41). */
export function moneyHeaders({ charged_micros, direct_cost_micros }: MoneyFacts): Headers {
  return {
    'agent-charged-micros': String(charged_micros),
    'agent-direct-cost-micros': String(direct_cost_micros),
    'agent-savings-micros': String(savings(charged_micros, direct_cost_micros)),
  }
}

export const MONEY_TRAILERS = 'agent-charged-micros, agent-direct-cost-micros, agent-savings-micros'

export const savings = (charged_micros: number, direct_cost_micros: number) =>
  Math.max(0, direct_cost_micros - charged_micros)
