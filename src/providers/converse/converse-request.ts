// From a chat completion request to one of Converse. What it has no word for is refused where the answer would be
// another one, and told where only its quality hangs on it (converse-fields.ts): nothing is dropped in silence.
import { isGiven } from '../../core/given.ts'
import { othersIn, schemaOf, stopSequences, wantsUsage, withoutAbsent } from '../anthropic/anthropic-request.ts'
import { Untranslatable } from '../anthropic/anthropic-turns.ts'
import { CONVERSE_FIELDS, SETS_LENGTH } from './converse-fields.ts'
import { cachePoint, toConverseTurns } from './converse-turns.ts'

type Chat = Readonly<Record<string, unknown>>

export type AskedConverse =
  | {
      kind: 'request'
      body: Record<string, unknown>
      model: string
      stream: boolean
      wants_usage: boolean
      /** At most one call of a tool is wanted. */
      one_call: boolean
      left_out: readonly string[]
    }
  | { kind: 'refused'; message: string }

export function toConverse(chat: Chat): AskedConverse {
  const left_out = new Set<string>()
  try {
    const body = bodyOf(chat, left_out)
    return {
      kind: 'request',
      body,
      model: String(chat.model),
      stream: chat.stream === true,
      wants_usage: wantsUsage(chat.stream_options),
      one_call: chat.parallel_tool_calls === false,
      left_out: [...left_out],
    }
  } catch (error) {
    if (error instanceof Untranslatable) return { kind: 'refused', message: error.message }
    throw error
  }
}

function bodyOf(chat: Chat, left_out: Set<string>): Record<string, unknown> {
  const others = othersIn(chat, CONVERSE_FIELDS, left_out)
  if (typeof chat.n === 'number' && chat.n !== 1) throw new Untranslatable("'n' must be 1 for this model.")
  const { system, messages, has_calls } = toConverseTurns(chat.messages, left_out)
  messages.at(-1)?.content.push(...cachePoint(chat.cache_control))
  return withoutAbsent({
    messages,
    system: system.length > 0 ? system : undefined,
    inferenceConfig: unlessEmpty({
      maxTokens: chat.max_completion_tokens ?? chat.max_tokens,
      temperature: chat.temperature,
      topP: chat.top_p,
      stopSequences: stopSequences(chat.stop),
    }),
    toolConfig: toolConfig(chat, has_calls),
    outputConfig: outputConfig(chat.response_format),
    serviceTier: serviceTier(chat.service_tier),
    additionalModelRequestFields: modelFields(chat, others),
  })
}

function unlessEmpty(fields: Record<string, unknown>): Record<string, unknown> | undefined {
  const said = withoutAbsent(fields)
  return Object.keys(said).length > 0 ? said : undefined
}

interface FunctionTool {
  type?: unknown
  function?: { name?: unknown; description?: unknown; parameters?: unknown; strict?: unknown }
  cache_control?: unknown
}

const NO_PARAMETERS = { type: 'object', properties: {} }

/** Without tools it cannot call any, as `none` asks for; but calls in messages are not taken without them. */
function toolConfig({ tools, tool_choice }: Chat, has_calls: boolean): object | undefined {
  if (!Array.isArray(tools) || tools.length === 0) return undefined
  if (tool_choice === 'none') {
    if (has_calls)
      throw new Untranslatable("'tool_choice' cannot be none for this model where 'messages' have calls of tools.")
    return undefined
  }
  const specs = tools.flatMap((tool: FunctionTool | null, index) => {
    if (tool?.type !== 'function' || !tool.function)
      throw new Untranslatable(`'tools[${index}].type' must be function for this model.`)
    const { name, description, parameters, strict } = tool.function
    const json = { ...NO_PARAMETERS, ...schemaOf(parameters, index) }
    const spec = { name, description: description || undefined, inputSchema: { json }, strict: strict || undefined }
    return [{ toolSpec: withoutAbsent(spec) }, ...cachePoint(tool.cache_control)]
  })
  return withoutAbsent({ tools: specs, toolChoice: toolChoice(tool_choice) })
}

function toolChoice(choice: unknown): object | undefined {
  if (choice === undefined || choice === null || choice === 'auto') return undefined // which it is anyway
  if (choice === 'required') return { any: {} }
  const { type, function: named } = choice as { type?: unknown; function?: { name?: unknown } }
  if (type === 'function' && typeof named?.name === 'string') return { tool: { name: named.name } }
  throw new Untranslatable("'tool_choice' must be auto, none, required or a function for this model.")
}

interface ResponseFormat {
  type?: unknown
  json_schema?: { name?: unknown; description?: unknown; schema?: unknown }
}

function outputConfig(response_format: unknown): object | undefined {
  const { type, json_schema } = (response_format ?? {}) as ResponseFormat
  if (response_format === undefined || response_format === null || type === 'text') return undefined
  if (type !== 'json_schema' || typeof json_schema?.schema !== 'object')
    throw new Untranslatable("'response_format' must be text, or json_schema with a schema, for this model.")
  const { name, description, schema } = json_schema
  const jsonSchema = withoutAbsent({ schema: JSON.stringify(schema), name, description })
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } }
}

function serviceTier(tier: unknown): object | undefined {
  if (tier === undefined || tier === null || tier === 'auto') return undefined // which it is anyway
  if (tier === 'default' || tier === 'flex' || tier === 'priority') return { type: tier }
  throw new Untranslatable("'service_tier' must be auto, default, flex or priority for this model.")
}

/** What is the model's own: said beside what all of them have. Each refuses what it does not know. */
function modelFields({ model, top_k, reasoning_effort, additionalModelRequestFields }: Chat, others: Chat) {
  const own = ownFields(additionalModelRequestFields)
  for (const name of Object.keys({ ...others, ...own }))
    if (SETS_LENGTH.test(name)) throw new Untranslatable(`'${name}' cannot be used with this model. Say 'max_tokens'.`)
  const is_nova = /(^|[./])amazon\.nova-/.test(String(model))
  return unlessEmpty({
    ...others,
    ...own,
    ...(is_nova ? novaFields(top_k, reasoning_effort) : { top_k, reasoning_effort }),
  })
}

function ownFields(fields: unknown): Chat {
  if (fields === undefined || fields === null) return {}
  if (typeof fields === 'object' && !Array.isArray(fields)) return fields as Chat
  throw new Untranslatable("'additionalModelRequestFields' must be an object.")
}

const EFFORTS: Readonly<Record<string, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
}

function novaFields(top_k: unknown, effort: unknown): Chat {
  const inferenceConfig = isGiven(top_k) ? { topK: top_k } : undefined
  if (!isGiven(effort)) return { inferenceConfig }
  if (effort === 'none') return { inferenceConfig, reasoningConfig: { type: 'disabled' } }
  const maxReasoningEffort = EFFORTS[String(effort)]
  if (!maxReasoningEffort)
    throw new Untranslatable("'reasoning_effort' must be none, minimal, low, medium, high, xhigh or max.")
  return { inferenceConfig, reasoningConfig: { type: 'enabled', maxReasoningEffort } }
}
