// What a client asked for on /v1, read once. The body's bytes stay as they came; only what decides about routing, money
// and streaming is looked at.
import type { Caller } from '../core/caller.ts'
import type { JsonBody } from '../core/json-bytes.ts'
import { Refusal } from '../core/refusal.ts'
import type { Tag } from '../headers/call-tags.ts'
import type { Hints } from '../hints/hints.ts'
import { bringsPages, isAddress, isImageAt, mediaTypeIn } from '../messages/inline-file.ts'
import { grownBound, type MessageContent, messageContent } from '../messages/message-content.ts'
import { type CallKind, isMediaKind, type TextKind } from '../providers/provider.ts'
import type { Conversation } from '../responses/conversation.ts'
import type { Link } from '../reuse/prefix-chain.ts'
import { type AskedMedia, mediaAsked } from './media-asked.ts'

export interface Asked {
  kind: CallKind
  body: Buffer
  json: Readonly<Record<string, unknown>>
  model: string
  stream: boolean
  /** The client itself asked for the usage chunk of a stream. */
  wants_usage: boolean
  /** Output tokens that the client allows, over all choices; undefined where it set no limit. */
  output_limit: number | undefined
  choices: number
  /** R76: something is to stay in the upstream's cache for longer than usual, which has another price. */
  long_cache: boolean
  /** R43: no prompt has more tokens than this, but for text made to have them. */
  input_bound: number
  input_estimate: number
  /** How often the upstream may search the web for it; absent where it may not. */
  searches?: number
  /** Of Messages: where thinking stands that only its own vendor can read. */
  signed_at?: string | undefined
  /** Of images, sound and the like. */
  media?: AskedMedia
}

export interface Call extends Asked {
  endpoint: string
  trace_id: string
  received_at: number
  caller: Caller
  /** It carries an idempotency key (§11). */
  is_keyed: boolean
  hints: Hints | undefined
  session_id: string | undefined
  /** R78: its project has no room for what its session would keep of it. */
  drops_contents?: boolean
  /** What it is filed under; undefined where nothing was said. */
  tags?: readonly Tag[] | undefined
  /** R75: what of its hints nobody acted on, by name. */
  ignored_fields: readonly string[]
  /** R44: from arrival. */
  deadline_at: number | undefined
  /** A call that a replay run makes: it enters no session, no affinity, no figure of repeated work and no recording. */
  is_replay: boolean
  /** Of a Messages request (R81). */
  messages: AskedOfMessages | undefined
  /** Its prompt by hashes, once somebody has asked for that. */
  chain?: { model: string; links: readonly Link[] } | undefined
  /** Of a Responses request: what it continues, and what it will be called. */
  conversation: Conversation | undefined
  /** What was put before what the client said. */
  bundle?: SentBundle | undefined
  expansion_room?: ExpansionRoom | undefined
  /** What the client sent, where the call says more: contents of artifacts are kept nowhere else. */
  client_json?: Readonly<Record<string, unknown>> | undefined
}

/** What it has of the memory for prompts that became larger than they came. */
export interface ExpansionRoom {
  take(bytes: number): void
  /** From here on whoever generates gives it back: a keyed call goes on when its client has left (R26). */
  keep(): void
  giveBack(): void
}

/** A bundle in a body. */
export interface SentBundle {
  id: string
  /** Of what it says: the same in every project. */
  prefix_hash: string
  /** Where its last turn lies in the body, and the same with the end of a cached prefix on it, unless it is there. */
  last: { start: number; end: number; marked: Buffer } | undefined
}

export interface AskedOfMessages {
  /** The client's `anthropic-*`, which go along. */
  headers: Readonly<Record<string, string>>
  query: string
  agent_id: string | undefined
  parent_agent_id: string | undefined
}

/** Natural text has four bytes a token, dense text three, and hardly any fewer than two. */
const BYTES_PER_TOKEN_LEAST = 2
const BYTES_PER_TOKEN_USUAL = 4
/** An image's tokens come from its pixels: linked it has no bytes here to go by, and inside far too many. */
const IMAGE_TOKENS_MOST = 2_000
const IMAGE_TOKENS_USUAL = 1_000
/** A file or a film may fill what a model takes in, where it is only named here, and where it has pages of its own. */
const LINKED_TOKENS_MOST = 200_000
const LINKED_TOKENS_USUAL = 10_000
const MODEL_MAX = 256 // R8; it also goes into a header

export function readAsked(kind: CallKind, body: JsonBody): Asked {
  const { bytes, json } = body
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw invalid('The body must be a JSON object')
  const fields = json as Record<string, unknown>
  if (isMediaKind(kind)) return mediaAsked(kind, body, fields, checkedModel)
  const { stream, stream_options } = fields
  const model = checkedModel(fields.model)
  checkPrompt(kind, fields)
  const choices = choicesOf(kind, fields)
  const limit = outputLimit(kind, fields)
  const content = kind === 'messages' ? messageContent(fields) : contentOf(fields)
  const { images, linked, image_bytes, long_cache } = content
  const text_bytes = bytes.length - image_bytes
  const input_bound =
    Math.ceil(text_bytes / BYTES_PER_TOKEN_LEAST) + images * IMAGE_TOKENS_MOST + linked * LINKED_TOKENS_MOST
  const hosted = 'hosted_uses' in content ? (content as MessageContent) : undefined
  return {
    kind,
    body: bytes,
    json: fields,
    model,
    stream: stream === true && kind !== 'embeddings',
    wants_usage: (stream_options as { include_usage?: unknown } | undefined | null)?.include_usage === true,
    output_limit: limit === undefined ? undefined : limit * choices,
    choices,
    long_cache,
    input_bound: hosted ? grownBound(input_bound, hosted) : input_bound,
    input_estimate:
      Math.ceil(text_bytes / BYTES_PER_TOKEN_USUAL) + images * IMAGE_TOKENS_USUAL + linked * LINKED_TOKENS_USUAL,
    ...(hosted && { searches: hosted.searches, signed_at: hosted.signed_at }),
  }
}

export function checkedModel(model: unknown): string {
  if (typeof model !== 'string' || model === '') throw invalid("'model' must be a non-empty string")
  if (model.length > MODEL_MAX || model.includes('\0'))
    throw invalid("'model' must be a name of at most 256 characters")
  return model
}

function checkPrompt(kind: TextKind, fields: Record<string, unknown>): void {
  if ((kind === 'chat' || kind === 'messages') && !(Array.isArray(fields.messages) && fields.messages.length > 0))
    throw invalid("'messages' must be a non-empty array")
  if (kind === 'messages' && typeof fields.max_tokens !== 'number') throw invalid("'max_tokens' is required")
  if (kind === 'completions' && fields.prompt === undefined) throw invalid("'prompt' is required")
  if ((kind === 'embeddings' || kind === 'responses') && fields.input === undefined)
    throw invalid("'input' is required")
}

function outputLimit(kind: TextKind, fields: Record<string, unknown>): number | undefined {
  if (kind === 'embeddings') return 0
  if (kind === 'messages') return fields.max_tokens as number
  const own = LIMIT_NAMES[kind].some((name) => typeof fields[name] === 'number')
  // An upstream that knows another of the names may go by that: the largest counts.
  return own ? Math.max(...ALL_LIMIT_NAMES.map((name) => whole(fields[name]))) : undefined
}

const LIMIT_NAMES = {
  chat: ['max_completion_tokens', 'max_tokens'],
  completions: ['max_tokens'],
  responses: ['max_output_tokens'],
}
const ALL_LIMIT_NAMES = ['max_completion_tokens', 'max_tokens', 'max_output_tokens']

/** What money-fields.ts has let through, or left out, which is 1. */
const whole = (value: unknown) => (typeof value === 'number' ? value : 1)

/** How many answers are generated: every prompt of a list has its own, and candidates that are not shown cost too. */
function choicesOf(kind: CallKind, { n, best_of, prompt }: Record<string, unknown>): number {
  if (kind === 'messages') return 1
  const answers = Math.max(whole(n), whole(best_of))
  if (kind !== 'completions') return answers
  const isList = Array.isArray(prompt) && prompt.length > 0 && typeof prompt[0] !== 'number' // numbers are tokens
  return answers * (isList ? prompt.length : 1)
}

interface Content {
  images: number
  /** Bytes of the body that are the images' own. */
  image_bytes: number
  /** Files and films that are somewhere else, or that may have far more tokens than bytes. */
  linked: number
  long_cache: boolean
}

type Part = Readonly<Record<string, unknown>>

/** What a prompt has beside its text. */
function contentOf({ messages, input, tools, cache_control }: Record<string, unknown>): Content {
  const long_cache = isLong(cache_control) || (Array.isArray(tools) && tools.some(cachesLong))
  const content: Content = { images: 0, image_bytes: 0, linked: 0, long_cache }
  for (const list of [messages, input]) {
    if (Array.isArray(list)) for (const message of list) addMessage(message, content)
    else addMessage(list, content)
  }
  return content
}

/** A prompt may be a million numbers, which are no messages. */
function addMessage(message: unknown, content: Content): void {
  if (typeof message !== 'object' || message === null) return
  const { content: parts, output } = message as { content?: unknown; output?: unknown } // of a tool, the latter
  addParts(parts, content)
  addParts(output, content)
  content.long_cache ||= cachesLong(message)
}

function addParts(parts: unknown, content: Content): void {
  const list = (Array.isArray(parts) ? parts : typeof parts === 'object' ? [parts] : []) as (Part | null)[]
  for (const part of list) if (part) addPart(part, content)
}

type Cached = { cache_control?: unknown; function?: { cache_control?: unknown } | null } | null | undefined

const cachesLong = (one: unknown) =>
  isLong((one as Cached)?.cache_control) || isLong((one as Cached)?.function?.cache_control)

/** Five minutes are what every price of writing means. */
function isLong(cache_control: unknown): boolean {
  const ttl = (cache_control as { ttl?: unknown } | null | undefined)?.ttl
  return ttl !== undefined && ttl !== null && ttl !== '5m'
}

function addPart(part: Part, content: Content): void {
  const { type, cache_control } = part
  content.long_cache ||= isLong(cache_control)
  if (typeof type !== 'string') return
  if (isImage(type, part)) {
    content.images++
    const address = addressOf(part)
    if (mediaTypeIn(address) !== undefined) content.image_bytes += (address as string).length
    return
  }
  const is_file = FILES.test(type)
  if (!is_file && TEXTS.test(type)) return
  if (names(part, is_file ? isName : isNamedElsewhere) || bringsPages(part)) content.linked++
}

const IMAGES = /image|screenshot/
const FILES = /file|video/
const TEXTS = /text|refusal|thinking|reasoning|^tool_use$/ // they may say where something is, and do not bring it
const TOLD_HERE = ['type', 'filename', 'file_data', 'detail', 'format']

/** What stands in the place of an image may be a film. */
function isImage(type: string, part: Part): boolean {
  if (!IMAGES.test(type)) return false
  const address = addressOf(part)
  return typeof address === 'string' ? isImageAt(address) : !bringsPages(part)
}

const addressOf = ({ image_url }: Part): unknown =>
  (image_url as { url?: unknown } | null | undefined)?.url ?? image_url

type IsNaming = (field: string, value: string) => boolean

/** Whatever else is said of a file names it; of what is no text, whatever says where it is. */
const isName: IsNaming = (field, value) => !TOLD_HERE.includes(field) || isBroughtFrom(field, value)
const isNamedElsewhere: IsNaming = (field, value) =>
  /(^|_)(url|uri)$|^file_id$/i.test(field) || isBroughtFrom(field, value)

/** Some upstreams take an address in the place of the data, as Vertex does for sound. */
const isBroughtFrom: IsNaming = (field, value) => /^(input_audio|data|file_data)$/.test(field) && isAddress(value)

/** Something that is not in the body, whose bytes are counted with it. */
function names(part: Part, isNaming: IsNaming): boolean {
  return Object.entries(part).some(([field, value]) => {
    if (typeof value === 'object' && value !== null) return names(value as Part, isNaming)
    return typeof value === 'string' && isNaming(field, value) && mediaTypeIn(value) === undefined
  })
}

const invalid = (message: string) => new Refusal('invalid_request', `${message}.`)
