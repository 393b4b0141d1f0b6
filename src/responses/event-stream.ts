// A chat stream turned into the event stream of the Responses API, as it arrives: the documented events in their order,
// each with its type twice, as the event's name and inside, and a number that counts up from 0.
import { jsonBytes } from '../core/json-writing.ts'
import { type ChatChunk, chatChunks, type LargeChunk, readLarge } from './chat-chunks.ts'
import { clientTools } from './client-tools.ts'
import { logprobsOf } from './from-chat.ts'
import type { NativeBlocks } from './native-response.ts'
import { outputItems, TOO_MUCH } from './output-items.ts'
import { endedBy, openedResponse, type ResponseIds, type ResponseObject, usageFrom } from './response-object.ts'
import { isObject, type Json, type ResponseRequest } from './response-request.ts'

export interface StreamFailure {
  message: string
  code?: string
}

export interface ResponseEvents {
  /** Takes what arrived from upstream and returns the events to send now; empty where none is due. */
  push(part: Buffer): Buffer
  /** R77: events of what was too large to be read or written at once; undefined where there is nothing. */
  late(): Promise<Buffer> | undefined
  /** At the upstream's clean end: the last event. Where the upstream had not said that it was done, a failure. */
  end(native?: NativeBlocks): Buffer
  /** Where the upstream broke off, or a deadline passed: an error event and the failed response. */
  fail(failure: StreamFailure): Buffer
  /** The response as it stands: final after `end` or `fail`. */
  response(): ResponseObject
  /** The last event was sent; nothing more will come. */
  isOver(): boolean
}

const NOTHING = Buffer.alloc(0)
const END_OF_EVENT = Buffer.from('\n\n')
const AT_ONCE_WEIGHT = 256 * 1024
const TOO_MANY: StreamFailure = { message: TOO_MUCH, code: 'upstream_error' }
const CUT_OFF: StreamFailure = { message: 'The upstream ended in the middle of its answer.', code: 'upstream_error' }

export function responseEvents(request: ResponseRequest, ids: ResponseIds): ResponseEvents {
  const chunks = chatChunks()
  let response = openedResponse(request, ids, {})
  let state: 'waiting' | 'open' | 'done' | 'over' = 'waiting'
  let finish_reason: unknown
  let sequence_number = 0
  let pending = ''
  /** A large chunk, and what came behind it. */
  let waiting: readonly ChatChunk[] = []
  /** The last events tell all of it again: where that is much, they are written in steps. */
  let closing: { head: string; fields: Json }[] | undefined

  const emit = (type: string, fields: Json) => {
    const head = `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence_number++},`
    if (closing) closing.push({ head, fields })
    // Spreading the fields into a new object costs more than writing them.
    else pending += `${head}${JSON.stringify(fields).slice(1)}\n\n`
  }
  const output = outputItems(ids.response_id, emit, clientTools(request).named)

  function taken(): Buffer {
    const events = pending === '' ? NOTHING : Buffer.from(pending)
    pending = ''
    return events
  }

  /** The frame opens with the first chunk, which knows the model that answers. */
  function open(chunk: Json): void {
    state = 'open'
    response = openedResponse(request, ids, chunk)
    emit('response.created', { response })
    emit('response.in_progress', { response })
  }

  function takeChunk(chunk: Json): void {
    if (state === 'waiting') open(chunk)
    if (isObject(chunk.usage)) response = { ...response, usage: usageFrom(chunk.usage) }
    for (const choice of Array.isArray(chunk.choices) ? chunk.choices : []) {
      if (!isObject(choice) || (choice.index ?? 0) !== 0) continue
      if (isObject(choice.delta)) output.add(choice.delta, logprobsOf(choice.logprobs))
      finish_reason = choice.finish_reason ?? finish_reason
    }
    if (output.isFull()) end({ failure: TOO_MANY })
  }

  function takeDone(): void {
    if (state === 'waiting') open({})
    closeInSteps()
    output.close(endedBy(finish_reason).status)
    state = 'done'
  }

  function closeInSteps(): void {
    if (output.weight() > AT_ONCE_WEIGHT) closing ??= []
  }

  async function writeClosing(): Promise<Buffer> {
    const parts = [taken()]
    const events = closing ?? []
    closing = []
    for (const { head, fields } of events) {
      const json = await jsonBytes(fields, Number.POSITIVE_INFINITY)
      parts.push(Buffer.from(head), json.subarray(1), END_OF_EVENT)
    }
    return Buffer.concat(parts)
  }

  function takeAll(found: readonly ChatChunk[]): void {
    for (const [at, each] of found.entries()) {
      if (state === 'done' || state === 'over') return
      if (each.kind === 'large') {
        waiting = found.slice(at)
        return
      }
      if (each.kind === 'chunk') takeChunk(each.chunk)
      else if (each.kind === 'done') takeDone()
      else end({ failure: each.error })
    }
  }

  async function takeWaiting(): Promise<Buffer> {
    while (waiting.length > 0) {
      const [large, ...behind] = waiting as readonly [LargeChunk, ...ChatChunk[]]
      waiting = []
      takeAll([await readLarge(large), ...behind])
    }
    return closing?.length ? writeClosing() : taken()
  }

  function end(how: { failure: StreamFailure } | { native: NativeBlocks | undefined }): void {
    if (state === 'over') return
    if (state === 'waiting') open({})
    closeInSteps()
    state = 'over'
    if ('failure' in how) failWith(how.failure)
    else finish(how.native)
  }

  function finish(native: NativeBlocks | undefined): void {
    response = { ...response, ...endedBy(finish_reason), output: output.items() }
    emit(`response.${response.status}`, { response: { ...response, ...native } })
  }

  function failWith({ message, code = 'server_error' }: StreamFailure): void {
    output.abandon()
    // The event's code may be any word; that of the response is one of a list.
    const error = { code: code === 'rate_limit_exceeded' ? code : 'server_error', message }
    response = { ...response, status: 'failed', error, output: output.items() }
    emit('error', { code, message, param: null })
    emit('response.failed', { response })
  }

  return {
    push(part) {
      takeAll(chunks.push(part))
      return taken()
    },
    late: () => (waiting.length > 0 ? takeWaiting() : closing?.length ? writeClosing() : undefined),
    end(native) {
      takeAll(chunks.end())
      end(state === 'done' ? { native } : { failure: CUT_OFF })
      return taken()
    },
    fail(failure) {
      end({ failure })
      return taken()
    },
    response: () => response,
    isOver: () => state === 'over',
  }
}
