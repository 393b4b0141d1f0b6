// Usage as providers report it, in one form (§6.4 of their many). `cached` and `written` are parts of `input`. What
// cannot be is not used (R77): then we count ourselves.
import type { MediaNeeds } from '../media/media-request.ts'
import { type MediaTold, mediaCounts } from '../media/media-usage.ts'
import { type MessageUsage, mergeUsage, messageCounts } from '../messages/message-usage.ts'
import { isTokenCount, type Tokens } from '../models/price.ts'
import type { CallKind } from '../providers/provider.ts'
import { outputTokens } from '../responses/response-object.ts'
import { GENERATED } from './generated-text.ts'

export interface TokenCounts extends Tokens {
  reasoning: number
  /** We counted ourselves, because the upstream said nothing, or what cannot be (R77). */
  estimated: boolean
}

export const NO_TOKENS: TokenCounts = { input: 0, cached: 0, written: 0, output: 0, reasoning: 0, estimated: false }

type Fields = Record<string, unknown>

/** Some upstreams report what was cached beside the input, and not as a part of it. No prompt has more. */
const BESIDE_MAX = 10_000_000

/** Undefined where this is not a usage object, or one with a count that cannot be (R77). */
export function readUsage(usage: unknown): TokenCounts | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined
  const fields = usage as Fields
  const details = (fields.prompt_tokens_details ?? fields.input_tokens_details ?? {}) as Fields
  const outputDetails = (fields.completion_tokens_details ?? fields.output_tokens_details ?? {}) as Fields
  const input = fields.prompt_tokens ?? fields.input_tokens
  const cached = part(details.cached_tokens ?? fields.prompt_cache_hit_tokens)
  const written = part(details.cache_write_tokens)
  const written_1h = part(details.cache_write_1h_tokens)
  const said = part(fields.completion_tokens ?? fields.output_tokens)
  const reasoning = part(outputDetails.reasoning_tokens)
  if (!isTokenCount(input) || !isTokenCount(said) || !isTokenCount(reasoning)) return undefined
  if (!isTokenCount(cached) || !isTokenCount(written) || !isTokenCount(written_1h)) return undefined
  const parts = cached + written
  if (written_1h > written || (parts > input && parts > BESIDE_MAX)) return undefined
  const output = outputTokens({ input, said, reasoning, cached, written, total: fields.total_tokens })
  const counts: TokenCounts = { input: Math.max(input, parts), cached, written, output, reasoning, estimated: false }
  if (written_1h > 0) counts.written_1h = written_1h
  return counts
}

/** The same in the words of the call's own protocol. */
export const readUsageOf = (kind: CallKind, usage: unknown): TokenCounts | undefined =>
  kind === 'messages' ? ofMessage(mergeUsage({}, usage)) : readUsage(usage)

function ofMessage(usage: MessageUsage): TokenCounts | undefined {
  const counted = messageCounts(usage)
  if (!counted) return undefined
  const { input, cached, written, written_1h, output, reasoning, searches } = counted
  const counts: TokenCounts = { input, cached, written, output, reasoning, estimated: false }
  if (written_1h > 0) counts.written_1h = written_1h
  if (searches > 0) counts.searches = searches
  return counts
}

/** What need not be said; null says the same as leaving it out. */
const part = (value: unknown): unknown => value ?? 0

/** What an upstream that stayed silent, or was cut off, has probably worked. */
export function estimateUsage(input_estimate: number, quarter_tokens: number): TokenCounts {
  const output = Math.ceil(quarter_tokens / 4)
  return { input: input_estimate, cached: 0, written: 0, output, reasoning: 0, estimated: true }
}

interface Streamed {
  usage(): unknown
  /** False where what was told of the output so far is not the last word. */
  isUsageFinal?(): boolean
  quarterTokens(): number
}

interface Counted {
  kind: CallKind
  input_estimate: number
  media?: { needs: MediaNeeds }
}

/** Of images, sound and the like. */
export function mediaTokens(needs: MediaNeeds, told: MediaTold = {}): TokenCounts {
  const { input, output, estimated, units } = mediaCounts(needs, told)
  return { input, cached: 0, written: 0, output, reasoning: 0, estimated, units }
}

/** Of a stream: as the upstream last told it, or else by what has come. */
export function streamedTokens(call: Counted, frames: Streamed): TokenCounts {
  if (call.media) return mediaTokens(call.media.needs, frames.usage() as MediaTold | undefined)
  const told = readUsageOf(call.kind, frames.usage())
  if (!told) return estimateUsage(call.input_estimate, frames.quarterTokens())
  if (call.kind !== 'messages' || (frames.isUsageFinal?.() && told.output > 0)) return told
  // A message tells its input at the start and its output at the end: one that was cut has told only the first.
  const output = Math.ceil(frames.quarterTokens() / 4)
  return output > told.output ? Object.assign(told, { output, estimated: true }) : told
}

/** How much of a whole answer was generated, in quarters of a token: what clients show, and not the JSON around it. */
export const generatedIn = (answer: Fields | undefined): number =>
  quartersWithin(answer?.choices, '') + quartersWithin(answer?.output, '') + quartersOfBlocks(answer?.content)

/** Of a message. What goes into a tool is written as JSON. */
function quartersOfBlocks(content: unknown): number {
  if (!Array.isArray(content)) return 0
  let sum = 0
  for (const block of content as (Fields | null)[]) {
    const { text, thinking, input } = block ?? {}
    if (typeof text === 'string') sum += quartersIn(text)
    if (typeof thinking === 'string') sum += quartersIn(thinking)
    if (input !== undefined) sum += quartersIn(JSON.stringify(input))
  }
  return sum
}

function quartersWithin(value: unknown, name: string): number {
  if (typeof value === 'string') return GENERATED.has(name) ? quartersIn(value) : 0
  if (typeof value !== 'object' || value === null) return 0
  let sum = 0
  if (Array.isArray(value)) for (const one of value) sum += quartersWithin(one, name)
  else for (const key in value) sum += quartersWithin((value as Fields)[key], key)
  return sum
}

/** Four letters of English are a token, but of most other scripts each character is one. */
function quartersIn(text: string): number {
  let quarters = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x80) quarters++
    else if ((code & 0xfc00) !== 0xdc00) quarters += 4 // the second half of a pair is part of the first
  }
  return quarters
}
