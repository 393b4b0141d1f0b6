// What Messages says it took (R81): a stream tells it in `message_start` and again in `message_delta`, perhaps a part
// each time, and some upstreams with zeros in one of the two. Input counts without what was cached, which stands beside
// it; and some steps that the upstream took by itself count beside all that.
import { isTokenCount } from '../models/price.ts'

export interface MessageUsage {
  /** Without what was read from or written to the cache. */
  input_tokens?: number
  cache_read_input_tokens?: number | null
  cache_creation_input_tokens?: number | null
  /** How much of that was written for how long. */
  cache_creation?: { ephemeral_5m_input_tokens?: number | null; ephemeral_1h_input_tokens?: number | null } | null
  output_tokens?: number
  output_tokens_details?: { thinking_tokens?: number | null } | null
  /** Each step; those of other types than `message` are in none of the figures above. */
  iterations?: readonly (MessageUsage & { type?: unknown })[] | null
  /** What the upstream ran itself. */
  server_tool_use?: { web_search_requests?: number | null } | null
}

const FIGURES = [
  'input_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'output_tokens',
] as const satisfies readonly (keyof MessageUsage)[]
const WRITTEN = ['ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens'] as const

/** Adds what an event told. Every figure counts from the beginning of the answer, so the larger of two is the later. */
export function mergeUsage(sum: MessageUsage, told: unknown): MessageUsage {
  const usage = (typeof told === 'object' && told !== null ? told : {}) as MessageUsage
  for (const name of FIGURES) {
    const value = usage[name]
    if (typeof value === 'number') sum[name] = Math.max(value, sum[name] ?? value)
  }
  for (const name of WRITTEN) {
    const value = usage.cache_creation?.[name]
    if (typeof value !== 'number') continue
    sum.cache_creation ??= {}
    sum.cache_creation[name] = Math.max(value, sum.cache_creation[name] ?? value)
  }
  const thought = usage.output_tokens_details?.thinking_tokens
  if (typeof thought === 'number') sum.output_tokens_details = { thinking_tokens: thought }
  if (Array.isArray(usage.iterations)) sum.iterations = usage.iterations
  const searches = usage.server_tool_use?.web_search_requests
  if (typeof searches === 'number')
    sum.server_tool_use = { web_search_requests: Math.max(searches, sum.server_tool_use?.web_search_requests ?? 0) }
  return sum
}

export interface MessageCounts {
  input: number
  cached: number
  written: number
  written_1h: number
  output: number
  reasoning: number
  searches: number
}

const ITERATIONS_MAX = 1_000

/** Undefined where a count cannot be (R77), or there is no input at all: no prompt has none. */
export function messageCounts(usage: MessageUsage): MessageCounts | undefined {
  const counts = countsOf(usage)
  if (!counts || counts.input === 0) return undefined
  for (const step of usage.iterations?.slice(0, ITERATIONS_MAX) ?? []) {
    if (typeof step !== 'object' || step === null || BESIDE[String(step.type)] === undefined) continue
    const beside = countsOf(step)
    if (!beside) return undefined
    for (const name of SUMMED) counts[name] += beside[name]
  }
  return isTokenCount(counts.input) && isTokenCount(counts.output) ? counts : undefined
}

/** A summary that it wrote, and another model that it asked. */
const BESIDE: Readonly<Record<string, true>> = { compaction: true, advisor_message: true }
const SUMMED = ['input', 'cached', 'written', 'written_1h', 'output'] as const

function countsOf(usage: MessageUsage): MessageCounts | undefined {
  const read = usage.input_tokens ?? 0
  const cached = usage.cache_read_input_tokens ?? 0
  const hour = usage.cache_creation?.ephemeral_1h_input_tokens ?? 0
  const minutes = usage.cache_creation?.ephemeral_5m_input_tokens ?? 0
  const told_written = usage.cache_creation_input_tokens ?? 0
  const output = usage.output_tokens ?? 0
  const reasoning = usage.output_tokens_details?.thinking_tokens ?? 0
  const searches = usage.server_tool_use?.web_search_requests ?? 0
  if (![read, cached, hour, minutes, told_written, output, reasoning, searches].every(isTokenCount)) return undefined
  const written = Math.max(told_written, hour + minutes)
  return { input: read + cached + written, cached, written, written_1h: hour, output, reasoning, searches }
}
