// What a Messages request has beside its text (R43, R76, R81): images and files, caches for an hour, thinking that
// somebody signed, and tools that the upstream runs itself, which add to the prompt while it answers.
import { bringsPages, isImageAt } from './inline-file.ts'

type Fields = Readonly<Record<string, unknown>>

export interface MessageContent {
  images: number
  /** Bytes of the body that are the images' own. */
  image_bytes: number
  /** Documents that are somewhere else, or that may have far more tokens than bytes. */
  linked: number
  long_cache: boolean
  /** Where the first thinking stands that only its own vendor can read. */
  signed_at: string | undefined
  /** How often the upstream may use a tool of its own, where that is bounded. */
  hosted_uses: number
  /** How many tokens one such use may bring. */
  tokens_each: number
  /** How many of these are searches of the web, each of which has a price. */
  searches: number
}

/** Results of a search, and of a page that is fetched without a bound of its own. */
const SEARCH_TOKENS_MOST = 20_000
const FETCH_TOKENS_MOST = 100_000

export const SEARCH = /^web_search_\d+$/
export const FETCH = /^web_fetch_\d+$/

export function messageContent(json: Fields): MessageContent {
  const content: MessageContent = {
    images: 0,
    image_bytes: 0,
    linked: 0,
    long_cache: cachesLong(json),
    signed_at: undefined,
    hosted_uses: 0,
    tokens_each: 0,
    searches: 0,
  }
  for (const tool of listOf(json.tools)) addTool(tool, content)
  addBlocks(json.system, 'system', content)
  for (const [at, message] of listOf(json.messages).entries()) {
    content.long_cache ||= cachesLong(message)
    addBlocks(message.content, `messages[${at}].content`, content)
  }
  return content
}

/** The most that a prompt can grow to: before each further step, all that came before is read again. */
export const grownBound = (input_bound: number, { hosted_uses: uses, tokens_each }: MessageContent) =>
  input_bound * (uses + 1) + (tokens_each * uses * (uses + 1)) / 2

function addTool(tool: Fields, content: MessageContent): void {
  const { type, max_uses, max_content_tokens } = tool
  content.long_cache ||= cachesLong(tool)
  if (typeof type !== 'string' || typeof max_uses !== 'number') return
  const is_search = SEARCH.test(type)
  if (!is_search && !FETCH.test(type)) return
  const each = typeof max_content_tokens === 'number' ? max_content_tokens : FETCH_TOKENS_MOST
  content.hosted_uses += max_uses
  content.tokens_each = Math.max(content.tokens_each, is_search ? SEARCH_TOKENS_MOST : each)
  if (is_search) content.searches += max_uses
}

function addBlocks(blocks: unknown, at: string, content: MessageContent): void {
  for (const [index, block] of listOf(blocks).entries()) addBlock(block, `${at}[${index}]`, content)
}

function addBlock(block: Fields, at: string, content: MessageContent): void {
  const { type, source, signature } = block
  content.long_cache ||= cachesLong(block)
  if (type === 'image') addImage((source ?? {}) as Fields, content)
  else if (type === 'document') {
    if (isElsewhere(source) || isPaged(block)) content.linked++
    addBlocks((source as Fields | null | undefined)?.content, `${at}.source.content`, content)
  } else if (type === 'container_upload') content.linked++
  else if (type === 'tool_result') addBlocks(block.content, `${at}.content`, content)
  else if (isSigned(type, signature)) content.signed_at ??= at
}

/** A film or a document in the place of an image is none: over chat it goes on as what it says it is. */
function addImage(source: Fields, content: MessageContent): void {
  const { media_type, data, url } = source
  const is_inside = typeof data === 'string'
  if (isImageAt(url) && (!is_inside || isImageAt(`data:${media_type}`))) {
    content.images++
    if (is_inside) content.image_bytes += data.length
  } else if (bringsPages({ media_type, file_data: data, url })) content.linked++
}

/** Of what is said to be text, the upstream takes the text. */
function isPaged({ source, title }: Fields): boolean {
  const { type, media_type, data } = (source ?? {}) as Fields
  return type !== 'text' && typeof data === 'string' && bringsPages({ media_type, file_data: data, filename: title })
}

const isElsewhere = (source: unknown) => ['url', 'file'].includes(String((source as Fields | null | undefined)?.type))

export const isSigned = (type: unknown, signature: unknown) =>
  type === 'redacted_thinking' || (type === 'thinking' && typeof signature === 'string' && signature !== '')

/** Five minutes are what every price of writing means. */
function cachesLong({ cache_control }: Fields): boolean {
  const ttl = (cache_control as { ttl?: unknown } | null | undefined)?.ttl
  return ttl !== undefined && ttl !== null && ttl !== '5m'
}

const listOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.map((one) => (typeof one === 'object' && one !== null ? one : {})) : []
