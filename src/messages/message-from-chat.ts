// A chat completion as the message that it stands for (R81).
import { textsInTurns } from '../core/json-in-text.ts'
import { outputTokens } from '../responses/response-object.ts'
import { isObject, type Json } from './chat-blocks.ts'

const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
}

export const stopReason = (finish_reason: unknown) => STOP_REASONS[String(finish_reason)] ?? 'end_turn'

/** `msg_…` is what clients of Messages expect an id to look like. */
export const messageId = (id: unknown) =>
  `msg_${String(id ?? '')
    .replace(/^(chatcmpl|msg)[-_]/, '')
    .slice(0, 128)}`

/** Chat counts what was cached inside the prompt; Messages counts it beside. What was reasoned is output in both. */
export function messageUsage(usage: unknown): Json {
  const told = objectOr(usage)
  const inputs = objectOr(told.prompt_tokens_details)
  const outputs = objectOr(told.completion_tokens_details)
  const input = amount(told.prompt_tokens)
  const said = amount(told.completion_tokens)
  const cached = amount(inputs.cached_tokens ?? told.prompt_cache_hit_tokens)
  const written = amount(inputs.cache_write_tokens)
  const reasoning = amount(outputs.reasoning_tokens)
  return {
    input_tokens: Math.max(0, input - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: outputTokens({ input, said, reasoning, cached, written, total: told.total_tokens }),
  }
}

const objectOr = (value: unknown): Json => (isObject(value) ? value : {})

const amount = (value: unknown) => (typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : 0)

/** Throws where it is none. */
export async function messageFrom(completion: unknown): Promise<Json> {
  const choice = isObject(completion) && Array.isArray(completion.choices) ? completion.choices[0] : undefined
  if (!isObject(completion) || !isObject(choice) || !isObject(choice.message))
    throw new Error('a 200 without a message')
  const { content, refusal, tool_calls, reasoning_content, reasoning } = choice.message
  const thought = [reasoning_content, reasoning].find((one) => typeof one === 'string' && one !== '')
  const said = [content, refusal].find((one) => typeof one === 'string' && one !== '')
  const calls = Array.isArray(tool_calls) ? tool_calls.filter(isObject) : []
  const used: Json[] = []
  const read = textsInTurns()
  for (const [at, call] of calls.entries()) used.push(await toolUse(call, at, read))
  const is_refused = said !== undefined && said === refusal
  return {
    id: messageId(completion.id),
    type: 'message',
    role: 'assistant',
    model: completion.model,
    content: [
      ...(thought === undefined ? [] : [{ type: 'thinking', thinking: thought, signature: '' }]),
      ...(said === undefined ? [] : [{ type: 'text', text: said }]),
      ...used,
    ],
    stop_reason: is_refused ? 'refusal' : stopReason(choice.finish_reason),
    stop_sequence: null,
    usage: messageUsage(completion.usage),
  }
}

async function toolUse({ id, function: called }: Json, at: number, read: (text: string) => Promise<unknown>) {
  const { name, arguments: text } = isObject(called) ? called : ({} as Json)
  const input: unknown = typeof text === 'string' && text !== '' ? await read(text) : {}
  // A model that wrote no JSON called the tool all the same: the client's tool says what is wrong with it.
  return { type: 'tool_use', id: id ?? `toolu_${at}`, name, input: isObject(input) ? input : { arguments: text } }
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/** What a chat upstream said of its failure, in the shape of this protocol. */
export function errorFrom(body: unknown, status: number): Json {
  const { error, message: bare, detail } = isObject(body) ? body : ({} as Json)
  const { message = error } = isObject(error) ? error : ({} as Json)
  const said = [message, bare, detail].find((one) => typeof one === 'string' && one !== '')
  const type = TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  return { type: 'error', error: { type, message: said ?? `The upstream answered ${status}.` } }
}
