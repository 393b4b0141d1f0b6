// AWS Bedrock: Claude by InvokeModel, with Anthropic's own bodies and events; models of OpenAI's by its
// OpenAI-compatible endpoint. Calls are signed, or carry a key of Bedrock's. Others go by Converse (../converse).

import { BUDGETS, jsonWithin } from '../../core/foreign.ts'
import { spliceFields } from '../../core/json-splice.ts'
import type { StopSignal } from '../../core/stop-signal.ts'
import { toChatError } from '../anthropic/anthropic-response.ts'
import type { ProviderAnswer } from '../provider.ts'
import type { Upstream, UpstreamRequest } from '../upstream.ts'
import { bedrockError, isOfKeys, statusOf } from './bedrock-errors.ts'
import { streamedEvents } from './bedrock-stream.ts'
import { usageIn } from './bedrock-usage.ts'
import { type PlatformForm, type PlatformMessages, platformMessages } from './messages-body.ts'
import { type PlatformCall, type Prove, plainHeaders, platformCaller } from './platform-caller.ts'
import { withError } from './translated-error.ts'

export interface BedrockOptions {
  base_url: string
  /** An id of a model or an inference profile, or the ARN of one. */
  model: string
  prove: Prove
  betas: readonly string[] | undefined
  /** Asked with each call: keys that are lent change. */
  secrets(): readonly string[]
}

const JSON_TYPE = 'application/json'
const EVENT_STREAM = 'application/vnd.amazon.eventstream'

const formWith = (betas: readonly string[] | undefined): PlatformForm => ({
  anthropic_version: 'bedrock-2023-05-31',
  without: new Set(['model', 'stream']),
  has_betas_in_body: true,
  betas,
})

/** For the adapter of Anthropic's protocol, whose paths it takes. */
export function bedrockMessages(upstream: Upstream, options: BedrockOptions): Upstream {
  const call = platformCaller(upstream, options.base_url, options.prove)
  const form = formWith(options.betas)
  return {
    async send(request, signal) {
      if (request.method === 'GET') return probe(call, request, options.model, signal)
      const asked = platformMessages(request, form)
      const answer = /\/count_tokens\b/.test(request.path)
        ? await count(call, request, asked, signal)
        : await invoke(call, request, asked, signal)
      return asked.left_out.length > 0
        ? { ...translated(answer, options.secrets()), left_out: asked.left_out }
        : translated(answer, options.secrets())
    },
    retire: upstream.retire,
    close: upstream.close,
  }
}

const pathOf = (model: string, operation: string) => `/model/${encodeURIComponent(model)}/${operation}`

async function invoke(
  call: PlatformCall,
  request: UpstreamRequest,
  { model, stream, body }: PlatformMessages,
  signal: StopSignal,
): Promise<ProviderAnswer> {
  const path = pathOf(model, stream ? 'invoke-with-response-stream' : 'invoke')
  const accept = stream ? EVENT_STREAM : JSON_TYPE
  const { timeouts } = request
  const answer = await call({ path, body, accept, headers: plainHeaders(request), timeouts }, signal)
  if (answer.status !== 200) return answer
  return stream ? streamedEvents(answer) : withUsage(answer)
}

/** Its count is that of a whole request, which has a limit; the limit is in no count. */
async function count(
  call: PlatformCall,
  request: UpstreamRequest,
  { model, body, has_limit }: PlatformMessages,
  signal: StopSignal,
): Promise<ProviderAnswer> {
  const whole = has_limit ? body : spliceFields({ bytes: body, json: { messages: [] } }, { max_tokens: 1 })
  const asked = Buffer.from(JSON.stringify({ input: { invokeModel: { body: whole.toString('base64') } } }))
  const path = pathOf(model, 'count-tokens')
  const { timeouts } = request
  const answer = await call({ path, body: asked, accept: JSON_TYPE, headers: plainHeaders(request), timeouts }, signal)
  if (answer.status !== 200) return answer
  return replaced(answer, (bytes) => {
    const { inputTokens } = jsonWithin(BUDGETS.envelope, bytes) as { inputTokens?: unknown }
    return Buffer.from(JSON.stringify({ input_tokens: inputTokens }))
  })
}

/** It has no list: a call without a request in it says whether the caller is known, and costs nothing. */
function probe(call: PlatformCall, request: UpstreamRequest, model: string, signal: StopSignal) {
  const path = pathOf(model, 'invoke')
  const { timeouts } = request
  return call({ path, body: Buffer.from('{}'), accept: JSON_TYPE, headers: plainHeaders(request), timeouts }, signal)
}

/** Keys that are lent may end before their time. */
export const watchingKeys = (upstream: Upstream, refused: () => void): Upstream => ({
  async send(request, signal) {
    const answer = await upstream.send(request, signal)
    if (answer.status >= 400 && isOfKeys(exceptionOf(answer))) refused()
    return answer
  },
  retire: upstream.retire,
  close: upstream.close,
})

const exceptionOf = ({ heard }: ProviderAnswer) => heard?.get('x-amzn-errortype') ?? ''

function translated(answer: ProviderAnswer, secrets: readonly string[]): ProviderAnswer {
  if (answer.status < 400) return answer
  const exception = exceptionOf(answer)
  const status = statusOf(exception, answer.status)
  return withError(answer, { status, secrets, body: (said) => bedrockError(exception || typeIn(said), status, said) })
}

const typeIn = (said: unknown) => String((said as { __type?: unknown } | null | undefined)?.__type ?? '')

/** Claude's answers tell their usage. Where one did not, what Bedrock counted is told in its place. */
function withUsage(answer: ProviderAnswer): ProviderAnswer {
  const usage = usageIn(answer.heard)
  if (!usage) return answer
  return replaced(answer, (bytes) =>
    bytes.includes('"usage"') || bytes[0] !== 0x7b ? bytes : spliceFields({ bytes, json: { id: '' } }, { usage }),
  )
}

function replaced(answer: ProviderAnswer, change: (bytes: Buffer) => Buffer): ProviderAnswer {
  const whole: ProviderAnswer['whole'] = async (taking) => change(await answer.whole(taking))
  return { ...answer, whole, each: async (take) => take(await whole()) }
}

/** For the adapter of OpenAI's protocol: models that Bedrock serves by it. */
export function bedrockChat(upstream: Upstream, options: BedrockOptions): Upstream {
  const call = platformCaller(upstream, options.base_url, options.prove)
  return {
    async send(request, signal) {
      if (request.method === 'GET') return probe(call, request, options.model, signal)
      const { body = Buffer.alloc(0), timeouts, standing, headers: own } = request
      const accept = { ...standing, ...own }.accept ?? JSON_TYPE
      const path = `/openai/v1${request.path}`
      const answer = await call({ path, body, accept, headers: plainHeaders(request), timeouts }, signal)
      return answer.status < 400 ? answer : inChat(answer, options.secrets())
    },
    retire: upstream.retire,
    close: upstream.close,
  }
}

/** An exception of AWS's as an error of chat. */
export function inChat(answer: ProviderAnswer, secrets: readonly string[]): ProviderAnswer {
  const exception = exceptionOf(answer)
  const status = statusOf(exception, answer.status)
  return withError(answer, {
    status,
    secrets,
    body: (said) =>
      isChatError(said) ? undefined : toChatError(bedrockError(exception || typeIn(said), status, said), status),
  })
}

export function isChatError(said: unknown): boolean {
  const { message, type } = ((said ?? {}) as { error?: { message?: unknown; type?: unknown } }).error ?? {}
  return typeof message === 'string' && typeof type === 'string'
}
