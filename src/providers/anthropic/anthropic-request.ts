// From a chat completion request to a Messages request. What Messages has no word for is left out where that only costs
// quality (response_format, seed, penalties, logprobs), and refused where the answer would be another one.
import { toTurns, Untranslatable } from './anthropic-turns.ts'

type Chat = Readonly<Record<string, unknown>>

export type Translated =
  | { kind: 'request'; body: Record<string, unknown>; wants_usage: boolean }
  | { kind: 'refused'; message: string }

export function toMessages(chat: Chat, default_max_tokens: number): Translated {
  try {
    return { kind: 'request', body: bodyOf(chat, default_max_tokens), wants_usage: wantsUsage(chat.stream_options) }
  } catch (error) {
    if (error instanceof Untranslatable) return { kind: 'refused', message: error.message }
    throw error
  }
}

function bodyOf(chat: Chat, default_max_tokens: number): Record<string, unknown> {
  const { model, max_completion_tokens, max_tokens, temperature, top_p, top_k, thinking, stream } = chat
  if (typeof chat.n === 'number' && chat.n !== 1) throw new Untranslatable("'n' must be 1 for this model.")
  const { system, turns } = toTurns(chat.messages)
  const tools = toTools(chat.tools)
  return withoutAbsent({
    model,
    max_tokens: max_completion_tokens ?? max_tokens ?? default_max_tokens,
    system: system.length > 0 ? system : undefined,
    messages: turns,
    stop_sequences: stopSequences(chat.stop),
    temperature: typeof temperature === 'number' ? Math.min(temperature, 1) : undefined, // its scale ends there
    top_p,
    top_k,
    thinking,
    metadata: typeof chat.user === 'string' ? { user_id: chat.user } : undefined,
    tools,
    tool_choice: tools && toolChoice(chat.tool_choice, chat.parallel_tool_calls),
    stream: stream === true ? true : undefined,
  })
}

/** JSON knows no `undefined`, and null means "not given" in the one protocol and nothing in the other. */
const withoutAbsent = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))

const wantsUsage = (options: unknown) => (options as { include_usage?: unknown } | null)?.include_usage === true

/** A stop sequence of blanks is refused by the upstream, so it is not sent. */
function stopSequences(stop: unknown): string[] | undefined {
  const texts = (Array.isArray(stop) ? stop : [stop]).filter((one) => typeof one === 'string' && one.trim() !== '')
  return texts.length > 0 ? texts : undefined
}

interface FunctionTool {
  type?: unknown
  function?: { name?: unknown; description?: unknown; parameters?: unknown }
  cache_control?: unknown
}

/** The protocol wants a type where others take nothing, or an empty schema, for a tool without parameters. */
const NO_PARAMETERS = { type: 'object', properties: {} }

function toTools(tools: unknown): unknown[] | undefined {
  if (!Array.isArray(tools) || tools.length === 0) return undefined
  return tools.map((tool: FunctionTool | null) => {
    if (tool?.type !== 'function' || !tool.function) throw new Untranslatable("'tools' must be functions.")
    const { name, description, parameters } = tool.function
    const input_schema = { ...NO_PARAMETERS, ...(parameters as object | null | undefined) }
    return withoutAbsent({ name, description, input_schema, cache_control: tool.cache_control })
  })
}

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
