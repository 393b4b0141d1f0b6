// R77: the calls of tools in a stream that numbers its blocks, as those of Anthropic and of Converse do: chat numbers
// the calls alone.

export interface ToolCall {
  index: number
  has_arguments: boolean
}

/** They are kept until the stream ends; nobody calls more at once. */
const CALLS_MAX = 1_024

export class CallsByBlock {
  readonly #calls = new Map<unknown, ToolCall>()

  get size(): number {
    return this.#calls.size
  }

  /** Throws where the stream does not keep to its protocol: what numbers a block is kept, and may be anything. */
  begin(block: unknown, has_arguments: boolean): ToolCall {
    if (!Number.isSafeInteger(block) || (block as number) < 0) throw new Error('a call in a block without a number')
    if (this.#calls.size >= CALLS_MAX) throw new Error('more calls than can be told')
    const call = { index: this.#calls.size, has_arguments }
    this.#calls.set(block, call)
    return call
  }

  find(block: unknown): ToolCall | undefined {
    return this.#calls.get(block)
  }
}
