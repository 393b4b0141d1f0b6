// GET /v2/usage/timeline as the pages use it: usage step by step, the oldest first, steps without a request included.
import type { Percentiles, Step, UsageStep } from '../../src/usage/usage-timeline.ts'
import { get } from './api-client.ts'
import { asked, type UsageFilters } from './usage-calls.ts'

export type { Percentiles, Step, UsageStep }

export interface Timeline {
  data: UsageStep[]
  /** Of the whole range. */
  overall: Percentiles
}

/** A range of time, and how it is cut. */
export interface Span {
  from_ms: number
  to_ms: number
  step: Step
}

export const between = ({ from_ms, to_ms }: Omit<Span, 'step'>) => ({
  from: new Date(from_ms).toISOString(),
  to: new Date(to_ms).toISOString(),
})

export function usageTimeline(span: Span, filters: UsageFilters, signal?: AbortSignal): Promise<Timeline> {
  const query = asked({ ...filters, ...between(span), step: span.step })
  return get<Timeline>(`/v2/usage/timeline?${query}`, signal)
}
