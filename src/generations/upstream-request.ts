// What goes out to a target: the client's bytes with only those fields changed that must be, and headers that tell the
// data plane what the caller asked for, in both spellings (§10.1; the endpoint picker renamed its headers).
import { hash } from 'node:crypto'
import { withChanges } from '../core/json-elements.ts'
import { spliceFields } from '../core/json-splice.ts'
import { isReasoningName } from '../models/reasoning-names.ts'
import type { Conversation } from '../responses/conversation.ts'
import type { Target } from '../routing/target.ts'
import type { Call, SentBundle } from './call.ts'
import { loweredLimit } from './lowered-limit.ts'

export function bodyFor(call: Call, target: Target, clamp_output_to: number | undefined): Buffer {
  const fields: Record<string, unknown> = {}
  if (target.model !== call.model) fields.model = target.model
  if (clamp_output_to !== undefined) Object.assign(fields, loweredLimit(call, limitName(call, target), clamp_output_to))
  // Without it a stream would not say what it cost. What only we asked for is taken out again.
  const { stream_options = null } = call.json
  const has_option = call.kind !== 'responses' && call.kind !== 'messages' && !call.media
  const isAsked = call.stream && has_option && !call.wants_usage
  if (isAsked && typeof stream_options === 'object' && !Array.isArray(stream_options))
    fields.stream_options = { ...stream_options, include_usage: true }
  if (!call.bundle) return spliceFields({ bytes: call.body, json: call.json }, fields)
  Object.assign(fields, cacheKeyOf(call, call.bundle, target))
  return spliceFields({ bytes: markedFor(call, call.bundle, target), json: call.json }, fields)
}

/** OpenAI sends equal keys to the same cache. The client's own goes before; projects never share one. */
function cacheKeyOf({ kind, json, caller }: Call, { prefix_hash }: SentBundle, { dialling }: Target): object {
  if (!dialling.responses_native || (kind !== 'chat' && kind !== 'responses')) return {}
  if (json.prompt_cache_key !== undefined && json.prompt_cache_key !== null) return {}
  return { prompt_cache_key: hash('sha256', `${caller.project_id} ${prefix_hash}`, 'hex').slice(0, CACHE_KEY_LENGTH) }
}

const CACHE_KEY_LENGTH = 32

/** Anthropic caches what it is told to, up to an end that is marked: that of the bundle, once. */
function markedFor({ kind, body }: Call, { last }: SentBundle, { dialling }: Target): Buffer {
  if (!last || dialling.protocol !== 'anthropic' || kind !== 'chat' || !mayMark(body)) return body
  return withChanges(body, [{ start: last.start, end: last.end, bytes: last.marked }])
}

/** The same for a Responses request, which goes out as chat. */
export function sentTo({ dialling }: Target, conversation: Conversation): Conversation {
  const { marked } = conversation.sent ?? {}
  return dialling.protocol === 'anthropic' && marked ? { ...conversation, sent: marked } : conversation
}

const MARKS_MAX = 4

/** The protocol refuses a fifth. */
export function mayMark(body: Buffer): boolean {
  let at = -1
  for (let marks = 0; marks < MARKS_MAX; marks++) {
    at = body.indexOf('"cache_control"', at + 1)
    if (at < 0) return true
  }
  return false
}

function limitName({ kind }: Call, target: Target): string {
  if (kind === 'responses') return 'max_output_tokens'
  return kind === 'chat' ? chatLimitName(target) : 'max_tokens'
}

/** Whether it takes `reasoning_effort`. */
export const isReasoning = ({ model }: Target) => isReasoningName(model)

/** R76: OpenAI's own API and its reasoning models refuse max_tokens; most others know nothing else. */
export function chatLimitName({ model, dialling }: Target): 'max_tokens' | 'max_completion_tokens' {
  const { output_limit_field, responses_native } = dialling
  return output_limit_field ?? (responses_native || isReasoningName(model) ? 'max_completion_tokens' : 'max_tokens')
}

/** `context`: of its trace, where one is made and the target takes it. */
export function headersFor(
  call: Call,
  target: Target,
  context?: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers: Record<string, string> = { 'x-request-id': call.trace_id, ...call.messages?.headers }
  if (context) Object.assign(headers, context)
  if (target.profile !== 'byoc_epp' && target.profile !== 'byoc_native') return headers
  if (call.session_id) headers['x-session-id'] = sendable(call.session_id)
  if (target.profile === 'byoc_native') return headers
  const qos = call.hints?.qos
  inBothSpellings(headers, 'inference-objective', qos?.class ?? 'standard')
  inBothSpellings(headers, 'inference-fairness-id', hash('sha256', call.caller.project_id, 'hex').slice(0, 16))
  if (qos?.target_ttft_ms !== undefined) {
    headers['x-llm-d-slo-ttft-ms'] = String(qos.target_ttft_ms)
    headers['x-slo-ttft-ms'] = String(qos.target_ttft_ms)
  }
  return headers
}

/** Clients name their sessions as they like; what no header can hold goes along by its hash (T-87). */
const sendable = (name: string) => (/^[!-~]+$/.test(name) ? name : hash('sha256', name, 'hex').slice(0, 32))

function inBothSpellings(headers: Record<string, string>, name: string, value: string): void {
  headers[`x-llm-d-${name}`] = value
  headers[`x-gateway-${name}`] = value
}
