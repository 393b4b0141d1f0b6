// The blocks of a streamed message put together again, as a whole message has them.
import { textsInTurns } from '../core/json-in-text.ts'
import { isObject } from './chat-blocks.ts'

type Fields = Record<string, unknown>

/** By the type of a delta: which field of its block it adds to. */
const ADDS_TO: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
}

export class MessageJoin {
  readonly #blocks = new Map<unknown, Fields>()
  readonly #inputs = new Map<unknown, string>()

  add({ type, index, content_block, delta }: Fields): void {
    if (type === 'content_block_start') this.#blocks.set(index, isObject(content_block) ? { ...content_block } : {})
    const block = this.#blocks.get(index)
    if (type !== 'content_block_delta' || !block) return
    const said = (delta ?? {}) as Fields
    const field = ADDS_TO[String(said.type)]
    if (field) block[field] = `${block[field] ?? ''}${said[field] ?? ''}`
    else if (said.type === 'input_json_delta')
      this.#inputs.set(index, `${this.#inputs.get(index) ?? ''}${said.partial_json ?? ''}`)
  }

  async content(): Promise<Fields[]> {
    const read = textsInTurns()
    for (const [index, text] of this.#inputs) {
      const block = this.#blocks.get(index)
      if (block && text !== '') block.input = (await read(text)) ?? block.input
    }
    return [...this.#blocks.values()]
  }
}
