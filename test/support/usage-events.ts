// A usage event as a generation would leave one, with what a test wants to be different.
import { rfc3339 } from '../../src/core/clock.ts'
import { newId } from '../../src/core/ids.ts'
import type { UsageEvent } from '../../src/usage/usage-event.ts'
import { NOON } from './clock.ts'

export function usageEvent(project_id: string, more: Partial<UsageEvent> = {}): UsageEvent {
  const trace_id = more.trace_id ?? newId('trc')
  return {
    id: trace_id,
    object: 'usage_event',
    trace_id,
    project_id,
    key_id: 'key_1',
    created_at: rfc3339(NOON),
    endpoint: '/v1/chat/completions',
    status: 'completed',
    requested_model: 'fast',
    resolved_model: 'gpt-4o',
    provider: 'openai',
    profile: 'managed_provider',
    mode: 'live',
    region: 'us',
    alias_release_id: null,
    cluster_id: null,
    credential_id: null,
    subscription_id: null,
    session_id: null,
    bundle_id: null,
    input_tokens: 100,
    cached_tokens: 60,
    written_tokens: 10,
    output_tokens: 20,
    reasoning_tokens: 5,
    repeated_tokens_est: 80,
    missed_reuse_tokens: 20,
    charged_micros: 300,
    direct_cost_micros: 450,
    savings_micros: 150,
    written_off_micros: 0,
    overage_micros: 0,
    waived_micros: 0,
    tokens_estimated: false,
    units: null,
    admission: 'admitted',
    queue_ms: 0,
    ttft_ms: 210,
    duration_ms: 900,
    attempts: [
      {
        n: 1,
        kind: 'first',
        target: 'provider:openai',
        provider: 'openai',
        model: 'gpt-4o',
        status: 200,
        failure: undefined,
        ttft_ms: 210,
        times: { started_ms: 0, queue_ms: 0, dialled_ms: 1, ended_ms: 210 },
      },
    ],
    ...more,
  }
}
