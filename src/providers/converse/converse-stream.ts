// From ConverseStream's messages to chat completion chunks: role first, then text, thoughts and fragments of tool calls
// as they come, the reason it ended, the usage where it was asked for, and [DONE].
import { BeyondBudget, BUDGETS, jsonWithin, smallJsonOrNone } from '../../core/foreign.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { toChatError } from '../anthropic/anthropic-response.ts'
import { CallsByBlock, type ToolCall } from '../anthropic/anthropic-stream-calls.ts'
import { type EventMessage, EventStreamError, EventStreamReader } from '../platforms/aws-event-stream.ts'
import { bedrockError, statusOf } from '../platforms/bedrock-errors.ts'
import { UpstreamError } from '../provider.ts'
import type { AnswerNames } from './converse-answer.ts'
import { type ConverseUsage, finishOf, usageOf } from './converse-shapes.ts'

interface Telling {
  names: AnswerNames
  wants_usage: boolean
  one_call: boolean
}

/** One of the parts of an event, by the type that its header tells. */
interface Event {
  contentBlockIndex?: number
  start?: { toolUse?: { toolUseId?: string; name?: string } }
  delta?: { text?: string; toolUse?: { input?: string }; reasoningContent?: { text?: string } }
  stopReason?: string
  usage?: ConverseUsage
}

export class ConverseChunks {
  readonly #reader = new EventStreamReader(BUDGETS.event.bytes) // R77
  readonly #calls = new CallsByBlock()
  readonly #base: object
  readonly #wants_usage: boolean
  readonly #calls_max: number
  #has_stopped = false
  #is_done = false

  constructor({ names: { id, model, created }, wants_usage, one_call }: Telling) {
    this.#base = { id, object: 'chat.completion.chunk', created, model }
    this.#wants_usage = wants_usage
    this.#calls_max = one_call ? 1 : Number.POSITIVE_INFINITY
  }

  /** The chunks that these bytes complete; often none. A promise where an event takes long to be parsed. */
  take(part: Buffer): MaybePromise<Buffer> {
    try {
      return this.#taken(this.#reader.read(part), 0, '')
    } catch (error) {
      return failed(error)
    }
  }

  /** What is still to be said when all has come: a stream without an end is one that broke. */
  end(): Buffer {
    if (this.#is_done) return Buffer.alloc(0)
    if (this.#has_stopped && !this.#reader.is_amid) return Buffer.from(this.#done(undefined))
    throw new UpstreamError('reset', new Error('the event stream ended early'))
  }

  #taken(messages: readonly EventMessage[], from: number, said: string): MaybePromise<Buffer> {
    let chunks = said
    for (let at = from; at < messages.length; at++) {
      const { headers, payload } = messages[at] as EventMessage
      const kind = headers.get(':message-type')
      if (this.#is_done) break
      if (kind === 'exception' || kind === 'error') {
        chunks += this.#failure(headers, payload)
        continue
      }
      const type = headers.get(':event-type') ?? ''
      const event = jsonWithin(BUDGETS.event, payload)
      if (event instanceof Promise)
        return event.then((late) => this.#taken(messages, at + 1, chunks + this.#chunksOf(type, late))).catch(failed)
      chunks += this.#chunksOf(type, event)
    }
    return Buffer.from(chunks)
  }

  #chunksOf(type: string, told: unknown): string {
    const event = (told ?? {}) as Event
    switch (type) {
      case 'messageStart':
        return this.#delta({ role: 'assistant', content: '', refusal: null })
      case 'contentBlockStart':
        return this.#blockStart(event)
      case 'contentBlockDelta':
        return this.#blockDelta(event)
      case 'contentBlockStop':
        return this.#blockStop(event)
      case 'messageStop':
        this.#has_stopped = true
        return this.#delta({}, finishOf(event.stopReason))
      case 'metadata':
        return this.#has_stopped ? this.#done(event.usage) : ''
      default:
        return '' // a sign of life, and whatever will be added
    }
  }

  #blockStart({ contentBlockIndex = 0, start }: Event): string {
    const called = start?.toolUse
    if (!called || this.#calls.size >= this.#calls_max) return ''
    const call = this.#calls.begin(contentBlockIndex, false)
    const named = { name: called.name, arguments: '' }
    return this.#delta({
      tool_calls: [{ index: call.index, id: called.toolUseId, type: 'function', function: named }],
    })
  }

  #blockDelta({ contentBlockIndex = 0, delta }: Event): string {
    if (delta?.text) return this.#delta({ content: delta.text })
    if (delta?.reasoningContent?.text) return this.#delta({ reasoning_content: delta.reasoningContent.text })
    const call = this.#calls.find(contentBlockIndex)
    return call && delta?.toolUse?.input ? this.#arguments(call, delta.toolUse.input) : ''
  }

  /** A call without input sends no fragment at all, where chat promises a JSON object. */
  #blockStop({ contentBlockIndex = 0 }: Event): string {
    const call = this.#calls.find(contentBlockIndex)
    return call && !call.has_arguments ? this.#arguments(call, '{}') : ''
  }

  #arguments(call: ToolCall, fragment: string): string {
    call.has_arguments = true
    return this.#delta({ tool_calls: [{ index: call.index, function: { arguments: fragment } }] })
  }

  #failure(headers: EventMessage['headers'], payload: Buffer): string {
    this.#is_done = true
    const exception = headers.get(':exception-type') ?? headers.get(':error-code') ?? ''
    const status = statusOf(exception, 500)
    const said = smallJsonOrNone(BUDGETS.envelope, payload) ?? { message: headers.get(':error-message') }
    return `data: ${JSON.stringify(toChatError(bedrockError(exception, status, said), status))}\n\n`
  }

  #done(usage: ConverseUsage | undefined): string {
    this.#is_done = true
    const told = usageOf(usage)
    return `${this.#wants_usage && told ? this.#chunk([], told) : ''}data: [DONE]\n\n`
  }

  #delta(delta: Record<string, unknown>, finish_reason: string | null = null): string {
    return this.#chunk([{ index: 0, delta, logprobs: null, finish_reason }], null)
  }

  #chunk(choices: unknown[], usage: unknown): string {
    return `data: ${JSON.stringify({ ...this.#base, choices, ...(this.#wants_usage && { usage }) })}\n\n`
  }
}

/** An upstream that does not keep to its own protocol has failed us like one that hangs up. */
export function failed(error: unknown): never {
  if (error instanceof UpstreamError) throw error
  if (error instanceof BeyondBudget) throw new UpstreamError('too_many_parts', error)
  throw new UpstreamError(error instanceof EventStreamError && error.is_too_large ? 'too_large' : 'reset', error)
}
