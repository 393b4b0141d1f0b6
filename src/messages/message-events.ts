// A chat stream told as the events of a message, as it arrives (R81): message_start, each block with its beginning, its
// pieces and its end, message_delta with the reason and the usage, message_stop.
import { type ChatChunk, chatChunks, type LargeChunk, readLarge } from '../responses/chat-chunks.ts'
import { isObject, type Json } from './chat-blocks.ts'
import { messageId, messageUsage, stopReason } from './message-from-chat.ts'

const NOTHING = Buffer.alloc(0)
/** A block for each; nobody calls more at once. */
const BLOCKS_MAX = 1_024

type Kind = 'text' | 'thinking' | 'tool_use'

export class MessageEvents {
  readonly #chunks = chatChunks()
  #pending = ''
  #is_begun = false
  #is_over = false
  #block: { kind: Kind; call: unknown } | undefined
  #blocks = 0
  #finish_reason: unknown
  #has_refused = false
  #usage: unknown
  /** A large chunk, and what came behind it. */
  #waiting: readonly ChatChunk[] = []

  /** The events that these bytes complete; often none. */
  push(part: Buffer): Buffer {
    this.#takeAll(this.#chunks.push(part))
    return this.#taken()
  }

  /** R77: the events of a chunk that was too large to be read at once; undefined where there was none. */
  late(): Promise<Buffer> | undefined {
    return this.#waiting.length > 0 ? this.#takeWaiting() : undefined
  }

  /** At the upstream's clean end. */
  end(): Buffer {
    this.#takeAll(this.#chunks.end())
    if (!this.#is_over) this.#fail('The upstream ended in the middle of its answer.')
    return this.#taken()
  }

  async #takeWaiting(): Promise<Buffer> {
    while (this.#waiting.length > 0) {
      const [large, ...behind] = this.#waiting as readonly [LargeChunk, ...ChatChunk[]]
      this.#waiting = []
      this.#takeAll([await readLarge(large), ...behind])
    }
    return this.#taken()
  }

  #takeAll(found: readonly ChatChunk[]): void {
    for (const [at, each] of found.entries()) {
      if (this.#is_over) return
      if (each.kind === 'large') {
        this.#waiting = found.slice(at)
        return
      }
      if (each.kind === 'chunk') this.#takeChunk(each.chunk)
      else if (each.kind === 'done') this.#finish()
      else this.#fail(each.error.message)
    }
  }

  #takeChunk(chunk: Json): void {
    this.#begin(chunk)
    if (isObject(chunk.usage)) this.#usage = chunk.usage
    for (const choice of Array.isArray(chunk.choices) ? chunk.choices : []) {
      if (!isObject(choice) || (choice.index ?? 0) !== 0) continue
      if (isObject(choice.delta)) this.#takeDelta(choice.delta)
      this.#finish_reason = choice.finish_reason ?? this.#finish_reason
    }
  }

  #begin({ id, model }: Json): void {
    if (this.#is_begun) return
    this.#is_begun = true
    const usage = { input_tokens: 0, output_tokens: 0 } // told at the end, as chat does
    const head = { id: messageId(id), type: 'message', role: 'assistant', model, content: [] }
    this.#emit('message_start', { message: { ...head, stop_reason: null, stop_sequence: null, usage } })
  }

  #takeDelta({ content, refusal, reasoning_content, reasoning, tool_calls }: Json): void {
    const thought = textIn(reasoning_content) || textIn(reasoning)
    if (thought) this.#say('thinking', { type: 'thinking_delta', thinking: thought })
    const text = textIn(content) || textIn(refusal)
    if (textIn(refusal)) this.#has_refused = true
    if (text) this.#say('text', { type: 'text_delta', text })
    for (const call of Array.isArray(tool_calls) ? tool_calls : []) if (isObject(call)) this.#takeCall(call)
  }

  #say(kind: Kind, delta: Json): void {
    if (this.#block?.kind !== kind)
      this.#open(kind, kind === 'text' ? { type: kind, text: '' } : { type: kind, thinking: '', signature: '' })
    this.#emit('content_block_delta', { index: this.#blocks - 1, delta })
  }

  /** Calls come one after the other; one that goes on after another has begun cannot be told. */
  #takeCall({ index = 0, id, function: called }: Json): void {
    const { name, arguments: text } = isObject(called) ? called : ({} as Json)
    const is_new = this.#block?.kind !== 'tool_use' || this.#block.call !== index
    if (is_new) {
      if (typeof name === 'string' && name !== '')
        this.#open('tool_use', { type: 'tool_use', id: id ?? `toolu_${this.#blocks}`, name, input: {} }, index)
      else this.#fail('The upstream mixed the calls of its tools.')
    }
    if (typeof text === 'string' && text !== '')
      this.#emit('content_block_delta', {
        index: this.#blocks - 1,
        delta: { type: 'input_json_delta', partial_json: text },
      })
  }

  #open(kind: Kind, content_block: Json, call?: unknown): void {
    this.#close()
    if (this.#blocks >= BLOCKS_MAX) this.#fail('The upstream made more calls than can be told.')
    this.#block = { kind, call }
    this.#emit('content_block_start', { index: this.#blocks++, content_block })
  }

  #close(): void {
    if (this.#block) this.#emit('content_block_stop', { index: this.#blocks - 1 })
    this.#block = undefined
  }

  #finish(): void {
    this.#begin({})
    this.#close()
    const stop_reason = this.#has_refused ? 'refusal' : stopReason(this.#finish_reason)
    this.#emit('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: messageUsage(this.#usage) })
    this.#emit('message_stop', {})
    this.#is_over = true
  }

  #fail(message: string): void {
    if (this.#is_over) return
    this.#emit('error', { error: { type: 'api_error', message } })
    this.#is_over = true
  }

  #emit(type: string, fields: Json): void {
    if (this.#is_over) return
    const rest = JSON.stringify(fields).slice(1)
    this.#pending += `event: ${type}\ndata: {"type":"${type}"${rest === '}' ? '' : ','}${rest}\n\n`
  }

  #taken(): Buffer {
    const events = this.#pending === '' ? NOTHING : Buffer.from(this.#pending)
    this.#pending = ''
    return events
  }
}

const textIn = (value: unknown) => (typeof value === 'string' ? value : '')
