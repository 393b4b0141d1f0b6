// The stand-in's Responses API: the object with every field that clients may look for, and its sequence of events.
import type { Identity } from './placeholder-chat.ts'
import { type Body, type Output, outputFor, tokensIn, toolToCall } from './placeholder-output.ts'

interface Answered {
  id: string
  item_id: string
  call_id: string
  output: Output
  created: number
}

export function response(body: Body, identity: Identity) {
  return responseObject(body, answer(body, identity))
}

export const inputTokens = (body: Body, identity: Identity) => ({
  object: 'response.input_tokens',
  input_tokens: response(body, identity).usage?.input_tokens ?? 0,
})

/** Nothing of a conversation is in it. */
export function compaction(body: Body, identity: Identity) {
  const { id, created_at, usage } = response(body, identity)
  const output = [{ id: identity.newId('cmp_'), type: 'compaction', encrypted_content: '' }]
  return { id, object: 'response.compaction', created_at, output, usage }
}

function answer(body: Body, { created, newId }: Identity): Answered {
  const tool = toolToCall(body)
  const format = (body.text as { format?: unknown } | null | undefined)?.format
  return {
    id: newId('resp_'),
    item_id: newId(tool ? 'fc_' : 'msg_'),
    call_id: tool ? newId('call_') : '',
    output: outputFor(promptOf(body), body.max_output_tokens, { tool, format }),
    created,
  }
}

const promptOf = ({ instructions, input }: Body) => (instructions ? [instructions, input] : input)

function responseObject(body: Body, answered: Answered, status?: 'in_progress') {
  const { id, output, created } = answered
  const outcome = status ?? (output.is_cut ? 'incomplete' : 'completed')
  return {
    id,
    object: 'response',
    created_at: created,
    status: outcome,
    background: false,
    error: null,
    incomplete_details: outcome === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    model: body.model,
    output: status ? [] : [item(answered, outcome)],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: body.reasoning ?? { effort: null, summary: null },
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: body.text ?? { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? 'disabled',
    usage: status ? null : usageOf(body, output),
    user: body.user ?? null,
  }
}

const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })

function item({ item_id, call_id, output }: Answered, status: string) {
  const text = output.pieces.join('')
  return output.tool
    ? { id: item_id, type: 'function_call', status, call_id, name: output.tool, arguments: text }
    : { id: item_id, type: 'message', status, role: 'assistant', content: [part(text)] }
}

function usageOf(body: Body, { pieces }: Output) {
  const input_tokens = tokensIn(promptOf(body))
  return {
    input_tokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: pieces.length,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens + pieces.length,
  }
}

type ResponseEvent = Readonly<{ type: string; [field: string]: unknown }>

export function responseEvents(body: Body, identity: Identity): Buffer[] {
  const answered = answer(body, identity)
  const running = responseObject(body, answered, 'in_progress')
  const finished = responseObject(body, answered)
  const events: ResponseEvent[] = [
    { type: 'response.created', response: running },
    { type: 'response.in_progress', response: running },
    ...itemEvents(answered, finished.status),
    { type: `response.${finished.status}`, response: finished },
  ]
  return events.map((event, sequence_number) =>
    Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`),
  )
}

function itemEvents(answered: Answered, status: string): ResponseEvent[] {
  const done = item(answered, status)
  const begun = answered.output.tool
    ? { ...done, status: 'in_progress', arguments: '' }
    : { ...done, status: 'in_progress', content: [] }
  return [
    { type: 'response.output_item.added', output_index: 0, item: begun },
    ...(answered.output.tool ? callEvents(answered) : textEvents(answered)),
    { type: 'response.output_item.done', output_index: 0, item: done },
  ]
}

function textEvents({ item_id, output }: Answered): ResponseEvent[] {
  const at = { item_id, output_index: 0, content_index: 0 }
  const text = output.pieces.join('')
  return [
    { type: 'response.content_part.added', ...at, part: part('') },
    ...output.pieces.map((delta) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...at, text, logprobs: [] },
    { type: 'response.content_part.done', ...at, part: part(text) },
  ]
}

function callEvents({ item_id, output }: Answered): ResponseEvent[] {
  const at = { item_id, output_index: 0 }
  const name = output.tool
  return [
    ...output.pieces.map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
    { type: 'response.function_call_arguments.done', ...at, name, arguments: output.pieces.join('') },
  ]
}
