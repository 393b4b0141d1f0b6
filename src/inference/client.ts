// The client's end of a generation: one whole answer, or a stream with money in its trailers (R41). Knows when the
// client has left, which Fastify's own hooks do not tell.
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Envelope, Refusal } from '../core/refusal.ts'
import type { Headers } from '../headers/agent-headers.ts'
import type { CallKind } from '../providers/provider.ts'

/** Each protocol has its own form of saying that it went wrong. */
function errorEvent(kind: CallKind, { error }: Envelope): string {
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

export type Client = ReturnType<typeof clientOf>

export function clientOf(reply: FastifyReply, kind: CallKind, onLeave: () => void) {
  const { raw } = reply
  let left = raw.destroyed // it may have gone while its key, or its hints, were looked up
  let begun = false
  if (left) onLeave()
  raw.once('close', () => {
    left = !raw.writableFinished
    if (left) onLeave()
  })

  return {
    /** Headers are on their way, so the status can no longer be changed. */
    hasBegun: () => begun,

    hasLeft: () => left,

    send(status: number, headers: Headers, body: Buffer): void {
      if (!left) reply.code(status).headers(headers).send(body)
    },

    /** `trailers` names what will be told at the end. */
    begin(headers: Headers, trailers: string): void {
      begun = true
      reply.hijack()
      if (left) return
      const trailer = raw.useChunkedEncodingByDefault && { trailer: trailers } // HTTP/1.0 has none
      raw.writeHead(200, { ...trailer, ...(reply.getHeaders() as Headers), ...headers, ...STREAM_HEADERS })
    },

    /** The client is gone: there is nobody to answer. */
    forget(): void {
      begun = true
      reply.hijack()
      raw.destroy()
    },

    /** A promise where the client reads slower than the upstream speaks; it also ends when the client leaves. */
    write(part: Buffer): void | Promise<void> {
      return left || raw.write(part) ? undefined : untilDrained(raw)
    },

    end(trailers: Headers, last?: Buffer): void {
      if (left) return
      raw.addTrailers(trailers)
      raw.end(last)
    },

    /** R47: an explicit error event; never a clean end that looks like the whole answer. */
    fail({ body }: Refusal, trailers: Headers = {}): void {
      if (left) return
      raw.addTrailers(trailers)
      raw.end(errorEvent(kind, body))
    },
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
