// What a caller asks of /v1/responses and /v2/responses. Only what we act on ourselves is checked: items and tools that
// we do not know may be known to an upstream with a Responses API of its own.
import { isGiven } from '../core/given.ts'
import { Refusal } from '../core/refusal.ts'

export type Json = Readonly<Record<string, unknown>>

/** A message, a function call, a tool's output: what a conversation is made of. */
export type Item = Json

export interface ResponseRequest {
  model: string
  /** What was asked, a plain text as the one user message that it stands for. */
  input: readonly Item[]
  instructions: string | null
  previous_response_id: string | null
  store: boolean
  stream: boolean
  max_output_tokens: number | null
  temperature: number | null
  top_p: number | null
  top_logprobs: number | null
  tools: readonly Json[]
  tool_choice: string | Json | null
  parallel_tool_calls: boolean | null
  text: Json
  reasoning: Json
  include: readonly string[]
  metadata: Readonly<Record<string, string>>
  truncation: 'auto' | 'disabled'
  user: string | null
  /** State that only an upstream with its own Responses API can have. */
  conversation: string | Json | null
  prompt: Json | null
  /** Everything else, which travels to the upstream as it came (R9). */
  others: Json
  /** R75: of /v2, what else was said, by name: nobody reads it but an upstream that gets the bytes. */
  unread: readonly string[]
}

const METADATA_PAIRS_MAX = 16
const METADATA_KEY_MAX = 64
const METADATA_VALUE_MAX = 512
const LOGPROBS_MAX = 20

/** Ours are `resp_` and 20 letters; other upstreams write theirs differently. Nothing else can be in the store. */
const RESPONSE_ID = /^resp_[0-9A-Za-z_-]{1,128}$/

export const isResponseId = (id: string) => RESPONSE_ID.test(id)

export const wrong = (field: string, must: string) => new Refusal('invalid_request', `'${field}' must ${must}.`)

export function readResponseRequest(body: unknown, surface: 'v1' | 'v2' = 'v1'): ResponseRequest {
  if (!isObject(body)) throw new Refusal('invalid_request', 'The body must be a JSON object.')
  checkCombinations(body)
  const ask = reader(body)
  const previous_response_id = ask('previous_response_id', isText, 'be a string')
  if (previous_response_id !== null && !isResponseId(previous_response_id))
    throw wrong('previous_response_id', "be the id of a response, which begins 'resp_'")
  return {
    model: checkModel(body.model),
    input: inputItems(body.input, previous_response_id !== null),
    instructions: ask('instructions', isText, 'be a string'),
    previous_response_id,
    store: ask('store', isBoolean, 'be a boolean') ?? true,
    stream: ask('stream', isBoolean, 'be a boolean') ?? false,
    max_output_tokens: ask('max_output_tokens', isWhole(1, Number.MAX_SAFE_INTEGER), 'be a whole number from 1 up'),
    temperature: ask('temperature', isBetween(0, 2), 'be a number from 0 to 2'),
    top_p: ask('top_p', isBetween(0, 1), 'be a number from 0 to 1'),
    top_logprobs: ask('top_logprobs', isWhole(0, LOGPROBS_MAX), `be a whole number from 0 to ${LOGPROBS_MAX}`),
    tools: checkTools(ask('tools', Array.isArray, 'be an array') ?? []),
    tool_choice: ask('tool_choice', isTextOrObject, 'be a string or an object'),
    parallel_tool_calls: ask('parallel_tool_calls', isBoolean, 'be a boolean'),
    text: checkText(ask('text', isObject, 'be an object') ?? {}),
    reasoning: ask('reasoning', isObject, 'be an object') ?? {},
    include: ask('include', isTexts, 'be an array of strings') ?? [],
    metadata: checkMetadata(ask('metadata', isObject, 'be an object') ?? {}),
    truncation: ask('truncation', isTruncation, "be 'auto' or 'disabled'") ?? 'disabled',
    user: ask('user', isText, 'be a string'),
    conversation: ask('conversation', isTextOrObject, 'be a string or an object'),
    prompt: ask('prompt', isObject, 'be an object'),
    others: surface === 'v1' ? othersOf(body) : {},
    unread: surface === 'v1' ? [] : Object.keys(othersOf(body)),
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean'
const isTextOrObject = (value: unknown): value is string | Json => isText(value) || isObject(value)
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText)
const isTruncation = (value: unknown): value is 'auto' | 'disabled' => value === 'auto' || value === 'disabled'
const isBetween =
  (minimum: number, maximum: number) =>
  (value: unknown): value is number =>
    typeof value === 'number' && value >= minimum && value <= maximum
const isWhole =
  (minimum: number, maximum: number) =>
  (value: unknown): value is number =>
    Number.isInteger(value) && isBetween(minimum, maximum)(value)

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reads a field that may be left out; null says the same as leaving it out. */
function reader(body: Json) {
  return <T>(field: string, is: (value: unknown) => value is T, must: string): T | null => {
    const value = body[field]
    if (value === undefined || value === null) return null
    if (!is(value)) throw wrong(field, must)
    return value
  }
}

/** Refuses what contradicts itself, and what is never done here, before anything else is looked at. */
function checkCombinations({ background, conversation, previous_response_id, stream, stream_options }: Json): void {
  if (background === true)
    throw wrong('background', 'not be true here: only /v1/responses makes responses that nobody waits for')
  if (isGiven(background) && background !== false) throw wrong('background', 'be a boolean')
  if (isGiven(conversation) && isGiven(previous_response_id))
    throw wrong('previous_response_id', "not be used together with 'conversation'")
  if (isGiven(stream_options) && stream !== true) throw wrong('stream_options', "be used only with 'stream': true")
}

function checkModel(model: unknown): string {
  if (model === undefined) throw new Refusal('invalid_request', "'model' is required.")
  if (!isText(model) || model === '') throw wrong('model', 'be a non-empty string')
  return model
}

function inputItems(input: unknown, continues: boolean): Item[] {
  if (!isGiven(input)) {
    if (continues) return []
    throw new Refusal('invalid_request', "'input' is required.")
  }
  if (isText(input)) return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
  if (!Array.isArray(input)) throw wrong('input', 'be a string or an array of items')
  if (input.length === 0 && !continues) throw wrong('input', 'have at least 1 entry')
  for (const [at, item] of input.entries()) {
    if (!isObject(item)) throw wrong(`input[${at}]`, 'be an object')
    if (isGiven(item.type) && !isText(item.type)) throw wrong(`input[${at}].type`, 'be a string')
  }
  return input
}

function checkTools(tools: readonly unknown[]): Json[] {
  return tools.map((tool, at) => {
    if (!isObject(tool)) throw wrong(`tools[${at}]`, 'be an object')
    if (!isText(tool.type)) throw wrong(`tools[${at}].type`, 'be a string')
    return tool
  })
}

function checkText(text: Json): Json {
  const { format } = text
  if (!isGiven(format)) return text
  if (!isObject(format)) throw wrong('text.format', 'be an object')
  if (!isText(format.type)) throw wrong('text.format.type', 'be a string')
  return text
}

function checkMetadata(metadata: Json): Record<string, string> {
  const pairs = Object.entries(metadata)
  if (pairs.length > METADATA_PAIRS_MAX) throw wrong('metadata', `have at most ${METADATA_PAIRS_MAX} pairs`)
  for (const [key, value] of pairs) {
    if (key.length > METADATA_KEY_MAX) throw wrong('metadata', `have keys of at most ${METADATA_KEY_MAX} characters`)
    if (!isText(value)) throw wrong(`metadata.${key}`, 'be a string')
    if (value.length > METADATA_VALUE_MAX)
      throw wrong(`metadata.${key}`, `have at most ${METADATA_VALUE_MAX} characters`)
  }
  return metadata as Record<string, string>
}

/** Fields that are spoken for: read above, or said to an upstream in another form, or meant for us alone. */
const KNOWN = new Set([
  'model',
  'input',
  'instructions',
  'previous_response_id',
  'store',
  'stream',
  'stream_options',
  'max_output_tokens',
  'temperature',
  'top_p',
  'top_logprobs',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'text',
  'reasoning',
  'include',
  'metadata',
  'truncation',
  'user',
  'conversation',
  'prompt',
  'background',
])

function othersOf(body: Json): Json {
  return Object.fromEntries(Object.entries(body).filter(([field]) => !KNOWN.has(field)))
}
