// A Responses request as the chat completions request that says the same, for upstreams that know only those. Tools
// that the client runs are functions there; what an upstream would have to run itself (code, files) is refused by name.
import { type ChatMessage, chatMessages } from './chat-messages.ts'
import { cannotRun, chatNameOf, clientTools, SHELL_NAME } from './client-tools.ts'
import { type Item, isObject, type Json, type ResponseRequest, wrong } from './response-request.ts'

/** The name that most upstreams know the output limit by. */
export const OUTPUT_LIMIT_FIELD: 'max_tokens' | 'max_completion_tokens' = 'max_tokens'

export type ChatRequest = Json & { model: string; messages: readonly ChatMessage[] }

/** `history` is what previous_response_id leads to: items only, because instructions are never inherited. */
export function chatRequestFrom(
  request: ResponseRequest,
  history: readonly Item[],
  output_limit_field = OUTPUT_LIMIT_FIELD,
): ChatRequest {
  refuseForeignState(request)
  const { model, instructions, input, max_output_tokens, temperature, top_p, user, reasoning, text } = request
  const told: ChatMessage[] = instructions === null ? [] : [{ role: 'system', content: instructions }]
  return {
    ...othersFor(request),
    model,
    messages: [...told, ...chatMessages(history, input)],
    ...chatTools(request),
    ...given({
      [output_limit_field]: max_output_tokens,
      temperature,
      top_p,
      user,
      reasoning_effort: reasoning.effort,
      verbosity: text.verbosity,
      response_format: responseFormat(text.format),
    }),
    ...logprobs(request),
    ...(request.stream && { stream: true, stream_options: { include_usage: true } }),
  }
}

/** For an upstream of Responses alone: what a client tells of itself, and what only such a one can do. */
const OF_RESPONSES = ['client_metadata', 'context_management', 'max_tool_calls']

/** What chat would understand otherwise than it was meant, or would multiply where one response can come back. */
const MISUNDERSTOOD = ['messages', 'n', 'max_tokens', 'max_completion_tokens', ...OF_RESPONSES]

const LOGPROBS = 'message.output_text.logprobs'

/** R75: what the upstream is not told of, by name. */
export const leftOutOf = (request: ResponseRequest): string[] => [
  ...clientTools(request).left_out,
  ...request.unread,
  ...MISUNDERSTOOD.filter((name) => isSaid(request.others[name])),
  ...(request.truncation === 'auto' ? ['truncation'] : []),
  ...request.include.flatMap((what, at) => (what === LOGPROBS ? [] : [`include[${at}]`])),
]

const isSaid = (value: unknown) =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)

const othersFor = ({ others }: ResponseRequest) =>
  Object.fromEntries(Object.entries(others).filter(([field]) => !MISUNDERSTOOD.includes(field)))

const given = (fields: Json) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))

function refuseForeignState({ conversation, prompt }: ResponseRequest): void {
  const foreign = conversation !== null ? 'conversation' : prompt !== null ? 'prompt' : undefined
  if (foreign) throw wrong(foreign, 'not be used with this model, whose upstream keeps none; send the items themselves')
}

function chatTools(request: ResponseRequest): Json {
  const { tool_choice, parallel_tool_calls } = request
  const allowed = allowedNames(tool_choice)
  const functions = clientTools(request).functions.filter((tool) => !allowed || allowed.has(tool.function.name))
  const choice = chatChoice(tool_choice)
  if (functions.length > 0) return { tools: functions, ...given({ tool_choice: choice, parallel_tool_calls }) }
  // Upstreams refuse a choice where there is nothing to choose from.
  if (choice !== null && choice !== 'auto' && choice !== 'none')
    throw wrong('tool_choice', "be 'auto' or 'none' where there are no tools")
  return {}
}

/** Chat has no list of allowed tools that many upstreams know; leaving out the others allows the same. */
function allowedNames(choice: ResponseRequest['tool_choice']): Set<unknown> | undefined {
  if (!isObject(choice) || choice.type !== 'allowed_tools') return undefined
  if (!Array.isArray(choice.tools)) throw wrong('tool_choice.tools', 'be an array')
  return new Set(choice.tools.map((tool) => (isObject(tool) ? chosenName(tool) : undefined)))
}

const chosenName = ({ type, name, namespace }: Json) =>
  type === 'local_shell' ? SHELL_NAME : chatNameOf(String(name), namespace)

function chatChoice(choice: ResponseRequest['tool_choice']): string | Json | null {
  if (!isObject(choice)) return choice
  const { type, mode } = choice
  if (type === 'function' || type === 'custom' || type === 'local_shell')
    return { type: 'function', function: { name: chosenName(choice) } }
  if (type === 'allowed_tools') return mode === 'required' ? 'required' : 'auto'
  throw cannotRun('tool_choice', type)
}

function responseFormat(format: unknown): Json | undefined {
  if (!isObject(format)) return undefined
  const { type, name, description, schema, strict } = format
  switch (type) {
    case 'text':
      return undefined
    case 'json_object':
      return { type }
    case 'json_schema':
      return { type, json_schema: given({ name, description, schema, strict }) }
    default:
      throw wrong('text.format.type', "be 'text', 'json_object' or 'json_schema'")
  }
}

function logprobs({ include, top_logprobs }: ResponseRequest): Json {
  const asked = include.includes(LOGPROBS) || (top_logprobs ?? 0) > 0
  return asked ? { logprobs: true, ...given({ top_logprobs }) } : {}
}
