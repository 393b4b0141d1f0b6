// Google Vertex: Claude by rawPredict, with Anthropic's own bodies and events; Gemini and others by its
// OpenAI-compatible endpoint. Calls carry a token that is lent for an hour.
import type { StopSignal } from '../../core/stop-signal.ts'
import { toChatError } from '../anthropic/anthropic-response.ts'
import { jsonAnswer } from '../prepared-answer.ts'
import { type ProviderAnswer, UpstreamError } from '../provider.ts'
import type { Upstream, UpstreamRequest } from '../upstream.ts'
import { isChatError } from './bedrock.ts'
import { TokenRefused } from './google-tokens.ts'
import { type PlatformForm, platformMessages } from './messages-body.ts'
import { type PlatformCall, plainHeaders, platformCaller } from './platform-caller.ts'
import type { Lease } from './renewed-lease.ts'
import { withError } from './translated-error.ts'

export interface VertexOptions {
  base_url: string
  region: string
  google_project: string
  /** What the platform calls it. */
  model: string
  tokens: Lease
  betas: readonly string[] | undefined
}

const JSON_TYPE = 'application/json'
const VERSION = 'vertex-2023-10-16'

/** `Said` is what an error is told as. */
interface Errors {
  body(said: unknown, status: number): object | undefined
}

/** For the adapter of Anthropic's protocol, whose paths it takes. */
export function vertexMessages(upstream: Upstream, options: VertexOptions): Upstream {
  const { betas, model } = options
  const below = `${placeOf(options)}/publishers/anthropic/models`
  const generating: PlatformForm = form(betas, ['model'])
  const counting: PlatformForm = form(betas, [])
  const send = sender(upstream, options, { body: messagesError })
  return {
    send: (request, signal) =>
      send(signal, async (call) => {
        const { timeouts } = request
        if (request.method === 'GET') return probe(call, `${below}/${named(model)}:rawPredict`, request, signal)
        const is_count = /\/count_tokens\b/.test(request.path)
        const asked = platformMessages(request, is_count ? counting : generating)
        const method = asked.stream ? 'streamRawPredict' : 'rawPredict'
        const path = is_count ? `${below}/count-tokens:rawPredict` : `${below}/${named(asked.model)}:${method}`
        const accept = asked.stream ? 'text/event-stream' : JSON_TYPE
        const headers = { ...plainHeaders(request), ...asked.headers }
        const answer = await call({ path, body: asked.body, accept, headers, timeouts }, signal)
        return asked.left_out.length > 0 ? { ...answer, left_out: asked.left_out } : answer
      }),
    retire: upstream.retire,
    close: upstream.close,
  }
}

const form = (betas: readonly string[] | undefined, without: readonly string[]): PlatformForm => ({
  anthropic_version: VERSION,
  without: new Set(without),
  has_betas_in_body: false,
  betas,
})

/** For the adapter of OpenAI's protocol. */
export function vertexChat(upstream: Upstream, options: VertexOptions): Upstream {
  const below = `${placeOf(options)}/endpoints/openapi`
  const send = sender(upstream, options, { body: chatError })
  return {
    send: (request, signal) =>
      send(signal, (call) => {
        if (request.method === 'GET') return probe(call, `${below}/chat/completions`, request, signal)
        const { body = Buffer.alloc(0), timeouts, standing, headers: own } = request
        const accept = { ...standing, ...own }.accept ?? JSON_TYPE
        const headers = plainHeaders(request)
        return call({ path: `${below}${request.path}`, body, accept, headers, timeouts }, signal)
      }),
    retire: upstream.retire,
    close: upstream.close,
  }
}

const placeOf = ({ google_project, region }: VertexOptions) => `/v1/projects/${google_project}/locations/${region}`

/** `claude-sonnet-4-5@20250929`: Google's paths have the sign as it is. */
const named = (model: string) => encodeURIComponent(model).replaceAll('%40', '@')

/** It has no list: a call without a request in it says whether the caller is known, and costs nothing. */
function probe(call: PlatformCall, path: string, request: UpstreamRequest, signal: StopSignal) {
  const { timeouts } = request
  return call({ path, body: Buffer.from('{}'), accept: JSON_TYPE, headers: plainHeaders(request), timeouts }, signal)
}

type Ask = (call: PlatformCall) => Promise<ProviderAnswer>

/** With a token; without one, the answer that Google would give to that. */
function sender(upstream: Upstream, { base_url, tokens }: VertexOptions, errors: Errors) {
  return async (signal: StopSignal, ask: Ask): Promise<ProviderAnswer> => {
    let token: string
    try {
      token = await tokens.current()
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw new UpstreamError('connect', error)
      const message = `Google gives no token for this service account: ${error.message}`
      return jsonAnswer(401, errors.body({ error: { code: 401, message, status: 'UNAUTHENTICATED' } }, 401), signal)
    }
    const answer = await ask(platformCaller(upstream, base_url, async () => ({ authorization: `Bearer ${token}` })))
    const { status } = answer
    if (status === 401) tokens.forget(token)
    if (status < 400) return answer
    return withError(answer, { status, secrets: [token], body: (said) => errors.body(said, status) })
  }
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}

/** Google's own form, which may stand in a list. Anthropic's errors come through it as they are. */
function messagesError(said: unknown, status: number): object | undefined {
  const { type, error } = (Array.isArray(said) ? said[0] : (said ?? {})) as { type?: unknown; error?: unknown }
  const { type: kind, message } = (error ?? {}) as { type?: unknown; message?: unknown }
  if (type === 'error' && typeof kind === 'string' && !Array.isArray(said)) return undefined
  const told = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const words = typeof message === 'string' ? message : `The upstream answered ${status}.`
  return { type: 'error', error: { type: told, message: words } }
}

const chatError = (said: unknown, status: number): object | undefined =>
  isChatError(said) ? undefined : toChatError(messagesError(said, status) ?? said, status)
