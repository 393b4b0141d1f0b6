// The response object: what every answer of the Responses API is, whole or as the frame of a stream. Fields are there
// with null where there is nothing to say, because typed clients require them; `output_text` is the client's own.
import { isTokenCount } from '../models/price.ts'
import type { Item, Json, ResponseRequest } from './response-request.ts'

/** What a response is called, and when it began: given from outside, so that everything here is repeatable. */
export interface ResponseIds {
  response_id: string
  created_at_s: number
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export interface TextPart {
  type: 'output_text'
  text: string
  annotations: never[]
  logprobs: unknown[]
}
export interface RefusalPart {
  type: 'refusal'
  refusal: string
}
export interface ReasoningPart {
  type: 'reasoning_text'
  text: string
}
export type ContentPart = TextPart | RefusalPart | ReasoningPart

export interface MessageItem {
  id: string
  type: 'message'
  status: ItemStatus
  role: 'assistant'
  content: (TextPart | RefusalPart)[]
}
export interface FunctionCallItem {
  id: string
  type: 'function_call'
  status: ItemStatus
  call_id: string
  name: string
  /** Of a tool that stands in a group. */
  namespace?: string
  arguments: string
}
/** Of a freeform tool. */
export interface CustomCallItem {
  id: string
  type: 'custom_tool_call'
  status: ItemStatus
  call_id: string
  name: string
  namespace?: string
  input: string
}
export interface ShellCallItem {
  id: string
  type: 'local_shell_call'
  status: ItemStatus
  call_id: string
  action: { type: 'exec'; command: string[]; env: Json; working_directory?: string; timeout_ms?: number }
}
export interface ReasoningItem {
  id: string
  type: 'reasoning'
  status: ItemStatus
  summary: never[]
  content: ReasoningPart[]
}
export type OutputItem = MessageItem | FunctionCallItem | CustomCallItem | ShellCallItem | ReasoningItem

export interface ResponseUsage {
  input_tokens: number
  input_tokens_details: { cached_tokens: number; cache_write_tokens: number; cache_write_1h_tokens?: number }
  output_tokens: number
  output_tokens_details: { reasoning_tokens: number }
  total_tokens: number
}

export interface ResponseObject {
  id: string
  object: 'response'
  created_at: number
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  background: false
  error: { code: string; message: string } | null
  incomplete_details: { reason: 'max_output_tokens' | 'content_filter' } | null
  instructions: string | null
  max_output_tokens: number | null
  model: string
  output: readonly OutputItem[]
  parallel_tool_calls: boolean
  previous_response_id: string | null
  reasoning: { effort: unknown; summary: unknown }
  service_tier: unknown
  store: boolean
  temperature: number | null
  text: Json
  tool_choice: string | Json
  tools: readonly Json[]
  top_logprobs: number
  top_p: number | null
  truncation: 'auto' | 'disabled'
  usage: ResponseUsage | null
  user: string | null
  metadata: Readonly<Record<string, string>>
}

/** What the upstream said beside its output. */
export interface Said {
  model?: unknown
  service_tier?: unknown
}

/** A response that has just begun. */
export function openedResponse(request: ResponseRequest, ids: ResponseIds, said: Said): ResponseObject {
  const { instructions, max_output_tokens, previous_response_id, store, temperature, top_p } = request
  return {
    id: ids.response_id,
    object: 'response',
    created_at: ids.created_at_s,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions,
    max_output_tokens,
    model: typeof said.model === 'string' && said.model !== '' ? said.model : request.model,
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id,
    reasoning: { effort: request.reasoning.effort ?? null, summary: request.reasoning.summary ?? null },
    service_tier: said.service_tier ?? null,
    store,
    temperature,
    text: { ...request.text, format: request.text.format ?? { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools.map(echoedTool),
    top_logprobs: request.top_logprobs ?? 0,
    top_p,
    truncation: request.truncation,
    usage: null,
    user: request.user,
    metadata: request.metadata,
  }
}

/** Chat completions hold a function to its schema only where asked to, so that is what was done. */
const echoedTool = (tool: Json): Json =>
  tool.type === 'function' ? { ...tool, parameters: tool.parameters ?? null, strict: tool.strict ?? false } : tool

/** How a response ends, by the upstream's word for why it stopped. */
export function endedBy(finish_reason: unknown): Pick<ResponseObject, 'incomplete_details'> & { status: EndStatus } {
  if (finish_reason === 'length') return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  if (finish_reason === 'content_filter')
    return { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }
  return { status: 'completed', incomplete_details: null }
}
export type EndStatus = 'completed' | 'incomplete'

/** Usage of a chat completion in the words of a response; null where the upstream said nothing, or what cannot be. */
export function usageFrom(usage: unknown): ResponseUsage | null {
  if (typeof usage !== 'object' || usage === null) return null
  const { prompt_tokens, completion_tokens, total_tokens, prompt_cache_hit_tokens, ...more } = usage as Json
  const inputs = (more.prompt_tokens_details ?? {}) as Json
  const outputs = (more.completion_tokens_details ?? {}) as Json
  const input = prompt_tokens ?? 0
  const said = completion_tokens ?? 0
  const cached_tokens = inputs.cached_tokens ?? prompt_cache_hit_tokens ?? 0
  const cache_write_tokens = inputs.cache_write_tokens ?? 0
  const cache_write_1h_tokens = inputs.cache_write_1h_tokens ?? 0
  const reasoning_tokens = outputs.reasoning_tokens ?? 0
  if (!isTokenCount(input) || !isTokenCount(said) || !isTokenCount(reasoning_tokens)) return null // R77
  if (!isTokenCount(cached_tokens) || !isTokenCount(cache_write_tokens) || !isTokenCount(cache_write_1h_tokens))
    return null
  const parts = { cached: cached_tokens, written: cache_write_tokens }
  const output = outputTokens({ input, said, reasoning: reasoning_tokens, total: total_tokens, ...parts })
  const for_an_hour = cache_write_1h_tokens > 0 && { cache_write_1h_tokens }
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens, cache_write_tokens, ...for_an_hour },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens },
    total_tokens: isTokenCount(total_tokens) ? total_tokens : input + output,
  }
}

interface ToldOutput {
  input: number
  said: number
  reasoning: number
  cached: number
  written: number
  total: unknown
}

/**
 * Some upstreams report what was reasoned beside what was said, and some tell it in the total alone. There, what was
 * cached or written may stand as well: that is no output.
 */
export function outputTokens({ input, said, reasoning, cached, written, total }: ToldOutput): number {
  if (total === input + said + reasoning) return said + reasoning
  if (reasoning > 0 || !isTokenCount(total)) return said // it was told, or cannot be (R77)
  const untold = total - input - said
  const are_parts = cached + written > input || [cached, written, cached + written].includes(untold)
  return untold > 0 && !are_parts ? said + untold : said
}

/** What the response adds to the conversation. */
export const outputOf = ({ output }: Pick<ResponseObject, 'output'>): readonly Item[] =>
  output as readonly unknown[] as Item[]
