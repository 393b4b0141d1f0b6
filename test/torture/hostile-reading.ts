// An answer read as the path reads it: the same wire, adapters, readers of events and counts, only that no socket is
// there. What comes out is judged: no crash, no count or charge that cannot be.

import { openStream } from '../../src/answers/answer-stream.ts'
import { answeredResponse, assistantOutput } from '../../src/answers/assistant-output.ts'
import { chainedAnswer } from '../../src/answers/chained-answer.ts'
import { sseFrames } from '../../src/answers/sse-frames.ts'
import { USUAL_PATIENCE } from '../../src/answers/stream-patience.ts'
import { streamedTokens, type TokenCounts } from '../../src/answers/token-counts.ts'
import { whatWasRefused, withoutOtherCode, wordsIn, wordsOf, wordsOfAnswer } from '../../src/answers/upstream-reason.ts'
import { verdictOn } from '../../src/answers/upstream-verdict.ts'
import { tokensOf } from '../../src/answers/whole-answer.ts'
import { BUDGETS } from '../../src/core/foreign.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { chargeFor } from '../../src/generations/charge.ts'
import { responsesOverChat } from '../../src/generations/responses-over-chat.ts'
import { anthropic } from '../../src/providers/anthropic/anthropic-provider.ts'
import type { Connection, Connections, Waiter } from '../../src/providers/connections.ts'
import { Exchange } from '../../src/providers/exchange.ts'
import { upTo } from '../../src/providers/first-bytes.ts'
import { openaiCompatible } from '../../src/providers/openai-compatible/openai-provider.ts'
import { type Provider, type ProviderAnswer, UpstreamError } from '../../src/providers/provider.ts'
import type { Upstream } from '../../src/providers/upstream.ts'
import { keptForm, readConversation } from '../../src/responses/conversation.ts'
import type { Target } from '../../src/routing/target.ts'
import { heldClock } from '../support/clock.ts'
import { type HostileAnswer, ROUTES } from './hostile-answers.ts'

/** What may be put in place of a reader, to see that the judge notices. */
export interface Readers {
  tokensOf: typeof tokensOf
  streamedTokens: typeof streamedTokens
}

export const READERS: Readers = { tokensOf, streamedTokens }

export type Read =
  | { kind: 'answer'; tokens: TokenCounts; micros: number; is_kept: boolean }
  | { kind: 'client_error' | 'elsewhere' }
  | { kind: 'failed'; failure: string }

const INPUT_ESTIMATE = 7
const timeouts = { first_byte_ms: 1_000_000, idle_ms: 1_000_000 }
const PRICE = { input: 1_000_000, cached_input: 500_000, cache_write: 2_000_000, output: 2_000_000 }
const TARGET = { pricing: { kind: 'tokens', price: PRICE } } as unknown as Target
const NEVER = { patience: USUAL_PATIENCE, timers: { after: () => () => {} } }
const clock = heldClock()

/** Throws what the path would not expect. */
export async function readHostile(answer: HostileAnswer, readers = READERS): Promise<Read> {
  try {
    return await read(answer, readers)
  } catch (error) {
    if (error instanceof UpstreamError) return { kind: 'failed', failure: error.failure }
    if (error instanceof Refusal) return { kind: 'failed', failure: error.kind }
    throw error
  }
}

async function read(hostile: HostileAnswer, readers: Readers): Promise<Read> {
  const { route, stream } = hostile
  const { kind } = ROUTES[route]
  const wire = new Wire(hostile)
  const { provider, conversation } = await providerFor(hostile, wire)
  const signal = new AbortController().signal
  const body = Buffer.from(JSON.stringify(ASKED[kind]))
  const upstream = await provider.call({ kind, body, stream, headers: {}, timeouts }, signal)
  const verdict = verdictOn(upstream.status, upstream.retry_after_s)
  if (verdict.kind === 'try_elsewhere') {
    wordsOf((await upTo(BUDGETS.said.bytes, upstream)).bytes)
    return { kind: 'elsewhere' }
  }
  if (verdict.kind === 'hand_on') {
    const { bytes } = await upTo(BUDGETS.envelope.bytes, upstream)
    wordsOf(bytes)
    if (whatWasRefused(bytes).envelope) withoutOtherCode(bytes)
    return { kind: 'client_error' }
  }
  const { tokens, bytes } = stream
    ? await streamed(upstream, hostile, readers)
    : await whole(upstream, hostile, readers)
  await assistantOutput(kind, stream, bytes)
  if (conversation) keptForm(stream ? await answeredResponse(true, bytes) : JSON.parse(bytes.toString()), conversation)
  return { kind: 'answer', tokens, micros: chargeFor(TARGET, tokens, 0).cost_micros, is_kept: wire.is_kept }
}

const ASKED = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'hello' }], stream_options: { include_usage: true } },
  completions: { model: 'm', prompt: 'hello' },
  embeddings: { model: 'm', input: 'hello' },
  responses: { model: 'm', input: 'hello' },
}

const NO_CHAINS: Parameters<typeof readConversation>[1] = {
  history: async () => [],
  resolved: async (_project, items) => items,
  mayStore: async () => {},
}

async function providerFor({ route }: HostileAnswer, upstream: Upstream) {
  const is_anthropic = route === 'anthropic' || route === 'over_anthropic'
  const { kind, native } = ROUTES[route]
  const base: Provider = is_anthropic
    ? anthropic({ api_key: 'sk', upstream, clock })
    : openaiCompatible({ base_url: 'http://u/v1', api_key: 'sk', upstream, responses: native })
  if (kind !== 'responses') return { provider: base, conversation: undefined }
  const asking = { surface: 'v1', project_id: 'p', now: 0, mayUse: () => true } as const
  const conversation = await readConversation(ASKED.responses, NO_CHAINS, asking)
  if (route === 'chained')
    return { provider: chainedAnswer(base, { previous_response_id: 'resp_before' }), conversation }
  return { provider: native ? base : responsesOverChat(base, conversation, 'max_tokens'), conversation }
}

async function whole(upstream: ProviderAnswer, { route }: HostileAnswer, readers: Readers) {
  const bytes = await upstream.whole()
  try {
    const tokens = await readers.tokensOf({ kind: ROUTES[route].kind, input_estimate: INPUT_ESTIMATE }, bytes)
    return { tokens, bytes }
  } catch (error) {
    wordsOfAnswer(bytes)
    throw error
  }
}

async function streamed(upstream: ProviderAnswer, { route }: HostileAnswer, readers: Readers) {
  const frames = sseFrames({ kind: ROUTES[route].kind, drop_usage: true })
  const parts: Buffer[] = []
  try {
    const opened = await openStream(upstream, frames, NEVER)
    const last = await opened.forward((part) => void parts.push(part))
    if (last) parts.push(last)
  } catch (error) {
    if (frames.failed()) wordsIn(frames.error())
    throw error
  }
  const asked = { kind: ROUTES[route].kind, input_estimate: INPUT_ESTIMATE }
  return { tokens: readers.streamedTokens(asked, frames), bytes: Buffer.concat(parts) }
}

/** One connection without a socket: its bytes come when they are taken. */
class Wire implements Upstream {
  readonly #answer: HostileAnswer
  #resume: (() => void) | undefined
  #is_paused = false
  #is_over = false
  is_kept = false

  constructor(answer: HostileAnswer) {
    this.#answer = answer
  }

  send: Upstream['send'] = ({ body }, signal) =>
    new Promise((resolve, reject) => {
      new Exchange(this.#pool(), { head: '', body, timeouts }, signal, { resolve, reject }).begin()
    })

  retire(): void {}
  async close(): Promise<void> {}

  #pool(): Connections {
    const socket = {
      writableLength: 0,
      write: () => true,
      cork() {},
      uncork() {},
      pause: () => {
        this.#is_paused = true
      },
      resume: () => {
        this.#is_paused = false
        this.#resume?.()
      },
    }
    const pool = {
      take: (waiter: Waiter) => {
        const connection = { socket, holder: undefined, idle_timer: undefined, idle_ms: 0 } as unknown as Connection
        queueMicrotask(() => {
          waiter.ready(connection)
          void this.#feed(connection)
        })
      },
      leave() {},
      give: (_: Connection, keep_ms: number) => {
        this.#is_over = true
        this.is_kept = keep_ms > 0
        this.#resume?.()
      },
    }
    return pool as unknown as Connections
  }

  async #feed({ holder }: Connection): Promise<void> {
    for (const piece of this.#answer.pieces) {
      while (this.#is_paused && !this.#is_over)
        await new Promise<void>((resolve) => {
          this.#resume = resolve
        })
      if (this.#is_over) return
      holder?.bytes(piece)
    }
    if (!this.#is_over) holder?.closed(undefined)
  }
}

const COUNT_MAX = 2_000_000_000 // what is cached and what is written may stand beside the input

/** What is wrong with what was read; undefined where nothing is. */
export function judged({ body, closes }: HostileAnswer, outcome: Read): string | undefined {
  if (outcome.kind !== 'answer') return undefined
  const { tokens, micros, is_kept } = outcome
  const { input, cached, written, output, reasoning, estimated } = tokens
  for (const [name, count] of Object.entries({ input, cached, written, output, reasoning }))
    if (!Number.isInteger(count) || count < 0 || count > COUNT_MAX) return `${name} of ${count} tokens`
  if (!Number.isSafeInteger(micros) || micros < 0) return `a charge of ${micros}`
  if (estimated && (input !== INPUT_ESTIMATE || output > 2 * body.length)) return `${output} of ${body.length} bytes`
  if (is_kept && closes) return 'a connection was kept that had been closed'
  return undefined
}
