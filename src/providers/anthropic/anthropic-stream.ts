// From a Messages event stream to chat completion chunks: role first, then text and tool-call fragments as they come,
// the reason it ended, the usage where it was asked for, and [DONE].

import { EventReader, type ServerSentEvent } from '../../core/event-reader.ts'
import { AT_ONCE_BYTES, BUDGETS, jsonWithin } from '../../core/foreign.ts'
import { type MessageUsage, mergeUsage } from '../../messages/message-usage.ts'
import { chatId, chatUsage, finishReason, type MessageEvent } from './anthropic-messages.ts'
import { toChatError } from './anthropic-response.ts'
import { CallsByBlock, type ToolCall } from './anthropic-stream-calls.ts'

/** What every chunk repeats must be short, or an upstream could have us write a thousand times what it sends. */
const NAMES_MAX_LENGTH = 2_048

export class ChunkStream {
  readonly #created: number
  readonly #wants_usage: boolean
  readonly #reader = new EventReader()
  readonly #calls = new CallsByBlock()
  #base: { id: string; object: string; created: number; model: string } | undefined
  readonly #usage: MessageUsage = {}
  /** A large event, and what came behind it. */
  #waiting: readonly ServerSentEvent[] = []
  /** It came to an end that the upstream meant: the last event, or an error. */
  is_complete = false

  constructor(created: number, wants_usage: boolean) {
    this.#created = created
    this.#wants_usage = wants_usage
  }

  /** The chunks that these bytes complete, as bytes; often none. */
  translate(bytes: Buffer): Buffer {
    return Buffer.from(this.#take(this.#reader.read(bytes)))
  }

  /** R77: the chunks of an event that was too large to be parsed at once; undefined where there was none. */
  late(): Promise<Buffer> | undefined {
    return this.#waiting.length > 0 ? this.#takeWaiting() : undefined
  }

  #take(events: readonly ServerSentEvent[]): string {
    let chunks = ''
    for (const [at, { data }] of events.entries()) {
      if (data.length > AT_ONCE_BYTES) {
        this.#waiting = events.slice(at)
        break
      }
      chunks += this.#chunksFor(JSON.parse(data) as MessageEvent)
    }
    return chunks
  }

  async #takeWaiting(): Promise<Buffer> {
    let chunks = ''
    while (this.#waiting.length > 0) {
      const [large, ...behind] = this.#waiting as [ServerSentEvent, ...ServerSentEvent[]]
      this.#waiting = []
      chunks += this.#chunksFor((await jsonWithin(BUDGETS.event, Buffer.from(large.data))) as MessageEvent)
      chunks += this.#take(behind)
    }
    return Buffer.from(chunks)
  }

  #chunksFor(event: MessageEvent): string {
    if (this.is_complete) return ''
    switch (event.type) {
      case 'message_start': {
        const { id, model, usage } = event.message
        if (JSON.stringify([id, model]).length > NAMES_MAX_LENGTH) throw new Error('names too long to be repeated')
        this.#base = { id: chatId(id), object: 'chat.completion.chunk', created: this.#created, model }
        mergeUsage(this.#usage, usage)
        return this.#delta({ role: 'assistant', content: '', refusal: null })
      }
      case 'content_block_start':
        return this.#blockStart(event.index, event.content_block)
      case 'content_block_delta':
        return this.#blockDelta(event.index, event.delta)
      case 'content_block_stop':
        return this.#blockStop(event.index)
      case 'message_delta':
        mergeUsage(this.#usage, event.usage)
        return this.#delta({}, finishReason(event.delta.stop_reason))
      case 'message_stop':
        this.is_complete = true
        return `${this.#wants_usage ? this.#chunk([], chatUsage(this.#usage)) : ''}data: [DONE]\n\n`
      case 'error':
        this.is_complete = true
        return `data: ${JSON.stringify(toChatError(event, 500))}\n\n`
      default:
        return '' // pings, and whatever will be added
    }
  }

  #blockStart(at: number, block: { type: string; id?: string; name?: string; text?: string; input?: unknown }): string {
    if (block.type === 'text') return block.text ? this.#delta({ content: block.text }) : ''
    if (block.type !== 'tool_use') return ''
    const input = JSON.stringify(block.input ?? {})
    const has_arguments = input !== '{}'
    const call = this.#calls.begin(at, has_arguments)
    const named = { name: block.name, arguments: has_arguments ? input : '' }
    return this.#delta({ tool_calls: [{ index: call.index, id: block.id, type: 'function', function: named }] })
  }

  #blockDelta(
    at: number,
    { type, text, partial_json }: { type: string; text?: string; partial_json?: string },
  ): string {
    if (type === 'text_delta') return text ? this.#delta({ content: text }) : ''
    const call = this.#calls.find(at)
    return type === 'input_json_delta' && call && partial_json ? this.#arguments(call, partial_json) : ''
  }

  /** A call without input sends no fragment at all, where chat promises a JSON object. */
  #blockStop(at: number): string {
    const call = this.#calls.find(at)
    return call && !call.has_arguments ? this.#arguments(call, '{}') : ''
  }

  #arguments(call: ToolCall, fragment: string): string {
    call.has_arguments = true
    return this.#delta({ tool_calls: [{ index: call.index, function: { arguments: fragment } }] })
  }

  #delta(delta: Record<string, unknown>, finish_reason: string | null = null): string {
    return this.#chunk([{ index: 0, delta, logprobs: null, finish_reason }], null)
  }

  #chunk(choices: unknown[], usage: unknown): string {
    return `data: ${JSON.stringify({ ...this.#base, choices, ...(this.#wants_usage && { usage }) })}\n\n`
  }
}
