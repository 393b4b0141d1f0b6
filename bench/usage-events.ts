// Usage as a busy project leaves it: 40 keys, 12 models of four providers, 90 days of day and night, some sessions, few
// failures. The same for every run.
import { DAY_MS, rfc3339 } from '../src/core/clock.ts'
import { base62, traceIdsFrom } from '../src/core/ids.ts'
import type { TraceFacts } from '../src/usage/trace.ts'
import type { UsageEvent } from '../src/usage/usage-event.ts'

export const BENCH_KEYS = 40
export const BENCH_DAYS = 90
const MODELS = 12
const SESSION_EVERY = 5
const SESSION_EVENTS = 100
const FAILURE_EVERY = 100
/** Where a model runs: its provider, the profile it is reached by, and whether that is a cluster of the project's. */
const PATHS = [
  { provider: 'openai', profile: 'managed_provider' },
  { provider: 'anthropic', profile: 'managed_provider' },
  { provider: 'mistral', profile: 'byok' },
  { provider: 'vllm', profile: 'byoc_native' },
] as const

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

const RHYTHM = 0.6 // the busiest hour has four times as many events as the quietest

/** When the event ends that has this share of all events before it: each later than the one before. */
export function endOfEvent(share: number, end_ms: number): number {
  const since = share * BENCH_DAYS * DAY_MS
  const swing = (RHYTHM * DAY_MS) / (2 * Math.PI)
  return Math.floor(end_ms - BENCH_DAYS * DAY_MS + since - swing * Math.sin((2 * Math.PI * since) / DAY_MS))
}

export interface Owner {
  project_id: string
  keys: readonly string[]
}

/** The n-th event, which ended at this time. */
export function benchEvent(n: number, end_ms: number, random: () => number, owner: Owner): UsageEvent {
  const model = skewed(random(), MODELS)
  const path = PATHS[model % PATHS.length] as (typeof PATHS)[number]
  const input = 200 + Math.floor(random() * 8_000)
  const cached = Math.floor(input * random() * 0.8)
  const output = 20 + Math.floor(random() * 800)
  const direct = Math.ceil(input * 2.5 + output * 10)
  const charged = Math.ceil((input - cached) * 2.5 + cached * 0.25 + output * 10)
  const ttft_ms = 80 + Math.floor(random() ** 3 * 3_000)
  const duration_ms = ttft_ms + output * 12
  const resolved_model = `model-${model}-2026-01-01`
  const times = { started_ms: 1, queue_ms: 0, dialled_ms: 2, ended_ms: ttft_ms }
  const target = `provider:${path.provider}`
  const { provider } = path
  const trace_id = `${traceIdsFrom(end_ms - duration_ms)}${base62(n, 6)}${base62(Math.floor(random() * 2 ** 31), 6)}`
  return {
    id: trace_id,
    object: 'usage_event',
    trace_id,
    project_id: owner.project_id,
    key_id: owner.keys[skewed(random(), owner.keys.length)] as string,
    created_at: rfc3339(end_ms),
    endpoint: '/v1/chat/completions',
    status: n % FAILURE_EVERY === 0 ? 'upstream_failed' : 'completed',
    requested_model: `alias-${model}`,
    resolved_model,
    ...path,
    mode: 'live',
    region: 'eu-west-1',
    alias_release_id: `alr_${base62(model, 20)}`,
    cluster_id: provider === 'vllm' ? `byc_${base62(model, 20)}` : null,
    credential_id: null,
    subscription_id: null,
    bundle_id: null,
    session_id: n % SESSION_EVERY === 0 ? `ses_${base62(Math.floor(n / SESSION_EVENTS), 20)}` : null,
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
    overage_micros: 0,
    waived_micros: 0,
    tokens_estimated: false,
    units: null,
    admission: 'admitted',
    queue_ms: 0,
    ttft_ms,
    duration_ms,
    attempts: [
      { n: 1, kind: 'first', target, provider, model: resolved_model, status: 200, failure: undefined, ttft_ms, times },
    ],
  }
}

export const BENCH_FACTS: TraceFacts = { stream: true, keyed: false, fallback_used: false }
