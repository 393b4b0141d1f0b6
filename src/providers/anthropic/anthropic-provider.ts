// Anthropic's own protocol behind the same port: chat goes out as Messages, and comes back as chat; Messages go out and
// come back as they are (R81).
import { type Clock, systemClock } from '../../core/clock.ts'
import { EndlessEvent } from '../../core/event-reader.ts'
import { BeyondBudget, BUDGETS, jsonWithin, smallJsonOrNone } from '../../core/foreign.ts'
import { jsonBytes } from '../../core/json-writing.ts'
import { upTo } from '../first-bytes.ts'
import { LISTING_TIMEOUTS, type ModelList, readModelList } from '../model-list.ts'
import { errorBody, jsonAnswer } from '../prepared-answer.ts'
import { type Provider, type ProviderAnswer, type ProviderCall, UpstreamError } from '../provider.ts'
import { retoldJson } from '../retold-answer.ts'
import type { Upstream } from '../upstream.ts'
import type { Message } from './anthropic-messages.ts'
import { toMessages } from './anthropic-request.ts'
import { toChatCompletion, toChatError } from './anthropic-response.ts'
import { ChunkStream } from './anthropic-stream.ts'
import { withBreakpoints } from './cache-breakpoints.ts'
import { messagesRequest } from './messages-request.ts'

const VERSION = '2023-06-01'

export interface AnthropicOptions {
  /** None, or empty, for an upstream that takes none. */
  api_key: string | undefined
  upstream: Upstream
  /** What a call gets that sets no limit of its own: the protocol demands one. */
  max_tokens?: number
  /** Whether chat gets cache breakpoints, which its clients do not set. */
  cache_breakpoints?: boolean | undefined
  clock?: Clock
}

export interface AnthropicProvider extends Provider {
  listModels(signal: AbortSignal): Promise<ModelList>
}

/** Every model in service can say this much. */
const MAX_TOKENS = 8_192

export function anthropic(options: AnthropicOptions): AnthropicProvider {
  const { api_key, upstream, max_tokens = MAX_TOKENS, cache_breakpoints = true, clock = systemClock } = options
  const credential = {
    ...(api_key && { 'x-api-key': api_key }),
    'accept-encoding': 'identity',
    'user-agent': 'switchyard',
  }
  const identity = { ...credential, 'anthropic-version': VERSION }

  return {
    speaks: (kind) => kind === 'chat' || kind === 'messages',

    async call(call: ProviderCall, signal) {
      if (call.kind === 'messages') {
        const headers = { 'anthropic-version': VERSION, ...contentHeaders(call.stream), ...call.headers, ...credential }
        return upstream.send(messagesRequest(call, headers), signal)
      }
      const chat = (await jsonWithin(BUDGETS.own, call.body)) as Parameters<typeof toMessages>[0]
      const translated = toMessages(chat, max_tokens)
      if (translated.kind === 'refused')
        return jsonAnswer(400, errorBody(translated.message, 'invalid_request_error'), signal)
      const headers = { ...contentHeaders(call.stream), ...call.headers, ...identity }
      const messages = cache_breakpoints ? withBreakpoints(translated.body) : translated.body
      const body = await jsonBytes(messages, call.body.length)
      const request = { method: 'POST', path: '/messages', headers, body, timeouts: call.timeouts } as const
      const answer = await upstream.send(request, signal)
      const created = Math.floor(clock.now() / 1_000)
      const { left_out, wants_usage } = translated
      const is_stream = answer.content_type.includes('event-stream') && answer.status === 200
      return {
        left_out,
        ...(is_stream ? streamed(answer, new ChunkStream(created, wants_usage)) : plain(answer, created)),
      }
    },

    async listModels(signal) {
      const headers = { ...identity, accept: 'application/json' }
      const request = { method: 'GET', path: '/models?limit=1000', headers, timeouts: LISTING_TIMEOUTS } as const
      return readModelList(await upstream.send(request, signal))
    },
  }
}

const contentHeaders = (stream: boolean) => ({
  'content-type': 'application/json',
  accept: stream ? 'text/event-stream' : 'application/json',
})

function streamed(answer: ProviderAnswer, chunks: ChunkStream): ProviderAnswer {
  const each: ProviderAnswer['each'] = async (take) => {
    await answer.each((part) => {
      const now = orReset(() => chunks.translate(part))
      const late = chunks.late()
      return late ? late.then((more) => take(Buffer.concat([now, more])), failed) : take(now)
    })
    if (!chunks.is_complete) throw new UpstreamError('reset', new Error('the event stream ended early'))
  }
  const whole = async () => {
    const parts: Buffer[] = []
    await each((part) => void parts.push(part))
    return Buffer.concat(parts)
  }
  return { ...answer, content_type: 'text/event-stream; charset=utf-8', each, whole }
}

/** An upstream that does not keep to its own protocol has failed us like one that hangs up. */
function orReset<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    return failed(error)
  }
}

function failed(error: unknown): never {
  if (error instanceof UpstreamError) throw error
  if (error instanceof EndlessEvent) throw new UpstreamError('too_large', error)
  throw new UpstreamError(error instanceof BeyondBudget ? 'too_many_parts' : 'reset', error)
}

function plain(answer: ProviderAnswer, created: number): ProviderAnswer {
  const { status } = answer
  return retoldJson(answer, async (taking) => {
    if (status === 200) return completionFrom(await answer.whole(taking), created)
    const { bytes } = await upTo(BUDGETS.envelope.bytes, answer)
    return Buffer.from(JSON.stringify(toChatError(smallJsonOrNone(BUDGETS.envelope, bytes), status)))
  })
}

async function completionFrom(bytes: Buffer, created: number): Promise<Buffer> {
  try {
    const message = (await jsonWithin(BUDGETS.answer, bytes)) as Partial<Message> | null
    if (typeof message?.id !== 'string' || !Array.isArray(message.content))
      throw new Error('an answer that is no message')
    return await jsonBytes(toChatCompletion(message as Message, created), bytes.length)
  } catch (error) {
    return failed(error)
  }
}
