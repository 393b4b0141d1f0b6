// What the programmable upstream says, in each of the protocols that it speaks.
import type { Recorded, Saying, Usage } from './upstream.ts'

export type Said = { kind: 'whole'; status: number; body: unknown } | { kind: 'stream'; events: string[] }

const TEXT = 'Hello from the upstream.'
const USAGE: Usage = { input: 11, output: 7 }
const CREATED = 1_763_208_000

export function answerTo({ method, path, body }: Recorded, saying: Saying): Said {
  const below = path.split('?')[0]?.replace(/^.*?\/(?=(chat\/)?[a-z]+$)/, '') ?? ''
  const speak = method === 'GET' ? GETS[below] : POSTS[below]
  return speak ? speak(body ?? {}, saying) : whole({ error: { message: 'unknown path', type: 'not_found' } }, 404)
}

// biome-ignore lint/suspicious/noExplicitAny: whatever a client sent
type Body = any
type Speak = (body: Body, saying: Saying) => Said

const whole = (body: unknown, status = 200): Said => ({ kind: 'whole', status, body })
const stream = (events: string[]): Said => ({ kind: 'stream', events })
const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const named = (value: { type: string; [field: string]: unknown }) => `event: ${value.type}\n${data(value)}`
const DONE = 'data: [DONE]\n\n'

const GETS: Record<string, Speak> = {
  models: (_body, { models = ['model-a', 'org/model-b'] }) =>
    whole({
      object: 'list',
      data: models.map((id) => ({ id, object: 'model', created: CREATED, owned_by: 'upstream' })),
    }),
}

const POSTS: Record<string, Speak> = {
  'chat/completions': (body, saying) => (body.stream ? stream(chatChunks(body, saying)) : whole(chat(body, saying))),
  completions: (body, saying) => (body.stream ? stream(textChunks(body, saying)) : whole(text(body, saying))),
  embeddings: (body, saying) => whole(embeddings(body, saying)),
  responses: (body, saying) => (body.stream ? stream(responseEvents(body, saying)) : whole(response(body, saying))),
  messages: (body, saying) => (body.stream ? stream(messageEvents(body, saying)) : whole(message(body, saying))),
}

function pieces({ text = TEXT, chunks = 3 }: Saying): string[] {
  const size = Math.max(1, Math.ceil(text.length / chunks))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.slice(n * size, (n + 1) * size))
}

function chatUsage({ usage = USAGE }: Saying) {
  if (!usage) return undefined
  const { input, output, cached, cache_written, reasoning } = usage
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached ?? 0, ...(cache_written && { cache_write_tokens: cache_written }) },
    ...(reasoning && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  }
}

const toolCalls = ({ tool_calls }: Saying) =>
  tool_calls?.map(({ name, arguments: args }, index) => ({
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: args },
  }))

const chatBase = (body: Body) => ({ id: 'chatcmpl-upstream', created: CREATED, model: body.model })
const finishOf = (saying: Saying) => saying.finish_reason ?? (saying.tool_calls ? 'tool_calls' : 'stop')

function chat(body: Body, saying: Saying) {
  const calls = toolCalls(saying)
  const message = { role: 'assistant', content: calls ? null : (saying.text ?? TEXT), refusal: null }
  return {
    ...chatBase(body),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: calls ? { ...message, tool_calls: calls } : message,
        logprobs: null,
        finish_reason: finishOf(saying),
      },
    ],
    usage: chatUsage(saying),
  }
}

function chatChunks(body: Body, saying: Saying): string[] {
  const wants_usage = body.stream_options?.include_usage === true
  const chunk = (choices: unknown[], usage: unknown = null) =>
    data({ ...chatBase(body), object: 'chat.completion.chunk', choices, ...(wants_usage && { usage }) })
  const delta = (delta: unknown, finish_reason: string | null = null) =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason }])
  const calls = toolCalls(saying)
  return [
    delta({ role: 'assistant', content: calls ? null : '' }),
    ...(calls
      ? calls.map((call, index) => delta({ tool_calls: [{ index, ...call }] }))
      : pieces(saying).map((piece) => delta({ content: piece }))),
    delta({}, finishOf(saying)),
    ...(wants_usage && saying.usage !== null ? [chunk([], chatUsage(saying))] : []),
    DONE,
  ]
}

const text = (body: Body, saying: Saying) => ({
  id: 'cmpl-upstream',
  object: 'text_completion',
  created: CREATED,
  model: body.model,
  choices: [{ index: 0, text: saying.text ?? TEXT, logprobs: null, finish_reason: finishOf(saying) }],
  usage: chatUsage(saying),
})

function textChunks(body: Body, saying: Saying): string[] {
  const chunk = (choices: unknown[], usage?: unknown) =>
    data({ id: 'cmpl-upstream', object: 'text_completion', created: CREATED, model: body.model, choices, usage })
  return [
    ...pieces(saying).map((piece) => chunk([{ index: 0, text: piece, logprobs: null, finish_reason: null }])),
    chunk([{ index: 0, text: '', logprobs: null, finish_reason: finishOf(saying) }]),
    ...(body.stream_options?.include_usage && saying.usage !== null ? [chunk([], chatUsage(saying))] : []),
    DONE,
  ]
}

function embeddings(body: Body, { usage = USAGE }: Saying) {
  const inputs: unknown[] = Array.isArray(body.input) ? body.input : [body.input]
  const vectors = inputs.map((_, index) => ({ object: 'embedding', index, embedding: [0.5, -0.5, index] }))
  const tokens = usage?.input ?? 0
  return {
    object: 'list',
    model: body.model,
    data: vectors,
    ...(usage && { usage: { prompt_tokens: tokens, total_tokens: tokens } }),
  }
}

let responses = 0

function response(body: Body, saying: Saying, { status = 'completed', id = `resp_upstream${++responses}` } = {}) {
  const { usage = USAGE } = saying
  const part = { type: 'output_text', text: saying.text ?? TEXT, annotations: [], logprobs: [] }
  return {
    id,
    object: 'response',
    created_at: CREATED,
    status,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    model: body.model,
    output:
      status === 'completed'
        ? [{ id: 'msg_upstream', type: 'message', role: 'assistant', status, content: [part] }]
        : [],
    parallel_tool_calls: true,
    tools: [],
    tool_choice: 'auto',
    temperature: 1,
    top_p: 1,
    metadata: {},
    usage: status === 'completed' && usage ? responseUsage(usage) : null,
  }
}

const responseUsage = ({ input, output, cached = 0, cache_written = 0, reasoning = 0 }: Usage) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: cache_written },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
})

function responseEvents(body: Body, saying: Saying): string[] {
  const running = response(body, saying, { status: 'in_progress' })
  const finished = response(body, saying, { id: running.id })
  const [message] = finished.output
  const begun = { ...message, status: 'in_progress', content: [] }
  const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
  const item = { item_id: 'msg_upstream', output_index: 0, content_index: 0 }
  const events = [
    { type: 'response.created', response: running },
    { type: 'response.in_progress', response: running },
    { type: 'response.output_item.added', output_index: 0, item: begun },
    { type: 'response.content_part.added', ...item, part },
    ...pieces(saying).map((delta) => ({ type: 'response.output_text.delta', ...item, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...item, text: saying.text ?? TEXT, logprobs: [] },
    { type: 'response.content_part.done', ...item, part: message?.content[0] },
    { type: 'response.output_item.done', output_index: 0, item: message },
    { type: 'response.completed', response: finished },
  ]
  return events.map((event, sequence_number) => named({ ...event, sequence_number }))
}

const STOPS: Record<string, string> = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' }

function messageUsage({ usage = USAGE }: Saying) {
  if (!usage) return {}
  const { input, output, cached = 0, cache_written = 0 } = usage
  return {
    input_tokens: input - cached - cache_written,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: cache_written,
    output_tokens: output,
  }
}

const messageBase = (body: Body) => ({
  id: 'msg_upstream',
  type: 'message',
  role: 'assistant',
  model: body.model,
  stop_sequence: null,
})

const toolUses = (saying: Saying) =>
  (saying.tool_calls ?? []).map(({ name }, index) => ({ type: 'tool_use', id: `toolu_${index}`, name, input: {} }))

const message = (body: Body, saying: Saying) => ({
  ...messageBase(body),
  content: saying.tool_calls
    ? toolUses(saying).map((use, n) => ({ ...use, input: JSON.parse(saying.tool_calls?.[n]?.arguments ?? '{}') }))
    : [{ type: 'text', text: saying.text ?? TEXT }],
  stop_reason: STOPS[finishOf(saying)],
  usage: messageUsage(saying),
})

function messageEvents(body: Body, saying: Saying): string[] {
  const usage = messageUsage(saying)
  const begun = { ...messageBase(body), content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } }
  const blocks = saying.tool_calls
    ? toolUses(saying).map((block, n) => ({
        block,
        deltas: [{ type: 'input_json_delta', partial_json: saying.tool_calls?.[n]?.arguments ?? '{}' }],
      }))
    : [{ block: { type: 'text', text: '' }, deltas: pieces(saying).map((text) => ({ type: 'text_delta', text })) }]
  return [
    { type: 'message_start', message: begun },
    { type: 'ping' },
    ...blocks.flatMap(({ block, deltas }, index) => [
      { type: 'content_block_start', index, content_block: block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: STOPS[finishOf(saying)], stop_sequence: null }, usage },
    { type: 'message_stop' },
  ].map(named)
}
