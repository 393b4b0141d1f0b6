// Bytes that wait in the parts in which they came. An upstream may send every byte as a part of its own, and each part
// costs a hundred times that; so many small ones are made into one, and every byte is copied once at most.
const MERGED_AT_PARTS = 1_024

export class GatheredParts {
  #parts: Buffer[] = []
  /** So many of them, from the first on, are made of others already. */
  #merged = 0
  bytes = 0

  add(part: Buffer): void {
    if (part.length === 0) return
    this.bytes += part.length
    if (this.#parts.push(part) - this.#merged < MERGED_AT_PARTS) return
    const small = this.#parts.splice(this.#merged)
    this.#merged = this.#parts.push(Buffer.concat(small))
  }

  /** What is there, and stays. */
  parts(): readonly Buffer[] {
    return this.#parts
  }

  /** What was there: nothing is left. */
  take(): Buffer[] {
    const parts = this.#parts
    this.#parts = []
    this.#merged = 0
    this.bytes = 0
    return parts
  }
}
