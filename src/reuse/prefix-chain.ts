// Repeated work, measured without keeping any of it: a request's prompt as a chain of keyed hashes, one at each message
// boundary. Two requests that share a prefix share the hashes up to where they part; nobody can tell what was said.
import { createHash, createHmac, hash } from 'node:crypto'

export interface Link {
  hash: string
  /** How much prompt lies up to here, estimated. */
  tokens: number
}

const BYTES_PER_TOKEN = 4
const LONG = 8_192 // characters
const LINKS_MAX = 512 // the longest conversations are followed this far

type Fields = Readonly<Record<string, unknown>>

/** Where all chains of a project for a model begin. Without the project's key, nobody can tell what a hash is of. */
export const chainRoot = (tenant_key: Uint8Array, model: string) =>
  createHmac('sha256', tenant_key).update(`v1|${model}`).digest('base64url')

/** Keys stay in the order received: providers match the rendered prompt, and sorting would hide a real cache break. */
export function prefixChain(root: string, json: Fields): Link[] {
  let last = root
  let bytes = 0
  const links: Link[] = []
  for (const unit of units(json)) {
    const text_bytes = Buffer.byteLength(unit.text)
    bytes += Buffer.byteLength(unit.head) + text_bytes
    last = linkAfter(last, unit, text_bytes)
    links.push({ hash: last.slice(0, 22), tokens: Math.ceil(bytes / BYTES_PER_TOKEN) })
    if (links.length === LINKS_MAX) break
  }
  return links
}

/** A tool list, or a message. In two parts, for a long text is not to be copied behind its head. */
interface Unit {
  head: string
  text: string
}

function linkAfter(last: string, { head, text }: Unit, text_bytes: number): string {
  if (text.length < LONG) return hash('sha256', last + head + text, 'base64url')
  // As it lies in memory: to write it down as UTF-8 takes longer than to hash it.
  const encoding = text_bytes === text.length ? 'latin1' : 'utf16le'
  return createHash('sha256').update(`${last}${encoding} ${head}`).update(text, encoding).digest('base64url')
}

/** What a provider's cache sees, in its order: tools, instructions, then message by message. Not how it is sampled. */
function units({ tools, instructions, messages, input, prompt }: Fields): Unit[] {
  const found: Unit[] = []
  if (tools !== undefined) found.push({ head: 'tools ', text: JSON.stringify(tools) })
  if (typeof instructions === 'string') found.push({ head: 'instructions ', text: instructions })
  for (const message of [messages ?? input ?? prompt ?? []].flat()) found.push(unitOf(message))
  return found
}

/** "text" and [{type: "text", text: "text"}] are the same prompt. */
function unitOf(message: unknown): Unit {
  if (typeof message !== 'object' || message === null) return { head: '', text: String(message) }
  const { content, ...rest } = message as { content?: unknown; role?: unknown }
  if (typeof content === 'string' && typeof rest.role === 'string' && Object.keys(rest).length === 1)
    return { head: `${rest.role} `, text: content } // most messages: they need not be written out as JSON
  const [only] = Array.isArray(content) && content.length === 1 ? content : []
  const text = (only as { type?: unknown; text?: unknown } | undefined)?.text
  if (typeof text === 'string') return unitOf({ ...rest, content: text })
  return { head: '', text: JSON.stringify({ ...rest, content }) }
}
