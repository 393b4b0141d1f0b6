// POST /v2/responses as the playground uses it: with the session's cookie, streamed, kept by nobody. /v1 takes keys
// only (T-102), so the list of models is asked for on /v2 as well.
import type { Static } from 'typebox'
import type { GatewayView } from '../../src/routing/gateway-routes.ts'
import type { Model } from '../../src/routing/model-routes.ts'
import type { Trace } from '../../src/usage/trace.ts'
import { ApiError, aboutProject, get, refusalOf, unreachable } from './api-client.ts'
import { serverEvents } from './server-events.ts'

export type { GatewayView, Trace }
export type ListedModel = Static<typeof Model>

export const listModels = async (signal?: AbortSignal) =>
  (await get<{ data: ListedModel[] }>('/v2/models', signal)).data

export const theGateway = (signal?: AbortSignal) => get<GatewayView>('/v2/gateway', signal)

export const findTrace = (trace_id: string, signal?: AbortSignal) =>
  get<Trace>(`/v2/traces/${encodeURIComponent(trace_id)}`, signal)

export interface Turn {
  role: 'user' | 'assistant'
  content: string
}

export interface GenerationRequest {
  model: string
  instructions?: string
  input: readonly Turn[]
  max_output_tokens?: number
  temperature?: number
}

/** What is told while an answer comes. */
export interface Listening {
  onHeaders(headers: ReadonlyMap<string, string>): void
  onText(delta: string): void
  signal: AbortSignal
}

/** Resolves at the clean end. An answer that breaks off, or was refused, rejects with what the service said. */
export async function generate(
  request: GenerationRequest,
  hints: string | undefined,
  { onHeaders, onText, signal }: Listening,
): Promise<void> {
  const answer = await fetch('/v2/responses', {
    method: 'POST',
    credentials: 'same-origin',
    headers: {
      accept: 'text/event-stream',
      ...aboutProject(),
      'content-type': 'application/json',
      ...(hints !== undefined && { 'agent-hints': hints }),
    },
    body: JSON.stringify({ ...request, stream: true, store: false }),
    signal,
  }).catch((cause: unknown) => {
    throw signal.aborted ? cause : unreachable(false)
  })
  onHeaders(new Map([...answer.headers].filter(([name]) => name.startsWith('agent-'))))
  if (!answer.ok || !answer.body) throw await refusalOf(answer, '/v2/responses')
  await listen(answer.body, onText).catch((cause: unknown) => {
    throw signal.aborted || cause instanceof ApiError ? cause : unreachable(false)
  })
}

interface ResponseEvent {
  type?: string
  delta?: string
  message?: string
  code?: string
}

async function listen(body: ReadableStream<Uint8Array>, onText: (delta: string) => void): Promise<void> {
  const events = serverEvents()
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let ended = false
  for (let part = await reader.read(); !part.done; part = await reader.read())
    for (const event of events.push(part.value) as ResponseEvent[]) {
      if (event.type === 'response.output_text.delta' && event.delta) onText(event.delta)
      if (event.type === 'response.completed' || event.type === 'response.incomplete') ended = true
      if (event.type === 'error')
        throw new ApiError(0, { type: event.code ?? 'server_error', message: event.message ?? 'The answer broke off.' })
    }
  if (!ended) throw new ApiError(0, { type: 'cut_off', message: 'The answer broke off before its end.' })
}

/** The first request of a new key, sent the way clients do: with the key, and no cookie. */
export async function firstAnswer(key: string, model: string): Promise<string> {
  const body = { model, messages: [{ role: 'user', content: 'Say hello.' }] }
  const answer = await fetch('/v1/chat/completions', {
    method: 'POST',
    credentials: 'omit',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => {
    throw unreachable(false)
  })
  if (!answer.ok) throw await refusalOf(answer, '/v1/chat/completions')
  const { choices } = (await answer.json()) as { choices: { message: { content: string | null } }[] }
  return choices[0]?.message.content ?? ''
}
