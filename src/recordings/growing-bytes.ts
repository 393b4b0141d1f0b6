// Bytes that are copied together as they come. What is kept for a while must not keep the buffers it came in: each
// would outlive the collector's young generation, and a thousand small ones cost more than their bytes. What there is
// room for is asked of the room that all recordings share.
import type { Share } from './recording-room.ts'

const SMALLEST_BYTES = 4 * 1_024

export class GrowingBytes {
  readonly #room: Share
  readonly #project_id: string
  #buffer = Buffer.alloc(0)
  used = 0

  constructor(room: Share, project_id: string) {
    this.#room = room
    this.#project_id = project_id
  }

  /** False where there is no room for so many more; then nothing has changed. */
  reserve(bytes: number): boolean {
    const [needed, present] = [this.used + bytes, this.#buffer.length]
    if (needed <= present) return true
    const capacity = Math.max(needed, 2 * present, SMALLEST_BYTES)
    if (!this.#room.take(this.#project_id, capacity - present)) return false
    const larger = Buffer.allocUnsafeSlow(capacity)
    this.#buffer.copy(larger, 0, 0, this.used)
    this.#buffer = larger
    return true
  }

  /** After `reserve`. */
  append(bytes: Uint8Array): void {
    this.#buffer.set(bytes, this.used)
    this.used += bytes.length
  }

  bytes(from = 0, to = this.used): Buffer {
    return this.#buffer.subarray(from, to)
  }

  /** A second time changes nothing. */
  letGo(): void {
    this.#room.giveBack(this.#project_id, this.#buffer.length)
    this.#buffer = Buffer.alloc(0)
    this.used = 0
  }
}
