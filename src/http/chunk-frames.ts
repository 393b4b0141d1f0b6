// A chunk of a streamed answer, written in one piece (RFC 9112 §7.1). Node writes each as four: its size, a line break,
// the bytes, a line break. For an event of a hundred bytes that costs more than all else that is done with it.
import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { drained } from '../core/drained.ts'

const COPY_MAX_BYTES = 16 * 1024 // larger ones are not worth a copy
const [CR, LF] = [13, 10]

/**
 * Where chunks may go by themselves: onto the connection, once the head has left and the answer has its turn on it.
 * Undefined for HTTP/1.0, which has none, and behind an answer that the same client asked for before.
 */
function wireOf(response: ServerResponse): Socket | undefined {
  const { socket, chunkedEncoding } = response
  return chunkedEncoding && socket instanceof Socket && !socket.destroyed ? socket : undefined
}

export class ChunkFrames {
  readonly #response: ServerResponse
  #has_begun = false

  constructor(response: ServerResponse) {
    this.#response = response
  }

  /** A promise where the client reads slower than it is written to; it also ends when the client leaves. */
  write(part: Buffer): void | Promise<void> {
    const response = this.#response
    if (part.length === 0) return undefined
    const wire = this.#has_begun && part.length <= COPY_MAX_BYTES ? wireOf(response) : undefined
    this.#has_begun = true // the head leaves with the first chunk
    if (wire) return wire.write(framed(part)) ? undefined : drained(wire, response)
    return response.write(part) ? undefined : drained(response)
  }
}

/** An empty one would be the end of the answer. */
export function framed(part: Buffer): Buffer {
  const size = part.length.toString(16)
  const frame = Buffer.allocUnsafe(size.length + part.length + 4)
  const at = frame.write(size, 'latin1')
  frame[at] = CR
  frame[at + 1] = LF
  frame.set(part, at + 2)
  frame[frame.length - 2] = CR
  frame[frame.length - 1] = LF
  return frame
}
