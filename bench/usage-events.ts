// Usage as a busy project leaves it: 50 keys, 20 models, a year, some sessions, few failures. The same for every run.
import { rfc3339 } from '../src/core/clock.ts'
import { base62, traceIdsFrom } from '../src/core/ids.ts'
import type { UsageEvent } from '../src/usage/usage-event.ts'

export const BENCH_PROJECT = 'prj_BenchmarkBenchmarkBe'
const KEYS = 50
const MODELS = 20
const PROVIDERS = ['openai', 'anthropic', 'mistral', 'vllm']
const SESSION_EVERY = 5
const FAILURE_EVERY = 100

/** xorshift32: quick, and the same numbers everywhere. */
export function randomness(seed: number): () => number {
  let state = seed | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

const skewed = (random: number, size: number) => Math.floor(random * random * size) // the first ones are the busiest

export function benchEvent(n: number, time_ms: number, random: () => number): UsageEvent {
  const model = skewed(random(), MODELS)
  const key = skewed(random(), KEYS)
  const provider = PROVIDERS[model % PROVIDERS.length] as string
  const input = 200 + Math.floor(random() * 8_000)
  const cached = Math.floor(input * random() * 0.8)
  const output = 20 + Math.floor(random() * 800)
  const direct = Math.ceil(input * 2.5 + output * 10)
  const charged = Math.ceil((input - cached) * 2.5 + cached * 0.25 + output * 10)
  const ttft_ms = 80 + Math.floor(random() ** 3 * 3_000)
  const resolved_model = `model-${model}-2026-01-01`
  const trace_id = `${traceIdsFrom(time_ms)}${base62(n, 6)}${base62(Math.floor(random() * 2 ** 31), 6)}`
  return {
    id: trace_id,
    object: 'usage_event',
    trace_id,
    project_id: BENCH_PROJECT,
    key_id: `key_${base62(key, 20)}`,
    created_at: rfc3339(time_ms + ttft_ms),
    endpoint: '/v1/chat/completions',
    status: n % FAILURE_EVERY === 0 ? 'upstream_failed' : 'completed',
    requested_model: `alias-${model}`,
    resolved_model,
    provider,
    profile: provider === 'vllm' ? 'byoc_native' : 'managed_provider',
    mode: 'live',
    region: 'eu-west-1',
    alias_release_id: `alr_${base62(model, 20)}`,
    cluster_id: provider === 'vllm' ? `byc_${base62(model, 20)}` : null,
    credential_id: null,
    subscription_id: null,
    session_id: n % SESSION_EVERY === 0 ? `ses_${base62(Math.floor(n / 100), 20)}` : null,
    input_tokens: input,
    cached_tokens: cached,
    written_tokens: 0,
    output_tokens: output,
    reasoning_tokens: Math.floor(output / 4),
    repeated_tokens_est: cached,
    missed_reuse_tokens: 0,
    charged_micros: charged,
    direct_cost_micros: direct,
    savings_micros: Math.max(0, direct - charged),
    written_off_micros: 0,
    admission: 'admitted',
    queue_ms: 0,
    ttft_ms,
    duration_ms: ttft_ms + output * 12,
    attempts: [
      {
        n: 1,
        kind: 'first',
        target: `provider:${provider}`,
        provider,
        model: resolved_model,
        status: 200,
        failure: undefined,
        ttft_ms,
      },
    ],
  }
}
