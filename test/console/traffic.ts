// A project that is busy: weeks of generations by several keys, models and targets, what was refused, and one
// generation that took a turn.
import { HOUR_MS, rfc3339, systemClock } from '../../src/core/clock.ts'
import { newTraceId } from '../../src/core/ids.ts'
import { hourOf, type RefusalKind } from '../../src/refusals/refusal-kind.ts'
import { refusalStore } from '../../src/refusals/refusal-store.ts'
import type { RefusedCall } from '../../src/refusals/refused-call.ts'
import { refusedCallStore } from '../../src/refusals/refused-call-store.ts'
import type { Db } from '../../src/storage/db.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { usageEvent } from '../support/usage-events.ts'

const now = () => systemClock.now()

const PATHS = [
  { resolved_model: 'gpt-4o', provider: 'openai', profile: 'managed_provider', price: 34 },
  { resolved_model: 'claude-sonnet-4', provider: 'anthropic', profile: 'byok', price: 41 },
  { resolved_model: 'llama-3.3-70b', provider: 'atlas', profile: 'byoc_native', price: 0, cluster_id: 'byc_atlas' },
  { resolved_model: 'gpt-4o-mini', provider: 'openai', profile: 'managed_provider', price: 3 },
  { resolved_model: 'mistral-large', provider: 'mistral', profile: 'managed_provider', price: 18 },
  { resolved_model: 'gemini-2.5-pro', provider: 'google', profile: 'managed_provider', price: 27 },
  { resolved_model: 'o4-mini', provider: 'openai', profile: 'subscription', price: 9 },
] as const
const SHARES = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6]

/** Numbers that look random and are always the same. */
const scattered = (n: number, below: number) =>
  Math.floor(((Math.sin(n * 12.9898) * 43758.5453) % 1) * below + below) % below

/** More by day than by night. */
const byDay = (hour: number) => Math.round(3.5 + 2.5 * Math.sin((hour * Math.PI) / 12))

export async function seedTraffic(db: Db, project_id: string, key_ids: readonly string[], days = 30): Promise<number> {
  let events = 0
  await db.transaction(async (tx) => {
    for (let hour = 0; hour < days * 24; hour++)
      for (let n = 0; n < byDay(hour) + scattered(hour, 3); n++)
        await usageStore(tx).insert(generation(project_id, key_ids, { hour, seed: ++events }))
  })
  return events
}

function generation(project_id: string, key_ids: readonly string[], { hour, seed }: { hour: number; seed: number }) {
  const { price, ...path } = PATHS[SHARES[scattered(seed, SHARES.length)] ?? 0] ?? PATHS[0]
  const input_tokens = 900 + scattered(seed + 3, 14_000)
  const cached_tokens = Math.floor(input_tokens * (scattered(seed + 5, 80) / 100))
  const output_tokens = 60 + scattered(seed + 7, 900)
  const direct_cost_micros = price * (input_tokens + 4 * output_tokens)
  const savings_micros = Math.floor(price * cached_tokens * 0.5)
  const ttft_ms = 160 + scattered(seed + 9, 500) + (seed % 19 === 0 ? 1_800 : 0)
  return usageEvent(project_id, {
    ...path,
    key_id: key_ids[scattered(seed + 1, key_ids.length)] ?? 'key_1',
    created_at: rfc3339(now() - hour * HOUR_MS - 60_000 * scattered(seed + 11, 55)),
    status: seed % 37 === 0 ? 'failed' : seed % 53 === 0 ? 'client_left' : 'completed',
    session_id: seed % 5 === 0 ? 'ses_nightly' : null,
    input_tokens,
    cached_tokens,
    repeated_tokens_est: Math.floor(cached_tokens * 1.3),
    missed_reuse_tokens: Math.floor(cached_tokens * 0.3),
    output_tokens,
    direct_cost_micros,
    savings_micros,
    charged_micros: direct_cost_micros - savings_micros,
    ttft_ms,
    duration_ms: ttft_ms + 300 + 6 * output_tokens,
  })
}

export async function seedRefusals(db: Db, project_id: string, days = 30): Promise<void> {
  const kinds: RefusalKind[] = ['key_limit', 'budget', 'validation', 'capacity', 'upstream', 'not_found']
  const counts = Array.from({ length: days * 24 }, (_, hour) => ({
    project_id,
    hour_ms: hourOf(now() - hour * HOUR_MS),
    kind: kinds[scattered(hour, kinds.length)] ?? 'budget',
    count: scattered(hour + 2, 4),
  }))
  await refusalStore(db).add(counts.filter(({ count }) => count > 0))
}

/** A stream that waited, failed over to another provider, and saved money. Returns its trace id. */
export async function seedTrace(db: Db, project_id: string, key_id = 'key_1'): Promise<string> {
  const trace_id = newTraceId(now() - 90_000)
  const attempt = { model: 'gpt-4o', ttft_ms: undefined, failure: undefined }
  const event = usageEvent(project_id, {
    trace_id,
    key_id,
    created_at: rfc3339(now() - 90_000),
    mode: 'emergency_fallback',
    provider: 'azure',
    session_id: 'ses_nightly',
    input_tokens: 12_480,
    cached_tokens: 9_600,
    output_tokens: 412,
    charged_micros: 23_120,
    direct_cost_micros: 35_120,
    savings_micros: 12_000,
    admission: 'queued',
    queue_ms: 120,
    ttft_ms: 940,
    duration_ms: 3_480,
    attempts: [
      {
        ...attempt,
        n: 1,
        kind: 'first',
        target: 'provider:openai',
        provider: 'openai',
        status: 529,
        failure: 'overloaded',
        times: { started_ms: 2, queue_ms: 120, dialled_ms: 126, ended_ms: 520 },
      },
      {
        ...attempt,
        n: 2,
        kind: 'provider_failover',
        target: 'provider:azure',
        provider: 'azure',
        status: 200,
        ttft_ms: 940,
        times: { started_ms: 521, queue_ms: 0, dialled_ms: 524, ended_ms: 940 },
      },
    ],
  })
  const facts = { stream: true, keyed: true, fallback_used: true, target_met: false, hints_honored: ['qos', 'session'] }
  await usageStore(db).insert(event, facts)
  return trace_id
}

/** R80: a generation that a budget refused, the first of many. */
export async function seedRefused(db: Db, project_id: string, key_id = 'key_1'): Promise<string> {
  const trace_id = newTraceId(now() - 60_000)
  const call: RefusedCall = {
    trace_id,
    project_id,
    key_id,
    kind: 'budget',
    at_ms: now() - 60_000,
    duration_ms: 4,
    endpoint: '/v1/chat/completions',
    model: 'gpt-4o',
    target: 'provider:openai',
    provider: 'openai',
    status: 429,
    type: 'quota_exceeded',
    code: 'quota_exceeded',
    message: "The key's budget is used up.",
    said: null,
    attempts: [],
    headers: { 'agent-trace-id': trace_id },
    count: 17,
  }
  await refusedCallStore(db).add([call])
  return trace_id
}

const NOTHING_USED = {
  input_tokens: 0,
  cached_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  charged_micros: 0,
  direct_cost_micros: 0,
  savings_micros: 0,
}

/** R80: a generation that nobody answered. */
export async function seedFailed(db: Db, project_id: string, at_ms = now() - 60_000): Promise<string> {
  const trace_id = newTraceId(at_ms)
  const attempt = { model: 'gpt-4o', ttft_ms: undefined }
  const event = usageEvent(project_id, {
    trace_id,
    status: 'failed',
    ...NOTHING_USED,
    created_at: rfc3339(at_ms),
    ttft_ms: null,
    duration_ms: 900,
    attempts: [
      {
        ...attempt,
        n: 1,
        kind: 'first',
        target: 'provider:main',
        provider: 'main',
        status: 500,
        failure: 'status 500',
        message: 'CUDA out of memory',
        times: { started_ms: 1, queue_ms: 0, dialled_ms: 2, ended_ms: 400 },
      },
      {
        ...attempt,
        n: 2,
        kind: 'provider_failover',
        target: 'provider:spare',
        provider: 'spare',
        status: 429,
        failure: 'rate limited',
        message: 'The model is overloaded.',
        times: { started_ms: 400, queue_ms: 0, dialled_ms: 401, ended_ms: 900 },
      },
    ],
  })
  await usageStore(db).insert(event, {
    stream: false,
    keyed: false,
    fallback_used: true,
    refusal: {
      layer: 'upstream',
      status: 502,
      type: 'server_error',
      code: 'upstream_error',
      message: "The upstream 'main' failed before it answered: status 500: CUDA out of memory. Nothing was charged.",
      headers: {},
    },
  })
  return trace_id
}
