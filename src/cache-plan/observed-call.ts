// A call on a cluster as far as its cache is concerned, and which of them tell how long a prefill takes. Pure.
import type { PrefillSample } from './prefill-fit.ts'

export interface ObservedCall {
  trace_id: string
  model: string
  session_id: string | null
  bundle_id: string | null
  created_ms: number
  input_tokens: number
  cached_tokens: number
  repeated_tokens_est: number
  missed_reuse_tokens: number
  ttft_ms: number | null
  /** Of an answer that came whole, or whose tokens nobody told, the first token tells nothing. */
  is_streamed: boolean
  /** From its arrival until the cluster was called. */
  waited_ms: number
  /** What was on its way there before it, where that is known. */
  ahead_tokens: number
  /** Of the first link of its prompt: tools and instructions, as a keyed hash. */
  prefix_hash: string | null
}

/** Those that had the cluster nearly to themselves: what waits behind another prompt times that one, too. */
export const samplesOf = (calls: readonly ObservedCall[]): PrefillSample[] =>
  calls.flatMap(({ is_streamed, ttft_ms, waited_ms, input_tokens, cached_tokens, ahead_tokens }) => {
    const uncached_tokens = input_tokens - cached_tokens
    if (!is_streamed || ttft_ms === null || ahead_tokens > uncached_tokens) return []
    return { uncached_tokens, prefill_ms: ttft_ms - waited_ms }
  })
