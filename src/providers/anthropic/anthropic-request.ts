// From a chat completion request to a Messages request. What Messages has no word for is refused where the answer would
// be another one, and told where only its quality hangs on it (anthropic-fields.ts): nothing is dropped in silence.
import type { ChatField } from '../chat-field.ts'
import { CHAT_FIELDS } from './anthropic-fields.ts'
import { asObject, toTurns, Untranslatable } from './anthropic-turns.ts'

type Chat = Readonly<Record<string, unknown>>

export type Translated =
  | { kind: 'request'; body: Record<string, unknown>; wants_usage: boolean; left_out: readonly string[] }
  | { kind: 'refused'; message: string }

export function toMessages(chat: Chat, default_max_tokens: number): Translated {
  const left_out = new Set<string>()
  try {
    const body = bodyOf(chat, default_max_tokens, left_out)
    return { kind: 'request', body, wants_usage: wantsUsage(chat.stream_options), left_out: [...left_out] }
  } catch (error) {
    if (error instanceof Untranslatable) return { kind: 'refused', message: error.message }
    throw error
  }
}

function bodyOf(chat: Chat, default_max_tokens: number, left_out: Set<string>): Record<string, unknown> {
  const { model, max_completion_tokens, max_tokens, temperature, top_p, top_k, cache_control, stream } = chat
  const others = othersIn(chat, CHAT_FIELDS, left_out)
  if (typeof chat.n === 'number' && chat.n !== 1) throw new Untranslatable("'n' must be 1 for this model.")
  if (typeof temperature === 'number' && temperature > 1)
    throw new Untranslatable("'temperature' must be at most 1 for this model.")
  const { system, turns } = toTurns(chat.messages, left_out)
  const tools = toTools(chat.tools)
  const said = withoutAbsent({
    model,
    max_tokens: max_completion_tokens ?? max_tokens ?? default_max_tokens,
    system: system.length > 0 ? system : undefined,
    messages: turns,
    stop_sequences: stopSequences(chat.stop),
    temperature,
    top_p,
    top_k,
    cache_control,
    thinking: chat.thinking ?? (chat.reasoning_effort === 'none' ? { type: 'disabled' } : undefined),
    output_config: outputConfig(chat),
    service_tier: serviceTier(chat.service_tier),
    metadata: userId(chat),
    tools,
    tool_choice: tools && toolChoice(chat.tool_choice, chat.parallel_tool_calls),
    stream: stream === true ? true : undefined,
  })
  return { ...others, ...said }
}

/** Refuses what cannot be said, and gives what is not known here, which goes along. */
export function othersIn(
  chat: Chat,
  fields: Readonly<Record<string, ChatField>>,
  left_out: Set<string>,
): Record<string, unknown> {
  const others: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(chat)) {
    if (value === undefined || value === null) continue
    const field = fields[name]
    if (!field) others[name] = value
    else if (field.idle?.(value)) continue
    else if (field.fate === 'refused')
      throw new Untranslatable(`'${name}' cannot be used with this model. ${field.how}`)
    else if (field.fate === 'left out, and told') left_out.add(name)
  }
  return others
}

const EFFORTS: Readonly<Record<string, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
}

function outputConfig({ reasoning_effort, response_format, output_config }: Chat): unknown {
  const effort = typeof reasoning_effort === 'string' ? EFFORTS[reasoning_effort] : undefined
  if (reasoning_effort !== undefined && reasoning_effort !== null && reasoning_effort !== 'none' && !effort)
    throw new Untranslatable("'reasoning_effort' must be none, minimal, low, medium, high, xhigh or max.")
  const format = outputFormat(response_format)
  if (!effort && !format) return output_config
  return { ...asObject(output_config ?? {}, 'output_config'), ...(effort && { effort }), ...(format && { format }) }
}

function outputFormat(response_format: unknown): object | undefined {
  const { type, json_schema } = (response_format ?? {}) as { type?: unknown; json_schema?: { schema?: unknown } }
  if (response_format === undefined || response_format === null || type === 'text') return undefined
  if (type === 'json_schema' && typeof json_schema?.schema === 'object')
    return { type: 'json_schema', schema: json_schema.schema }
  throw new Untranslatable("'response_format' must be text, or json_schema with a schema, for this model.")
}

function serviceTier(tier: unknown): string | undefined {
  if (tier === undefined || tier === null || tier === 'auto') return undefined // which it is anyway
  if (tier === 'default' || tier === 'standard_only') return 'standard_only'
  throw new Untranslatable("'service_tier' must be auto or default for this model.")
}

function userId({ user, safety_identifier }: Chat): object | undefined {
  const user_id = [user, safety_identifier].find((one) => typeof one === 'string')
  return user_id === undefined ? undefined : { user_id }
}

/** JSON knows no `undefined`, and null means "not given" in the one protocol and nothing in the other. */
export const withoutAbsent = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))

export const wantsUsage = (options: unknown) => (options as { include_usage?: unknown } | null)?.include_usage === true

/** A stop sequence of blanks is refused by the upstream, so it is not sent. */
export function stopSequences(stop: unknown): string[] | undefined {
  const texts = (Array.isArray(stop) ? stop : [stop]).filter((one) => typeof one === 'string' && one.trim() !== '')
  return texts.length > 0 ? texts : undefined
}

interface FunctionTool {
  type?: unknown
  function?: { name?: unknown; description?: unknown; parameters?: unknown; strict?: unknown }
  cache_control?: unknown
}

/** The protocol wants a type where others take nothing, or an empty schema, for a tool without parameters. */
const NO_PARAMETERS = { type: 'object', properties: {} }

function toTools(tools: unknown): unknown[] | undefined {
  if (!Array.isArray(tools) || tools.length === 0) return undefined
  return tools.map((tool: FunctionTool | null, index) => {
    if (tool?.type !== 'function' || !tool.function) throw new Untranslatable("'tools' must be functions.")
    const { name, description, parameters, strict } = tool.function
    const input_schema = { ...NO_PARAMETERS, ...schemaOf(parameters, index) }
    const is_strict = strict === true ? true : undefined // false is what it is anyway
    return withoutAbsent({ name, description, input_schema, strict: is_strict, cache_control: tool.cache_control })
  })
}

export const schemaOf = (parameters: unknown, index: number) =>
  asObject(parameters ?? {}, `tools[${index}].function.parameters`)

const CHOICES: Record<string, string> = { auto: 'auto', required: 'any', none: 'none' }

function toolChoice(choice: unknown, parallel_tool_calls: unknown): Record<string, unknown> | undefined {
  const one_at_a_time = parallel_tool_calls === false
  const named = (choice as { type?: unknown; function?: { name?: unknown } } | null | undefined) ?? 'auto'
  const translated =
    typeof named === 'string'
      ? CHOICES[named] && { type: CHOICES[named] }
      : named.type === 'function' && { type: 'tool', name: named.function?.name }
  if (!translated) throw new Untranslatable("'tool_choice' must be auto, none, required or a function.")
  if (translated.type === 'auto' && !one_at_a_time) return undefined // as it would be anyway
  return one_at_a_time && translated.type !== 'none' ? { ...translated, disable_parallel_tool_use: true } : translated
}
