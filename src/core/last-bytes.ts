// The last bytes of what comes in parts: each is copied once, however small the parts are.

export class LastBytes {
  readonly #ring: Buffer
  /** Where the next one goes. */
  #at = 0
  #is_full = false

  constructor(most: number) {
    this.#ring = Buffer.allocUnsafe(most)
  }

  add(part: Buffer): void {
    const { length } = this.#ring
    const last = part.length > length ? part.subarray(-length) : part
    const before_end = Math.min(last.length, length - this.#at)
    last.copy(this.#ring, this.#at, 0, before_end)
    last.copy(this.#ring, 0, before_end)
    if (this.#at + last.length >= length) this.#is_full = true
    this.#at = (this.#at + last.length) % length
  }

  bytes(): Buffer {
    const newest = this.#ring.subarray(0, this.#at)
    return this.#is_full ? Buffer.concat([this.#ring.subarray(this.#at), newest]) : newest
  }
}
