// What a client asked for on /v1, read once. The body's bytes stay as they came; only what decides about routing, money
// and streaming is looked at.
import type { Caller } from '../core/caller.ts'
import { Refusal } from '../core/refusal.ts'
import type { Hints } from '../hints/hints.ts'
import type { CallKind } from '../providers/provider.ts'
import type { Conversation } from './conversation.ts'

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
  /** R43: no prompt has more tokens than this, but for text made to have them. */
  input_bound: number
  input_estimate: number
}

export interface Call extends Asked {
  endpoint: string
  trace_id: string
  received_at: number
  caller: Caller
  hints: Hints | undefined
  session_id: string | undefined
  /** R44: from arrival. */
  deadline_at: number | undefined
  /** Of a Responses request: what it continues, and what it will be called. */
  conversation: Conversation | undefined
}

/** Natural text has four bytes a token, dense text three, and hardly any fewer than two. */
const BYTES_PER_TOKEN_LEAST = 2
const BYTES_PER_TOKEN_USUAL = 4
const IMAGE_TOKENS = 2_000 // an image that is only linked has no bytes here to go by

export interface JsonBody {
  bytes: Buffer
  json: unknown
}

export function readAsked(kind: CallKind, { bytes, json }: JsonBody): Asked {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw invalid('The body must be a JSON object')
  const fields = json as Record<string, unknown>
  const { model, stream, stream_options, n } = fields
  if (typeof model !== 'string' || model === '') throw invalid("'model' must be a non-empty string")
  checkPrompt(kind, fields)
  const choices = typeof n === 'number' && Number.isInteger(n) && n > 0 ? n : 1
  const limit = outputLimit(kind, fields)
  const linked = kind === 'chat' || kind === 'responses' ? countLinkedImages(fields) : 0
  return {
    kind,
    body: bytes,
    json: fields,
    model,
    stream: stream === true && kind !== 'embeddings',
    wants_usage: (stream_options as { include_usage?: unknown } | undefined | null)?.include_usage === true,
    output_limit: limit === undefined ? undefined : limit * choices,
    choices,
    input_bound: Math.ceil(bytes.length / BYTES_PER_TOKEN_LEAST) + linked * IMAGE_TOKENS,
    input_estimate: Math.ceil(bytes.length / BYTES_PER_TOKEN_USUAL),
  }
}

function checkPrompt(kind: CallKind, fields: Record<string, unknown>): void {
  if (kind === 'chat' && !(Array.isArray(fields.messages) && fields.messages.length > 0))
    throw invalid("'messages' must be a non-empty array")
  if (kind === 'completions' && fields.prompt === undefined) throw invalid("'prompt' is required")
  if ((kind === 'embeddings' || kind === 'responses') && fields.input === undefined)
    throw invalid("'input' is required")
}

function outputLimit(kind: CallKind, fields: Record<string, unknown>): number | undefined {
  if (kind === 'embeddings') return 0
  const names = {
    chat: ['max_completion_tokens', 'max_tokens'],
    completions: ['max_tokens'],
    responses: ['max_output_tokens'],
  }
  const limits = names[kind].map((name) => fields[name]).filter((value) => typeof value === 'number' && value > 0)
  return limits.length === 0 ? undefined : Math.ceil(Math.max(...(limits as number[])))
}

function countLinkedImages({ messages, input }: Record<string, unknown>): number {
  let count = 0
  for (const message of [messages, input].flat()) {
    const content = (message as { content?: unknown } | null | undefined)?.content
    if (!Array.isArray(content)) continue
    for (const part of content) if (/image/.test(String((part as { type?: unknown } | null)?.type))) count++
  }
  return count
}

const invalid = (message: string) => new Refusal('invalid_request', `${message}.`)
