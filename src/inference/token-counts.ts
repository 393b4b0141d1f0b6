// Usage as providers report it, in one form (§6.4 of their many). `cached` and `written` are parts of `input`.
import type { Tokens } from '../models/price.ts'
import { outputTokens } from '../responses/response-object.ts'

export interface TokenCounts extends Tokens {
  reasoning: number
  /** We counted ourselves, because the upstream said nothing. */
  estimated: boolean
}

export const NO_TOKENS: TokenCounts = { input: 0, cached: 0, written: 0, output: 0, reasoning: 0, estimated: false }

type Fields = Record<string, unknown>

/** Undefined where this is not a usage object. */
export function readUsage(usage: unknown): TokenCounts | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined
  const fields = usage as Fields
  const input = count(fields.prompt_tokens) ?? count(fields.input_tokens)
  if (input === undefined) return undefined
  const details = (fields.prompt_tokens_details ?? fields.input_tokens_details ?? {}) as Fields
  const outputDetails = (fields.completion_tokens_details ?? fields.output_tokens_details ?? {}) as Fields
  const cached = count(details.cached_tokens) ?? count(fields.prompt_cache_hit_tokens) ?? 0
  const written = count(details.cache_write_tokens) ?? 0
  const said = count(fields.completion_tokens) ?? count(fields.output_tokens) ?? 0
  const reasoning = count(outputDetails.reasoning_tokens) ?? 0
  return {
    input: Math.max(input, cached + written), // some upstreams report the parts beside the whole
    cached,
    written,
    output: outputTokens({ input, said, reasoning, total: fields.total_tokens }),
    reasoning,
    estimated: false,
  }
}

/** What an upstream that stayed silent, or was cut off, has probably worked. */
export function estimateUsage(input_estimate: number, output_characters: number): TokenCounts {
  const output = Math.ceil(output_characters / 4)
  return { input: input_estimate, cached: 0, written: 0, output, reasoning: 0, estimated: true }
}

const GENERATED = ['content', 'text', 'arguments', 'refusal', 'reasoning', 'reasoning_content']

/** Characters of a whole answer that were generated: what clients show, and not the JSON around it. */
export function generatedIn(answer: Fields | undefined): number {
  const within = (value: unknown, name: string): number => {
    if (typeof value === 'string') return GENERATED.includes(name) ? value.length : 0
    if (typeof value !== 'object' || value === null) return 0
    const isList = Array.isArray(value)
    return Object.entries(value).reduce((sum, [key, inner]) => sum + within(inner, isList ? name : key), 0)
  }
  return within(answer?.choices, '') + within(answer?.output, '')
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
