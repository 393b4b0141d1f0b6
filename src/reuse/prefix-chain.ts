// Repeated work, measured without keeping any of it: a request's prompt as a chain of keyed hashes, one at each message
// boundary and at fixed places inside long texts. Two requests that share a prefix share the hashes up to where they
// part; nobody can tell what was said.
import { createHash, createHmac, hash } from 'node:crypto'
import { type Piece, promptPieces } from './prompt-pieces.ts'

export interface Link {
  hash: string
  /** How much prompt lies up to here, estimated. */
  tokens: number
}

const BYTES_PER_TOKEN = 4
const LONG = 8_192 // characters
const LINKS_MAX = 512 // the longest conversations are followed this far
const CHARACTERS_MAX = 4 * 1024 * 1024 // about a million tokens: more than any model takes in
/** Between two links inside a text: at least so many characters, and an eighth of all that came before. */
const STEP_LEAST = 1_024
const STEP_SHARE = 8

type Fields = Readonly<Record<string, unknown>>

/** Where all chains of a project for a model begin. Without the project's key, nobody can tell what a hash is of. */
export const chainRoot = (tenant_key: Uint8Array, model: string) =>
  createHmac('sha256', tenant_key).update(`v2|${model}`).digest('base64url')

/** `body_bytes` is how long the request was as JSON: only of a large one need it be seen what may be walked through. */
export function prefixChain(root: string, json: Fields, body_bytes: number): Link[] {
  const chain = new Chain(root)
  promptPieces(json, body_bytes, (piece) => chain.add(piece))
  return chain.links
}

/** Where a link stands depends on what lies before it alone, so that equal beginnings have equal links. */
class Chain {
  readonly links: Link[] = []
  #last: string
  #bytes = 0
  #characters = 0

  constructor(root: string) {
    this.#last = root
  }

  /** False where nothing more is wanted. */
  add({ head, text }: Piece): boolean {
    let from = 0
    let lead = head
    for (let to = this.#next(0); to < text.length; to = this.#next(from)) {
      if (!this.#link(lead, text.slice(from, to))) return false
      lead = '+'
      from = to
    }
    return this.#link(lead, from === 0 ? text : text.slice(from))
  }

  #next(from: number): number {
    return from + Math.max(STEP_LEAST, Math.floor(this.#characters / STEP_SHARE))
  }

  #link(lead: string, text: string): boolean {
    const text_bytes = Buffer.byteLength(text)
    this.#bytes += lead.length + text_bytes
    this.#characters += text.length
    this.#last = linkAfter(this.#last, lead, text, text_bytes)
    const reached = this.links.push({
      hash: this.#last.slice(0, 22),
      tokens: Math.ceil(this.#bytes / BYTES_PER_TOKEN),
    })
    return reached < LINKS_MAX && this.#characters < CHARACTERS_MAX
  }
}

function linkAfter(last: string, lead: string, text: string, text_bytes: number): string {
  if (text.length < LONG) return hash('sha256', last + lead + text, 'base64url')
  // As it lies in memory: to write it down as UTF-8 takes longer than to hash it.
  const encoding = text_bytes === text.length ? 'latin1' : 'utf16le'
  return createHash('sha256').update(`${last}${encoding} ${lead}`).update(text, encoding).digest('base64url')
}
