// §4.11: what generations answer with, for the OpenAPI document. An upstream's answer goes on as its bytes and is never
// held against these: they say what clients of the protocol rely on, and leave room for what an upstream adds.
import { type TProperties, type TSchema, Type } from 'typebox'
import { orNull } from '../core/shapes.ts'
import { NativeBlocks } from '../responses/native-response.ts'

const Open = <P extends TProperties>(properties: P, more: object = {}) =>
  Type.Object(properties, { ...more, additionalProperties: true })
const maybe = Type.Optional
const count = () => Type.Integer()
const unixSeconds = () => Type.Integer({ description: 'Unix seconds.' })

const TokenUsage = Open({
  prompt_tokens: count(),
  completion_tokens: maybe(count()),
  total_tokens: count(),
  prompt_tokens_details: maybe(orNull(Open({ cached_tokens: maybe(count()) }))),
})

const ToolCall = Open({
  id: Type.String(),
  type: Type.String({ description: '`function`, mostly.' }),
  function: maybe(Open({ name: Type.String(), arguments: Type.String({ description: 'JSON as text.' }) })),
})

export const ChatCompletion = Open(
  {
    id: Type.String(),
    object: Type.Literal('chat.completion'),
    created: unixSeconds(),
    model: Type.String(),
    choices: Type.Array(
      Open({
        index: count(),
        message: Open({
          role: Type.String(),
          content: maybe(orNull(Type.String())),
          refusal: maybe(orNull(Type.String())),
          tool_calls: maybe(Type.Array(ToolCall)),
        }),
        finish_reason: maybe(
          orNull(Type.String({ description: '`stop`, `length`, `tool_calls` or `content_filter`, mostly.' })),
        ),
      }),
    ),
    usage: maybe(orNull(TokenUsage)),
  },
  { title: 'ChatCompletion' },
)

export const Completion = Open(
  {
    id: Type.String(),
    object: Type.Literal('text_completion'),
    created: unixSeconds(),
    model: Type.String(),
    choices: Type.Array(Open({ index: count(), text: Type.String(), finish_reason: maybe(orNull(Type.String())) })),
    usage: maybe(orNull(TokenUsage)),
  },
  { title: 'Completion' },
)

export const Embeddings = Open(
  {
    object: Type.Literal('list'),
    data: Type.Array(
      Open({
        object: Type.Literal('embedding'),
        index: count(),
        embedding: Type.Union([Type.Array(Type.Number()), Type.String({ description: 'base64 of 32-bit floats.' })]),
      }),
    ),
    model: Type.String(),
    usage: maybe(orNull(TokenUsage)),
  },
  { title: 'Embeddings' },
)

export const Response = Open(
  {
    id: Type.String({ description: 'Begins `resp_`.' }),
    object: Type.Literal('response'),
    created_at: maybe(Type.Number({ description: 'Unix seconds.' })),
    status: maybe(Type.String({ description: '`completed`, `incomplete` or `failed`, mostly.' })),
    model: maybe(Type.String()),
    output: maybe(
      Type.Array(Open({ type: Type.String({ description: '`message`, `function_call`, `reasoning`, …' }) })),
    ),
    previous_response_id: maybe(orNull(Type.String())),
    error: maybe(orNull(Open({ code: Type.String(), message: Type.String() }))),
    incomplete_details: maybe(orNull(Open({ reason: maybe(Type.String()) }))),
    usage: maybe(orNull(Open({ input_tokens: count(), output_tokens: count(), total_tokens: count() }))),
  },
  { title: 'Response' },
)

export const Compaction = Open(
  {
    id: Type.String(),
    object: Type.Literal('response.compaction'),
    output: Type.Array(Open({ type: Type.String() })),
    usage: maybe(orNull(Open({ input_tokens: count(), output_tokens: count(), total_tokens: count() }))),
  },
  { title: 'Compaction' },
)

export const InputTokens = Open(
  { object: Type.Literal('response.input_tokens'), input_tokens: count() },
  { title: 'InputTokens' },
)

/** On the native surface, how it came about stands in the body; of a stored one that is older than that, not. */
export const NativeResponse = Open(
  { ...Response.properties, ...Type.Partial(NativeBlocks).properties },
  { title: 'NativeResponse' },
)

/** Whole, and as events where `stream` is true. */
export const whole = (schema: TSchema) => ({
  description: 'As the API of this protocol describes it.',
  content: { 'application/json': { schema } },
})

export const wholeOrStreamed = (schema: TSchema, events: string) => ({
  description: 'As the API of this protocol describes it; as server-sent events where `stream` is true.',
  content: {
    'application/json': { schema },
    'text/event-stream': { schema: Type.String({ description: events }) },
  },
})

export const CHUNKS =
  'Events `data: {…}`, each a chunk of the answer, and `data: [DONE]` at the end. One that breaks off ends with ' +
  '`data: {"error": {…}}`. What it cost is in trailers, and in usage under its trace id.'

export const RESPONSE_EVENTS =
  'Events `event: response.…` with `data: {"type": "response.…", …}`, the last of them `response.completed`, ' +
  '`response.incomplete`, `response.failed` or `error`. What it cost is in trailers, and in usage under its trace id.'
