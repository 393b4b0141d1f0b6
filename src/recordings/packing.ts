// Recordings that are written together are compressed together: one call of a few kilobytes costs more to compress by
// itself than all else that is done for it, and calls of one agent say most of the same again.
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'
import { randomBase62 } from '../core/ids.ts'
import { GrowingBytes } from './growing-bytes.ts'
import { ALONE_BYTES, ITEM_BYTES, PACK_MAX_BYTES, type StoredEntry } from './recording.ts'
import type { RecordingRoom } from './recording-room.ts'
import type { Tape } from './tape.ts'

const PACK_ID_LENGTH = 20
export const newPackId = () => randomBase62(PACK_ID_LENGTH)

/** One that waits to be written, and where in its pack it lies. */
export interface Waiting extends StoredEntry {
  starts_at: number
}

/** What one project has to be written together. Of each call a few facts and a copy of its bytes are kept, no more. */
export class OpenPack {
  readonly id = newPackId()
  readonly project_id: string
  readonly waiting: Waiting[] = []
  /** How often it could not be written. */
  failures = 0
  readonly #room: RecordingRoom
  readonly #bytes: GrowingBytes
  #taken = 0

  constructor(room: RecordingRoom, project_id: string) {
    this.project_id = project_id
    this.#room = room
    this.#bytes = new GrowingBytes(room, project_id)
  }

  get plain_bytes(): number {
    return this.#bytes.used
  }

  get is_full(): boolean {
    return this.#bytes.used >= PACK_MAX_BYTES
  }

  takes(bytes: number): boolean {
    const [first] = this.waiting
    if (!first) return true
    const is_of_one = first.request_bytes + first.answer_bytes > ALONE_BYTES
    return !is_of_one && this.#bytes.used + bytes <= PACK_MAX_BYTES
  }

  /** Undefined where memory has no room for it. */
  add(tape: Tape, at_ms: number): Waiting | undefined {
    const { call, request, status, is_stream, answer_bytes } = tape
    const facts = { status, is_stream, at_ms, request_bytes: request.length, answer_bytes }
    return this.#addBytes({ starts_at: 0, ...facts, ...call }, [request, tape.answer()])
  }

  /** Out of another pack. */
  addFrom(other: OpenPack, one: Waiting): Waiting | undefined {
    return this.#addBytes({ ...one }, [other.bytesOf(one)])
  }

  #addBytes(one: Waiting, parts: readonly Buffer[]): Waiting | undefined {
    const bytes = one.request_bytes + one.answer_bytes
    if (!this.take(ITEM_BYTES)) return undefined
    if (!this.#bytes.reserve(bytes)) return undefined
    one.starts_at = this.#bytes.used
    for (const part of parts) this.#bytes.append(part)
    this.waiting.push(one)
    return one
  }

  /** More memory on its account. */
  take(bytes: number): boolean {
    if (!this.#room.take(this.project_id, bytes)) return false
    this.#taken += bytes
    return true
  }

  plain(): Buffer {
    return this.#bytes.bytes()
  }

  bytesOf({ starts_at, request_bytes, answer_bytes }: Waiting): Buffer {
    return this.#bytes.bytes(starts_at, starts_at + request_bytes + answer_bytes)
  }

  /** A second time changes nothing. */
  letGo(): void {
    this.#bytes.letGo()
    this.#room.giveBack(this.project_id, this.#taken)
    this.#taken = 0
  }
}

/** What is made of a pack comes in one piece: each further one would take the event loop another turn. */
const PIECE_BYTES = 128 * 1024
/** A sixth larger than by the next quality, in two thirds of its time. */
const QUICKLY = { [constants.BROTLI_PARAM_QUALITY]: 0 }

/** Both in the threads that Node has for it, so that the event loop goes on. */
export const packed = (plain: Uint8Array): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length, ...QUICKLY }
    brotliCompress(plain, { chunkSize: PIECE_BYTES, params }, (error, bytes) =>
      error ? reject(error) : resolve(bytes),
    )
  })

export const unpacked = (bytes: Uint8Array, plain_bytes: number): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    brotliDecompress(bytes, { maxOutputLength: Math.max(1, plain_bytes) }, (error, plain) =>
      error ? reject(error) : resolve(plain),
    ),
  )
