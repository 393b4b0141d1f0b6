// Simulated clusters for routing: each reads prompts one after the other at a fixed rate, and keeps blocks of them in an
// LRU. No decoding and no batching: what holds is how policies compare, not the seconds.

export const BLOCK_TOKENS = 512
export const TOKENS_PER_S = 20_480

export interface TraceRequest {
  /** When it arrives, in milliseconds. */
  timestamp: number
  input_length: number
  /** One for each block; equal ids mean an equal prompt up to there. */
  hash_ids: readonly number[]
}

/** Blocks, the least recent first. */
class BlockCache {
  readonly #blocks = new Map<number, true>()
  readonly #capacity: number

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** How many blocks of the prompt's beginning are here. */
  match(hash_ids: readonly number[]): number {
    let blocks = 0
    for (const id of hash_ids) {
      if (!this.#blocks.has(id)) break
      blocks++
    }
    return blocks
  }

  /** The end first, so that the beginning is the last to go. */
  put(hash_ids: readonly number[]): void {
    for (const id of hash_ids.toReversed()) {
      this.#blocks.delete(id)
      this.#blocks.set(id, true)
    }
    for (const id of this.#blocks.keys()) {
      if (this.#blocks.size <= this.#capacity) break
      this.#blocks.delete(id)
    }
  }

  clear(): void {
    this.#blocks.clear()
  }
}

export class SimulatedCluster {
  readonly #cache: BlockCache
  /** When it has read all that was sent to it. */
  free_at_ms = 0
  tokens = 0
  /** When the first token of each comes, for those that are not there yet. */
  readonly waiting: number[] = []

  constructor(cache_tokens: number) {
    this.#cache = new BlockCache(Math.floor(cache_tokens / BLOCK_TOKENS))
  }

  /** When its first token comes, and how much of it was there. */
  take({ input_length, hash_ids }: TraceRequest, now_ms: number): { first_token_ms: number; cached: number } {
    const cached = Math.min(this.#cache.match(hash_ids) * BLOCK_TOKENS, input_length)
    const work_ms = ((input_length - cached) / TOKENS_PER_S) * 1_000
    this.free_at_ms = Math.max(now_ms, this.free_at_ms) + work_ms
    this.tokens += input_length
    this.#cache.put(hash_ids)
    this.waiting.push(this.free_at_ms)
    return { first_token_ms: this.free_at_ms, cached }
  }

  /** How many have not had their first token yet. */
  running(now_ms: number): number {
    while (this.waiting.length > 0 && (this.waiting[0] as number) <= now_ms) this.waiting.shift()
    return this.waiting.length
  }

  restart(): void {
    this.#cache.clear()
  }
}
