// A Messages request as the chat completions request that says the same, for upstreams that know only those (R81). What
// cannot be said is refused by name; what may be missing without another kind of answer is left out, and told.
import { hash } from 'node:crypto'
import {
  assistantMessage,
  blocksIn,
  type ChatMessage,
  cannotSay,
  contentOf,
  isObject,
  type Json,
  partsOf,
  userMessages,
  wrong,
} from './chat-blocks.ts'
import { FIELDS } from './chat-fields.ts'
import { chatChoice, chatTools } from './chat-tools.ts'

export interface ChatOptions {
  model: string
  /** What it may say, after all that lowers it. */
  max_tokens: number
  limit_field: 'max_tokens' | 'max_completion_tokens'
  /** The model reasons, and takes an effort. */
  takes_effort: boolean
}

export interface ToldChat {
  body: Json
  /** Fields that the upstream was not told of, by name. */
  left_out: readonly string[]
}

export function chatFromMessages(request: Json, options: ChatOptions): ToldChat {
  const left_out: string[] = []
  for (const [name, value] of Object.entries(request)) {
    const { fate = 'refused', how = 'it is not known here' } = FIELDS[name] ?? {}
    if (value === null || value === undefined) continue
    if (fate === 'refused' && !isHarmless(name, value)) throw cannotSay(name, decapitalised(how))
    if (fate === 'left out, and told') left_out.push(name)
  }
  const { stop_sequences, temperature, top_p, top_k, stream } = request
  const tools = chatTools(request.tools)
  const body = {
    model: options.model,
    messages: messagesOf(request),
    [options.limit_field]: options.max_tokens,
    stop: stop_sequences,
    temperature,
    top_p,
    top_k,
    user: userOf(request.metadata),
    ...(tools && { tools, ...chatChoice(request.tool_choice) }),
    reasoning_effort: effortOf(request, options, left_out),
    response_format: formatOf(request),
    service_tier: request.service_tier === 'standard_only' ? 'default' : undefined,
    ...(stream === true && { stream: true, stream_options: { include_usage: true } }),
  }
  return { body: given(body), left_out }
}

const given = (fields: Json): Json =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))

const decapitalised = (text: string) => text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, '')

/** What says the same as leaving it out. */
const isHarmless = (name: string, value: unknown) =>
  (name === 'mcp_servers' && Array.isArray(value) && value.length === 0) ||
  (name === 'inference_geo' && value === 'global') ||
  (name === 'speed' && value === 'standard')

function messagesOf({ system, messages }: Json): ChatMessage[] {
  const told: ChatMessage[] = []
  if (system !== undefined && system !== null) {
    const parts = blocksIn(system, 'system').flatMap((block, at) => partsOf(block, `system[${at}]`))
    if (parts.length > 0) told.push({ role: 'system', content: contentOf(parts) })
  }
  for (const [at, message] of (messages as readonly unknown[]).entries()) {
    const place = `messages[${at}]`
    if (!isObject(message)) throw wrong(place, 'be an object')
    told.push(...turnOf(message, place))
  }
  return told
}

function turnOf({ role, content }: Json, at: string): ChatMessage[] {
  const blocks = blocksIn(content, `${at}.content`)
  switch (role) {
    case 'user':
      return userMessages(blocks, `${at}.content`)
    case 'assistant':
      return [assistantMessage(blocks, `${at}.content`)]
    case 'system':
      return [{ role, content: contentOf(blocks.flatMap((one, n) => partsOf(one, `${at}.content[${n}]`))) }]
    default:
      throw wrong(`${at}.role`, "be 'user', 'assistant' or 'system'")
  }
}

const USER_MAX = 64 // where it is bounded at all

function userOf(metadata: unknown): string | undefined {
  if (!isObject(metadata) || typeof metadata.user_id !== 'string') return undefined
  const { user_id } = metadata
  return user_id.length > USER_MAX ? hash('sha256', user_id, 'hex') : user_id
}

const EFFORTS: Readonly<Record<string, string>> = {
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
}
/** Thinking budgets by the effort that usually takes as much. */
const LOW_MAX = 4_096
const MEDIUM_MAX = 16_384

function effortOf({ thinking, output_config }: Json, { takes_effort }: ChatOptions, left_out: string[]) {
  const { effort } = isObject(output_config) ? output_config : ({} as Json)
  const { type, budget_tokens } = isObject(thinking) ? thinking : ({} as Json)
  // `adaptive` leaves it to the model, as chat does where nothing is said.
  const budget = type === 'enabled' && typeof budget_tokens === 'number' ? budget_tokens : undefined
  const wanted = typeof effort === 'string' ? EFFORTS[effort] : undefined
  if (typeof effort === 'string' && wanted === undefined) throw wrong('output_config.effort', 'be low, medium or high')
  if (takes_effort) return wanted ?? (budget === undefined ? undefined : budgetEffort(budget))
  if (wanted !== undefined) left_out.push('output_config.effort')
  if (budget !== undefined) left_out.push('thinking')
  return undefined
}

const budgetEffort = (budget: number) => (budget <= LOW_MAX ? 'low' : budget <= MEDIUM_MAX ? 'medium' : 'high')

function formatOf({ output_config, output_format }: Json): Json | undefined {
  if (isObject(output_config))
    for (const name of Object.keys(output_config))
      if (name !== 'effort' && name !== 'format') throw cannotSay(`output_config.${name}`, 'it is not known here')
  const format = (isObject(output_config) ? output_config.format : undefined) ?? output_format
  if (format === undefined || format === null) return undefined
  const at = output_format === undefined ? 'output_config.format' : 'output_format'
  if (!isObject(format) || format.type !== 'json_schema' || !isObject(format.schema))
    throw wrong(at, "be of the type 'json_schema', with a schema")
  return { type: 'json_schema', json_schema: { name: 'answer', schema: format.schema, strict: true } }
}
