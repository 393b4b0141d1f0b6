// The blocks of Messages as what chat has for them (R81). What chat cannot say is refused, by its place.
import { Refusal } from '../core/refusal.ts'
import { BLOCK_FIELDS } from './chat-fields.ts'
import { isSigned } from './message-content.ts'

export type Json = Readonly<Record<string, unknown>>
export type ChatMessage = Record<string, unknown> & { role: string }

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const cannotSay = (at: string, why: string) =>
  new Refusal('invalid_request', `'${at}' cannot be said to the upstream of this model, which speaks chat: ${why}.`)

export const wrong = (at: string, must: string) => new Refusal('invalid_request', `'${at}' must ${must}.`)

/** A string, or a list of blocks. */
export function blocksIn(content: unknown, at: string): readonly Json[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw wrong(at, 'be a string or an array of blocks')
  for (const [index, block] of content.entries()) {
    if (!isObject(block) || typeof block.type !== 'string') throw wrong(`${at}[${index}]`, 'be a block with a type')
    checkFields(block, `${at}[${index}]`)
  }
  return content
}

/** Of a block that can be said, each field can; others are refused as a whole. */
function checkFields(block: Json, at: string): void {
  const fields = BLOCK_FIELDS[String(block.type)]
  if (!fields) return
  for (const [name, value] of Object.entries(block)) {
    if (name === 'type' || saysNothing(value)) continue
    if ((fields[name]?.fate ?? 'refused') === 'refused') throw cannotSay(`${at}.${name}`, 'it has no such field')
  }
}

const saysNothing = (value: unknown) =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (isObject(value) && (value.enabled === false || value.type === 'direct'))

/** One part where it is text alone: most upstreams know strings better than parts. */
export function contentOf(parts: readonly Json[]): unknown {
  return parts.every(({ type }) => type === 'text') ? parts.map(({ text }) => text).join('\n\n') : parts
}

/** What a person says, and what tools bring: text, images, documents. */
export function partsOf(block: Json, at: string): Json[] {
  switch (block.type) {
    case 'text':
      if (typeof block.text !== 'string') throw wrong(`${at}.text`, 'be a string')
      return [{ type: 'text', text: block.text }]
    case 'image':
      return [{ type: 'image_url', image_url: { url: imageUrl(block.source, `${at}.source`) } }]
    case 'document':
      return documentParts(block, `${at}.source`)
    default:
      throw cannotSay(at, `it has no '${block.type}' blocks`)
  }
}

function imageUrl(source: unknown, at: string): string {
  const { type, media_type, data, url } = isObject(source) ? source : ({} as Json)
  if (type === 'base64' && typeof data === 'string') return `data:${media_type};base64,${data}`
  if (type === 'url' && typeof url === 'string') return url
  throw cannotSay(at, "an image is 'base64' or a 'url'")
}

function documentParts({ source, title, context }: Json, at: string): Json[] {
  const { type, media_type, data, content } = isObject(source) ? source : ({} as Json)
  const told = [title, context].filter((one) => typeof one === 'string')
  if (type === 'base64' && typeof data === 'string') {
    const filename = typeof title === 'string' ? title : 'document.pdf'
    const file = { type: 'file', file: { filename, file_data: `data:${media_type};base64,${data}` } }
    return typeof context === 'string' ? [{ type: 'text', text: context }, file] : [file]
  }
  if (type === 'text' && typeof data === 'string') return [{ type: 'text', text: [...told, data].join('\n\n') }]
  if (type !== 'content') throw cannotSay(at, "a document is 'base64', 'text' or 'content'")
  const parts = blocksIn(content, `${at}.content`).flatMap((one, n) => partsOf(one, `${at}.content[${n}]`))
  return told.length > 0 ? [{ type: 'text', text: told.join('\n\n') }, ...parts] : parts
}

/** A turn of the user: what tools brought first, since chat wants it behind the calls, then what was said. */
export function userMessages(blocks: readonly Json[], at: string): ChatMessage[] {
  const results: ChatMessage[] = []
  const said: Json[] = []
  for (const [index, block] of blocks.entries()) {
    const place = `${at}[${index}]`
    if (block.type !== 'tool_result') {
      said.push(...partsOf(block, place))
      continue
    }
    const { message, beside } = toolResult(block, place)
    results.push(message)
    said.push(...beside)
  }
  return said.length > 0 ? [...results, { role: 'user', content: contentOf(said) }] : results
}

/** Chat has text alone there: what else a tool brought goes beside it, named. */
function toolResult({ tool_use_id, content = [], is_error }: Json, at: string) {
  if (typeof tool_use_id !== 'string') throw wrong(`${at}.tool_use_id`, 'be a string')
  const parts = blocksIn(content, `${at}.content`).flatMap((one, n) => partsOf(one, `${at}.content[${n}]`))
  const text = parts.flatMap((part) => (part.type === 'text' ? [String(part.text)] : []))
  const others = parts.filter((part) => part.type !== 'text')
  const beside: Json[] =
    others.length > 0 ? [{ type: 'text', text: `From the tool call ${tool_use_id}:` }, ...others] : []
  const told = others.length > 0 ? [...text, '(What it brought beside text follows.)'] : text
  const failed = is_error === true && !/^error/i.test(text[0] ?? '') ? 'Error: ' : ''
  const message: ChatMessage = { role: 'tool', tool_call_id: tool_use_id, content: `${failed}${told.join('\n\n')}` }
  return { message, beside }
}

/** A turn of the assistant: its text, its calls, and what it thought where nobody signed that. */
export function assistantMessage(blocks: readonly Json[], at: string): ChatMessage {
  const text: string[] = []
  const thoughts: string[] = []
  const tool_calls: Json[] = []
  for (const [index, block] of blocks.entries()) {
    const place = `${at}[${index}]`
    if (block.type === 'tool_use') tool_calls.push(toolCall(block, place))
    else if (isSigned(block.type, block.signature))
      throw cannotSay(place, 'only its own vendor can read what it signed')
    else if (block.type === 'thinking') thoughts.push(String(block.thinking ?? ''))
    else if (block.type === 'text' && typeof block.text === 'string') text.push(block.text)
    else throw cannotSay(place, `it has no '${block.type}' blocks`)
  }
  return {
    role: 'assistant',
    content: text.length > 0 ? text.join('') : tool_calls.length > 0 ? null : '',
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join('\n\n') }),
    ...(tool_calls.length > 0 && { tool_calls }),
  }
}

function toolCall({ id, name, input }: Json, at: string): Json {
  if (typeof id !== 'string' || typeof name !== 'string') throw wrong(at, 'have an id and a name')
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } }
}
