// The stand-in's chat completions and plain completions, whole and as chunks.
import { type Body, choicesIn, DONE, type Output, outputFor, sse, tokensIn, toolToCall } from './placeholder-output.ts'

/** What differs from call to call: who it is and when it was made. */
export interface Identity {
  created: number
  newId(prefix: string): string
}

interface Spoken {
  index: number
  output: Output
  call_id: string
}

export function chatCompletion(body: Body, identity: Identity) {
  const spoken = speak(body, identity)
  return {
    id: identity.newId('chatcmpl-'),
    object: 'chat.completion',
    created: identity.created,
    model: body.model,
    choices: spoken.map(({ index, output, call_id }) => ({
      index,
      message: messageOf(output, call_id),
      logprobs: null,
      finish_reason: finishOf(output),
    })),
    usage: usageOf(body.messages, spoken),
  }
}

export function chatChunks(body: Body, identity: Identity): Buffer[] {
  const spoken = speak(body, identity)
  const wants_usage = wantsUsage(body)
  const base = { id: identity.newId('chatcmpl-'), object: 'chat.completion.chunk', created: identity.created }
  const chunk = (choices: unknown[], usage: unknown = null) =>
    sse({ ...base, model: body.model, choices, ...(wants_usage && { usage }) })
  const chunks = spoken.flatMap(({ index, output, call_id }) => [
    ...deltasOf(output, call_id).map((delta) => chunk([{ index, delta, logprobs: null, finish_reason: null }])),
    chunk([{ index, delta: {}, logprobs: null, finish_reason: finishOf(output) }]),
  ])
  return [...chunks, ...(wants_usage ? [chunk([], usageOf(body.messages, spoken))] : []), DONE]
}

function speak(body: Body, { newId }: Identity): Spoken[] {
  const limit = body.max_completion_tokens ?? body.max_tokens
  const asked = { tool: toolToCall(body), format: body.response_format }
  return choicesIn(body).map((index) => ({
    index,
    output: outputFor(body.messages, limit, asked),
    call_id: asked.tool ? newId('call_') : '',
  }))
}

function messageOf({ tool, pieces }: Output, id: string) {
  const text = pieces.join('')
  if (!tool) return { role: 'assistant', content: text, refusal: null }
  const tool_calls = [{ id, type: 'function', function: { name: tool, arguments: text } }]
  return { role: 'assistant', content: null, refusal: null, tool_calls }
}

function deltasOf({ tool, pieces }: Output, id: string): unknown[] {
  if (!tool) return [{ role: 'assistant', content: '', refusal: null }, ...pieces.map((content) => ({ content }))]
  const named = { index: 0, id, type: 'function', function: { name: tool, arguments: '' } }
  return [
    { role: 'assistant', content: null, refusal: null },
    { tool_calls: [named] },
    ...pieces.map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
  ]
}

const finishOf = ({ tool, is_cut }: Output) => (is_cut ? 'length' : tool ? 'tool_calls' : 'stop')

export function completion(body: Body, { created, newId }: Identity) {
  const spoken = speakAll(body)
  const choices = spoken.map(({ index, output }) => ({
    index,
    text: output.pieces.join(''),
    logprobs: null,
    finish_reason: finishOf(output),
  }))
  const usage = usageOf(body.prompt, spoken)
  return { id: newId('cmpl-'), object: 'text_completion', created, model: body.model, choices, usage }
}

export function completionChunks(body: Body, { created, newId }: Identity): Buffer[] {
  const spoken = speakAll(body)
  const wants_usage = wantsUsage(body)
  const base = { id: newId('cmpl-'), object: 'text_completion', created, model: body.model }
  const chunk = (choices: unknown[], usage: unknown = null) => sse({ ...base, choices, ...(wants_usage && { usage }) })
  const chunks = spoken.flatMap(({ index, output }) => [
    ...output.pieces.map((text) => chunk([{ index, text, logprobs: null, finish_reason: null }])),
    chunk([{ index, text: '', logprobs: null, finish_reason: finishOf(output) }]),
  ])
  return [...chunks, ...(wants_usage ? [chunk([], usageOf(body.prompt, spoken))] : []), DONE]
}

const PROMPTS_MAX = 2_048

/** Each prompt of a list gets its own choices. The protocol's old default of 16 tokens would only hide the message. */
function speakAll(body: Body): Omit<Spoken, 'call_id'>[] {
  const is_list = Array.isArray(body.prompt) && body.prompt.some((one) => typeof one !== 'number')
  const prompts: unknown[] = is_list ? (body.prompt as unknown[]).slice(0, PROMPTS_MAX) : [body.prompt]
  const outputs = prompts.flatMap((prompt) => choicesIn(body).map(() => outputFor(prompt, body.max_tokens, {})))
  return outputs.map((output, index) => ({ index, output }))
}

const wantsUsage = ({ stream_options }: Body) =>
  (stream_options as { include_usage?: unknown } | null | undefined)?.include_usage === true

function usageOf(prompt: unknown, spoken: readonly { output: Output }[]) {
  const prompt_tokens = tokensIn(prompt)
  const completion_tokens = spoken.reduce((sum, { output }) => sum + output.pieces.length, 0)
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens: 0 },
  }
}
