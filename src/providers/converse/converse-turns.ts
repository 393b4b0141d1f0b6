// From chat messages to Converse's: the turns of Messages, which are the same, in other words.
import type { Block } from '../anthropic/anthropic-messages.ts'
import { toTurns, Untranslatable } from '../anthropic/anthropic-turns.ts'
import { CONVERSE_MESSAGE_FIELDS } from './converse-fields.ts'
import type { ConverseBlock, ConverseTurn } from './converse-shapes.ts'

export interface ConverseTurns {
  system: ConverseBlock[]
  messages: ConverseTurn[]
  /** Some message calls a tool, or tells what came of it. */
  has_calls: boolean
}

export function toConverseTurns(messages: unknown, left_out: Set<string>): ConverseTurns {
  checkSources(messages)
  const { system, turns } = toTurns(messages, left_out, CONVERSE_MESSAGE_FIELDS)
  const names: Names = new Map()
  return {
    system: system.flatMap((block) => {
      if (block.type !== 'text')
        throw new Untranslatable("'messages': a message of the role system must be text for this model.")
      return [{ text: block.text }, ...cachePoint(block.cache_control)]
    }),
    messages: turns.map(({ role, content }) => ({ role, content: content.flatMap((one) => blocksOf(one, names)) })),
    has_calls: turns.some(({ content }) => content.some(({ type }) => type === 'tool_use' || type === 'tool_result')),
  }
}

/** Those that are taken, each with the last number behind it: nobody counts from the first again for every one. */
type Names = Map<string, number>

function blocksOf(block: Block, names: Names): ConverseBlock[] {
  const marks = cachePoint(block.cache_control)
  if (block.type !== 'tool_result') return [contentOf(block, names), ...marks]
  const content = block.content.map((one) => contentOf(one, names))
  const inner = block.content.flatMap((one) => cachePoint(one.cache_control)).slice(0, 1)
  return [{ toolResult: { toolUseId: block.tool_use_id, content } }, ...(marks.length > 0 ? marks : inner)]
}

function contentOf(block: Block, names: Names): ConverseBlock {
  switch (block.type) {
    case 'text':
      return { text: block.text }
    case 'image': {
      const { media_type = '', data = '' } = block.source.type === 'base64' ? block.source : {}
      return { image: { format: IMAGES[media_type] ?? '', source: { bytes: data } } }
    }
    case 'document': {
      const { media_type, data } = block.source
      const name = nameFor(block.title, names)
      return { document: { format: DOCUMENTS[media_type] ?? '', name, source: { bytes: data } } }
    }
    case 'tool_use':
      return { toolUse: { toolUseId: block.id, name: block.name, input: block.input } }
    default:
      throw new Untranslatable("'messages': a result of a tool must be text, images or files for this model.")
  }
}

/** Five minutes is what it is where nothing is said; not every model knows of more. */
export function cachePoint(cache_control: unknown): ConverseBlock[] {
  if (!cache_control) return []
  const { ttl } = cache_control as { ttl?: unknown }
  return [{ cachePoint: { type: 'default', ...(typeof ttl === 'string' && ttl !== '5m' && { ttl }) } }]
}

/** Of letters, digits, blanks, hyphens and brackets, and no name twice: AWS refuses others. */
function nameFor(title: string | undefined, names: Names): string {
  const stem =
    (title ?? 'document')
      .replace(/[^A-Za-z0-9\-()[\]]+/g, ' ')
      .trim()
      .slice(0, 180) || 'document'
  let name = stem
  let count = names.get(stem) ?? 1
  while (names.has(name)) name = `${stem} (${++count})`
  names.set(name, 1)
  names.set(stem, count)
  return name
}

const IMAGES: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
}

const DOCUMENTS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/plain': 'txt',
  'text/markdown': 'md',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
}

interface Part {
  type?: unknown
  image_url?: unknown
  file?: { file_data?: unknown }
}

/** Said here, where the place of each is known. Nothing is fetched for a caller, no bucket of the account's read. */
function checkSources(messages: unknown): void {
  if (!Array.isArray(messages)) return
  for (const [index, message] of messages.entries()) {
    const content = (message as { content?: unknown } | null)?.content
    if (!Array.isArray(content)) continue
    for (const [at, part] of (content as (Part | null)[]).entries())
      checkPart(part ?? {}, `messages[${index}].content[${at}]`)
  }
}

function checkPart({ type, image_url, file }: Part, at: string): void {
  if (type === 'image_url') {
    const url = typeof image_url === 'string' ? image_url : (image_url as { url?: unknown } | null | undefined)?.url
    if (typeof url === 'string' && !IMAGES[mediaTypeOf(url)])
      throw new Untranslatable(`'${at}.image_url.url' must be a data URI of a png, jpeg, gif or webp for this model.`)
  }
  if (type === 'file' && typeof file?.file_data === 'string' && !DOCUMENTS[mediaTypeOf(file.file_data)])
    throw new Untranslatable(
      `'${at}.file.file_data' must be a data URI of a pdf, csv, html, txt, md, doc, docx, xls or xlsx for this model.`,
    )
}

const MEDIA_TYPE = /^data:([a-z]+\/[a-z0-9.+-]+);base64,/i

function mediaTypeOf(uri: string): string {
  const named = MEDIA_TYPE.exec(uri.slice(0, 200))?.[1]?.toLowerCase() ?? ''
  return named === 'image/jpg' ? 'image/jpeg' : named
}
