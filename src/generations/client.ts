// The client's end of a generation: one whole answer, or a stream with money in its trailers (R41). Knows when the
// client has left, which Fastify's own hooks do not tell.
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Envelope, Refusal } from '../core/refusal.ts'
import type { Headers } from '../headers/agent-headers.ts'
import { messagesError } from '../http/messages-errors.ts'
import type { CallKind } from '../providers/provider.ts'

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

/** Whoever must know that the client has left. */
interface Leaving {
  clientLeft(): void
}

export class Client {
  /** It has gone before it had its answer. */
  left: boolean
  /** Headers are on their way, so the status can no longer be changed. */
  has_begun = false
  readonly #reply: FastifyReply
  readonly #kind: CallKind

  constructor(reply: FastifyReply, kind: CallKind, told: Leaving | undefined) {
    const { raw } = reply
    this.#reply = reply
    this.#kind = kind
    this.left = raw.destroyed // it may have gone while its key, or its hints, were looked up
    if (this.left) told?.clientLeft()
    raw.once('close', () => {
      this.left = !raw.writableFinished
      if (this.left) told?.clientLeft()
    })
  }

  send(status: number, headers: Headers, body: Buffer): void {
    if (!this.left) this.#reply.code(status).headers(headers).send(body)
  }

  /** `trailers` names what will be told at the end. */
  begin(headers: Headers, trailers: string): void {
    const { raw } = this.#reply
    this.has_begun = true
    this.#reply.hijack()
    if (this.left) return
    const trailer = raw.useChunkedEncodingByDefault && { trailer: trailers } // HTTP/1.0 has none
    raw.writeHead(200, { ...trailer, ...(this.#reply.getHeaders() as Headers), ...headers, ...STREAM_HEADERS })
  }

  /** The client is gone: there is nobody to answer. */
  forget(): void {
    this.has_begun = true
    this.#reply.hijack()
    this.#reply.raw.destroy()
  }

  /** A promise where the client reads slower than the upstream speaks; it also ends when the client leaves. */
  write(part: Buffer): void | Promise<void> {
    const { raw } = this.#reply
    return this.left || raw.write(part) ? undefined : untilDrained(raw)
  }

  end(trailers: Headers, last?: Buffer): void {
    if (this.left) return
    const { raw } = this.#reply
    raw.addTrailers(trailers)
    raw.end(last)
  }

  /** R47: an explicit error event; never a clean end that looks like the whole answer. */
  fail(refusal: Refusal, trailers: Headers = {}): void {
    if (this.left) return
    const { raw } = this.#reply
    raw.addTrailers(trailers)
    raw.end(errorEvent(this.#kind, refusal, this.#reply.request.id))
  }
}

function untilDrained(raw: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      raw.off('drain', done)
      raw.off('close', done)
      resolve()
    }
    raw.once('drain', done)
    raw.once('close', done)
  })
}
