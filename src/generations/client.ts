// The client's end of a generation: one whole answer, or a stream with money in its trailers (R41). Knows when the
// client has left, which Fastify's own hooks do not tell.
import type { FastifyReply } from 'fastify'
import type { Envelope, Refusal } from '../core/refusal.ts'
import type { Headers } from '../headers/agent-headers.ts'
import { ChunkFrames } from '../http/chunk-frames.ts'
import { messagesError } from '../http/messages-errors.ts'
import { endWhereStalled } from '../http/unread-answers.ts'
import type { CallKind } from '../providers/provider.ts'
import type { Tape } from '../recordings/tape.ts'

/** Each protocol has its own form of saying that it went wrong. */
function errorEvent(kind: CallKind, refusal: Refusal, request_id: string): string {
  const { error }: Envelope = refusal.body
  if (kind === 'messages') return `event: error\ndata: ${JSON.stringify(messagesError(refusal, request_id).body)}\n\n`
  if (kind !== 'responses') return `data: ${JSON.stringify({ error })}\n\n`
  const { message, type, code = type } = error
  return `event: error\ndata: ${JSON.stringify({ type: 'error', code, message, param: null })}\n\n`
}

export class ClientLeft extends Error {
  override readonly name = 'ClientLeft'
}

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-store',
  'x-accel-buffering': 'no', // a proxy in front must not hold tokens back
}

const EVENTS = /^text\/event-stream\b/i

/** Whoever must know that the client has left. */
interface Leaving {
  clientLeft(): void
}

export class Client {
  /** It has gone before it had its answer. */
  left: boolean
  /** Headers are on their way, so the status can no longer be changed. */
  has_begun = false
  /** What its answer is recorded on, where it is. */
  tape: Tape | undefined = undefined
  readonly #reply: FastifyReply
  readonly #kind: CallKind
  /** Whoever asks again gets what this client does not wait for. */
  readonly #is_kept: boolean
  /** What is sent is events, behind which one may tell of a failure. */
  #has_events = true
  #frames: ChunkFrames | undefined = undefined

  constructor(reply: FastifyReply, kind: CallKind, told: Leaving | undefined) {
    const { raw } = reply
    this.#reply = reply
    this.#kind = kind
    this.#is_kept = told === undefined
    this.left = raw.destroyed // it may have gone while its key, or its hints, were looked up
    if (this.left) told?.clientLeft()
    raw.once('close', () => {
      this.left = !raw.writableFinished
      if (this.left) told?.clientLeft()
    })
  }

  send(status: number, headers: Headers, body: Buffer): void {
    this.tape?.begin(status)
    this.#record(body)
    if (!this.left) this.#reply.code(status).headers(headers).send(body)
  }

  /** `trailers` names what will be told at the end. */
  begin(headers: Headers, trailers: string): void {
    const { raw } = this.#reply
    this.has_begun = true
    this.tape?.begin(200, true)
    this.#reply.hijack()
    if (this.left) return
    const trailer = raw.useChunkedEncodingByDefault && { trailer: trailers } // HTTP/1.0 has none
    raw.writeHead(200, { ...trailer, ...(this.#reply.getHeaders() as Headers), ...STREAM_HEADERS, ...headers })
    this.#has_events = headers['content-type'] === undefined || EVENTS.test(headers['content-type'])
  }

  /** A whole answer that is not in memory. */
  async sendParts(status: number, headers: Headers, body: { bytes: number; parts(): AsyncIterable<Buffer> }) {
    const { raw } = this.#reply
    this.has_begun = true
    this.#has_events = false
    this.#reply.hijack()
    if (this.left) return
    const length = { 'content-length': String(body.bytes) }
    endWhereStalled(raw) // whoever reads nothing keeps what the answer lies in
    raw.writeHead(status, { ...(this.#reply.getHeaders() as Headers), ...headers, ...length })
    for await (const part of body.parts()) {
      if (this.left) return
      await this.write(part)
    }
    if (!this.left) raw.end()
  }

  /** The client is gone: there is nobody to answer. */
  forget(): void {
    this.has_begun = true
    this.#reply.hijack()
    this.#reply.raw.destroy()
  }

  /** A promise where the client reads slower than the upstream speaks; it also ends when the client leaves. */
  write(part: Buffer): void | Promise<void> {
    this.#record(part)
    if (this.left) return undefined
    this.#frames ??= new ChunkFrames(this.#reply.raw)
    return this.#frames.write(part)
  }

  end(trailers: Headers, last?: Buffer): void {
    if (last) this.#record(last)
    if (this.left) return
    const { raw } = this.#reply
    raw.addTrailers(trailers)
    raw.end(last)
  }

  /** R47: an explicit error event; never a clean end that looks like the whole answer. */
  fail(refusal: Refusal, trailers: Headers = {}): void {
    if (this.left) return
    const { raw } = this.#reply
    if (!this.#has_events) return void raw.destroy()
    const event = errorEvent(this.#kind, refusal, this.#reply.request.id)
    if (this.tape) this.#record(Buffer.from(event))
    raw.addTrailers(trailers)
    raw.end(event)
  }

  #record(part: Buffer): void {
    if (this.tape && (!this.left || this.#is_kept)) this.tape.add(part)
  }
}
