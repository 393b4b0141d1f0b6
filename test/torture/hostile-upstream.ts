// The managed provider of a hostile run, as a program: a model behind an API that takes its input laxly, as many do. It
// keeps a ledger of what it made for whom, which is what somebody has to pay.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { readyHere } from './told-here.ts'

/** What it made for one call. */
export interface Produced {
  trace_id: string
  /** The `user` of the call. */
  who: string
  input: number
  output: number
  /** How much dearer than its list price the call is, by fields that change the price. */
  factor: number
}

/** In the body of a call: what the attacker found out how to bring about. */
export interface Plan {
  /** The call fails, after its prompt was read. */
  fail?: boolean
  /** Of the tokens that it may have, so many are thought and not shown. */
  hidden?: number
  /** Between two pieces of a stream. */
  pace_ms?: number
  /** The usage comes so long after the last piece. */
  usage_after_ms?: number
  /** One character a token, where the usual text has more. */
  dense?: boolean
}

const THINKING_MS = 20
const USUAL_TOKENS = 20
const TOKENS_A_PIECE = 5
const BYTES_A_TOKEN = 4
const ON_THE_WIRE_MS = 150 // what was written so shortly before the caller left may never have reached it
const DEARER = ['service_tier', 'web_search_options', 'audio', 'prediction', 'search_parameters']

const produced: Produced[] = []
let open = 0

const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
  response.on('error', () => {}) // whoever leaves, leaves
  incoming.on('error', () => {})
  serve(incoming, response).catch(() => response.destroy())
})

async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  if (incoming.method === 'GET') return json(response, { object: 'list', data: [{ id: 'm', object: 'model' }] })
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part as Buffer)
  const text = Buffer.concat(parts).toString()
  const body = JSON.parse(text) as Record<string, unknown> & { plan?: Plan }
  const call: Produced = {
    trace_id: String(incoming.headers['x-request-id']),
    who: String(body.user),
    input: Math.ceil(text.length / BYTES_A_TOKEN),
    output: 0,
    factor: DEARER.some((field) => body[field] !== undefined) ? 2 : 1,
  }
  await sleep(THINKING_MS)
  if (body.plan?.fail) return json(response, { error: { message: 'the engine failed', type: 'server_error' } }, 500)
  const tokens = askedFor(text, /"(?:max_tokens|max_completion_tokens)"\s*:\s*"?(\d+)/gi, USUAL_TOKENS)
  const choices = askedFor(text, /"(?:n|best_of)"\s*:\s*"?(\d+)/gi, 1)
  produced.push(call)
  open++
  try {
    if (body.stream === true || body.stream === 'true') await stream(call, body, tokens * choices, response)
    else whole(call, body, tokens * choices, response)
  } finally {
    open--
  }
}

/** In any case, as text or as a number, and the most where it is there twice. */
function askedFor(text: string, field: RegExp, usual: number): number {
  const given = [...text.matchAll(field)].map(([, digits]) => Number(digits))
  return given.length === 0 ? usual : Math.max(...given)
}

const textOf = (tokens: number, { dense }: Plan) => (dense ? '語' : 'word ').repeat(Math.min(tokens, 2_000))

function usageOf({ input, output }: Produced, hidden: number) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(hidden > 0 && { completion_tokens_details: { reasoning_tokens: hidden } }),
  }
}

const base = { id: 'chatcmpl-m', created: 1_763_208_000, model: 'm' }

function whole(call: Produced, { plan = {} }: { plan?: Plan }, tokens: number, response: ServerResponse): void {
  const { hidden = 0 } = plan
  call.output = tokens
  const message = { role: 'assistant', content: textOf(tokens - hidden, plan) }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  json(response, { ...base, object: 'chat.completion', choices, usage: usageOf(call, hidden) })
}

async function stream(
  call: Produced,
  body: { plan?: Plan; stream_options?: { include_usage?: unknown } },
  tokens: number,
  response: ServerResponse,
): Promise<void> {
  const { plan = {} } = body
  const { pace_ms = 0, hidden = 0, usage_after_ms = 0 } = plan
  const written: { at_ms: number; tokens: number }[] = []
  const send = (choices: unknown[], usage: unknown = null) =>
    response.write(`data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices, usage })}\n\n`)
  const delta = (content: string, finish_reason: string | null = null) =>
    send([{ index: 0, delta: { content }, finish_reason }])
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  for (let left = tokens - hidden; left > 0 && !response.destroyed; left -= TOKENS_A_PIECE) {
    const some = Math.min(left, TOKENS_A_PIECE)
    delta(textOf(some, plan))
    written.push({ at_ms: performance.now(), tokens: some })
    call.output += some
    if (pace_ms > 0) await sleep(pace_ms)
  }
  if (!response.destroyed) {
    call.output += hidden // it was thought by now, whoever waits for it
    delta('', 'stop')
    if (usage_after_ms > 0) await sleep(usage_after_ms)
  }
  if (response.destroyed) {
    const left_ms = performance.now()
    for (const { at_ms, tokens: some } of written) if (left_ms - at_ms < ON_THE_WIRE_MS + pace_ms) call.output -= some
    if (call.output <= 0) Object.assign(call, { input: 0, output: 0 }) // R26: nothing had come, so nothing is owed
    return
  }
  if (body.stream_options?.include_usage) send([], usageOf(call, hidden))
  response.end('data: [DONE]\n\n')
}

function json(response: ServerResponse, value: unknown, status = 200): void {
  const bytes = Buffer.from(JSON.stringify(value))
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length })
  response.end(bytes)
}

/** Asked for what was made since the last time; what is still being made comes later. */
process.on('message', () => process.send?.({ produced: open === 0 ? produced.splice(0) : [], open }))

server.listen(0, '127.0.0.1', () => readyHere({ port: (server.address() as AddressInfo).port }))
