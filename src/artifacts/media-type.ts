// Which bytes an artifact of a kind may have. What a client says of a file is taken where the bytes bear it out: they
// are sent to models, and served to whoever asks for them.
import { BUDGETS } from '../core/foreign.ts'
import { jsonIn } from '../core/json-bytes.ts'
import { isBeyond } from '../core/json-survey.ts'
import { Refusal } from '../core/refusal.ts'
import { isText } from '../core/utf8-parts.ts'
import type { ArtifactKind } from './artifact.ts'

const MIB = 2 ** 20
export const TOOLS_MAX_BYTES = MIB
const TOOLS_MAX = 512
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/

const UNSAID = ['application/octet-stream', 'binary/octet-stream', '']
const TEXTUAL =
  /^(text\/[a-z0-9.+-]{1,64}|application\/(json|xml|yaml|x-yaml|toml|x-ndjson|javascript|typescript|sql))$/
const PDF = 'application/pdf'
const OOXML = /^application\/vnd\.openxmlformats-officedocument\.[a-z.]{1,64}$/

const IMAGES: [type: string, isOne: (head: Buffer) => boolean][] = [
  ['image/png', (head) => head.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))],
  ['image/jpeg', (head) => head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff],
  ['image/gif', (head) => /^GIF8[79]a/.test(head.toString('latin1', 0, 6))],
  ['image/webp', (head) => head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP'],
]

/** Throws 415 where the bytes are not of the kind, and 400 where a text or a list of tools is none. */
export function mediaTypeOf(kind: ArtifactKind, said: string, parts: readonly Buffer[]): string {
  const type = said.trim().toLowerCase()
  if (kind === 'image') return imageType(type, headOf(parts))
  if (kind === 'document') return documentType(type, parts)
  if (kind === 'tools') return toolsType(type, parts)
  return textType(type, parts)
}

function imageType(said: string, head: Buffer): string {
  const [type] = IMAGES.find(([, isOne]) => isOne(head)) ?? []
  if (!type) throw unsupported('An image must be PNG, JPEG, GIF or WebP; the bytes are none of these.')
  const isUnsaid = UNSAID.includes(said) || said === 'text/plain' // what a part without a type is taken for
  if (!isUnsaid && said !== type && !(said === 'image/jpg' && type === 'image/jpeg'))
    throw unsupported(`The file is said to be '${told(said)}', but its bytes are '${type}'.`)
  return type
}

function documentType(said: string, parts: readonly Buffer[]): string {
  const head = headOf(parts)
  if (head.toString('latin1', 0, 5) === '%PDF-') return PDF
  if (OOXML.test(said) && head.toString('latin1', 0, 2) === 'PK') return said
  if (said === PDF || !TEXTUAL.test(said))
    throw unsupported('A document must be a PDF, an Office document or text; the bytes are none of these.')
  return textType(said, parts)
}

function textType(said: string, parts: readonly Buffer[]): string {
  const type = UNSAID.includes(said) ? 'text/plain' : said
  if (!TEXTUAL.test(type)) throw unsupported(`'${told(said)}' is no type of text. Send a 'text/…' type, or JSON.`)
  if (!isText(parts)) throw invalid("The file must be text in UTF-8 without NUL characters. Is its 'kind' another?")
  return type
}

function toolsType(said: string, parts: readonly Buffer[]): string {
  const type = UNSAID.includes(said) || said === 'text/plain' ? 'application/json' : said
  if (type !== 'application/json') throw unsupported("Tools must be 'application/json'.")
  checkTools(Buffer.concat(parts))
  return type
}

interface Tool {
  type?: unknown
  function?: { name?: unknown; parameters?: unknown } | null
}

/** As the chat API has them. Names are unique: two tools of one name are a mistake that upstreams refuse. */
export function checkTools(json: Buffer): void {
  if (json.length > TOOLS_MAX_BYTES) throw new Refusal('body_too_large', 'A list of tools has at most 1 MiB.')
  const tools = parsed(json)
  if (!Array.isArray(tools) || tools.length === 0 || tools.length > TOOLS_MAX)
    throw invalid(`Tools must be a JSON array of 1 to ${TOOLS_MAX} tools.`)
  const names = new Set<string>()
  for (const [n, tool] of (tools as (Tool | null)[]).entries()) {
    const { name, parameters } = tool?.function ?? {}
    if (tool?.type !== 'function' || typeof name !== 'string' || !TOOL_NAME.test(name))
      throw invalid(
        `Tool ${n} must be {"type": "function", "function": {"name": …}}, named by 1 to 64 of a-z A-Z 0-9 _ -.`,
      )
    if (typeof (parameters ?? {}) !== 'object' || Array.isArray(parameters))
      throw invalid(`Tool ${n}: its 'parameters' must be an object, a JSON schema.`)
    if (names.has(name)) throw invalid(`Two tools are called '${name}'.`)
    names.add(name)
  }
}

function parsed(json: Buffer): unknown {
  if (!isText([json]) || isBeyond(BUDGETS.body, json)) throw invalid('Tools must be JSON of at most 64 levels.')
  try {
    return jsonIn(json)
  } catch (cause) {
    throw new Refusal('invalid_request', 'Tools must be valid JSON.', { cause })
  }
}

const HEAD_BYTES = 16
const headOf = (parts: readonly Buffer[]) => Buffer.concat(parts.slice(0, HEAD_BYTES)).subarray(0, HEAD_BYTES)

const told = (type: string) => type.replace(/[^\x20-\x7e]/g, '?').slice(0, 100)
const invalid = (message: string) => new Refusal('invalid_request', message)
const unsupported = (message: string) => new Refusal('unsupported_media_type', message)
