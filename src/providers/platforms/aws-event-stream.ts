// AWS's binary event stream (vnd.amazon.eventstream): messages with typed headers and a payload, each under two
// checksums. Read in whatever pieces it comes, within bounds.
import { crc32 } from 'node:zlib'
import { GatheredParts } from '../../core/gathered-parts.ts'

const PRELUDE_BYTES = 12 // both lengths, and their checksum
const CHECKSUM_BYTES = 4
const HEADERS_MAX_BYTES = 128 * 1024 // by its specification

export interface EventMessage {
  headers: ReadonlyMap<string, string>
  payload: Buffer
}

/** It does not keep to the format, or says more in one message than is read. */
export class EventStreamError extends Error {
  override readonly name = 'EventStreamError'
  readonly is_too_large: boolean

  constructor(message: string, is_too_large = false) {
    super(message)
    this.is_too_large = is_too_large
  }
}

export class EventStreamReader {
  readonly #message_max: number
  readonly #rest = new GatheredParts()
  #wanted = PRELUDE_BYTES

  constructor(message_max_bytes: number) {
    this.#message_max = message_max_bytes
  }

  /** The messages that these bytes complete; often none. */
  read(bytes: Buffer): EventMessage[] {
    this.#rest.add(bytes)
    if (this.#rest.bytes < this.#wanted) return []
    let held = Buffer.concat(this.#rest.take())
    const messages: EventMessage[] = []
    for (;;) {
      this.#wanted = PRELUDE_BYTES
      if (held.length < PRELUDE_BYTES) break
      const total = this.#lengthOf(held)
      this.#wanted = total
      if (held.length < total) break
      messages.push(messageIn(held.subarray(0, total)))
      held = held.subarray(total)
    }
    if (held.length > 0) this.#rest.add(held)
    return messages
  }

  /** Whether a message has begun and not ended. */
  get is_amid(): boolean {
    return this.#rest.bytes > 0
  }

  /** The prelude is checked before its lengths are believed. */
  #lengthOf(held: Buffer): number {
    if (crc32(held.subarray(0, 8)) !== held.readUInt32BE(8))
      throw new EventStreamError('a prelude with a wrong checksum')
    const total = held.readUInt32BE(0)
    const headers = held.readUInt32BE(4)
    if (total > this.#message_max) throw new EventStreamError(`a message of ${total} bytes`, true)
    if (headers > HEADERS_MAX_BYTES || PRELUDE_BYTES + headers + CHECKSUM_BYTES > total)
      throw new EventStreamError('lengths that cannot be')
    return total
  }
}

function messageIn(bytes: Buffer): EventMessage {
  const end = bytes.length - CHECKSUM_BYTES
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end))
    throw new EventStreamError('a message with a wrong checksum')
  const headers_end = PRELUDE_BYTES + bytes.readUInt32BE(4)
  return { headers: headersIn(bytes.subarray(PRELUDE_BYTES, headers_end)), payload: bytes.subarray(headers_end, end) }
}

/** How long a value of each type is; -1: its length stands before it. By number: booleans, integers, bytes, text, … */
const VALUE_BYTES = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16]
const TEXT = 7

/** Texts alone are of use here; values of the other types are passed over. */
function headersIn(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  let at = 0
  while (at < bytes.length) {
    const name_end = at + 1 + (bytes[at] as number)
    const type = bytes[name_end]
    const fixed = type === undefined ? undefined : VALUE_BYTES[type]
    if (type === undefined || fixed === undefined) throw new EventStreamError('a header of no known type')
    const value = fixed === -1 ? name_end + 3 : name_end + 1
    if (fixed === -1 && value > bytes.length) throw new EventStreamError('a header that is cut')
    const end = value + (fixed === -1 ? bytes.readUInt16BE(name_end + 1) : fixed)
    if (end > bytes.length) throw new EventStreamError('a header that is cut')
    if (type === TEXT) headers.set(bytes.toString('utf8', at + 1, name_end), bytes.toString('utf8', value, end))
    at = end
  }
  return headers
}
