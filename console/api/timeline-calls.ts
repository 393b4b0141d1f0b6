// GET /v2/usage/timeline as the pages use it: usage step by step, the oldest first, steps without a request included.
import { get } from './api-client.ts'
import { asked, type UsageFilters, type UsageGroup } from './usage-calls.ts'

export type Step = 'minute' | 'hour' | 'day'

/** A range of time, and how it is cut. */
export interface Span {
  from_ms: number
  to_ms: number
  step: Step
}

type Amounts = Omit<
  UsageGroup,
  'object' | 'events' | 'day' | 'model' | 'key_id' | 'provider' | 'profile' | 'cluster_id'
>

export interface UsageStep extends Amounts {
  object: 'usage_step'
  start: string
  requests: number
  /** Requests whose status is not `completed`. */
  errors: number
  by_status: Record<string, number>
  duration_p50_ms: number | null
  duration_p95_ms: number | null
  ttft_p50_ms: number | null
  ttft_p95_ms: number | null
}

export const between = ({ from_ms, to_ms }: Omit<Span, 'step'>) => ({
  from: new Date(from_ms).toISOString(),
  to: new Date(to_ms).toISOString(),
})

export async function usageTimeline(span: Span, filters: UsageFilters, signal?: AbortSignal): Promise<UsageStep[]> {
  const query = asked({ ...filters, ...between(span), step: span.step })
  return (await get<{ data: UsageStep[] }>(`/v2/usage/timeline?${query}`, signal)).data
}
