// The numbers of the overview, loaded and kept current, beside those of the time before.
import { useCallback } from 'react'
import { type Percentiles, type Span, type UsageStep, usageTimeline } from '../../api/timeline-calls.ts'
import { type Period, spanBefore, spanInFrame, type TimeFrame } from '../../parts/periods.ts'
import { nowMs } from '../../state/browser-clock.ts'
import { type Resource, useResource } from '../../state/resource.ts'

const POLL_MS = 10_000

/** What is shown where an address says nothing. */
export const OTHERWISE: Period = '24h'

export interface Figures {
  frame: TimeFrame
  span: Span
  steps: UsageStep[]
  overall: Percentiles
  overall_before: Percentiles
  /** As long, and just before. */
  before: UsageStep[]
  at_ms: number
}

/** The end of the period moves with the time, so it is worked out anew for every question. */
export function useFigures(frame: TimeFrame): Resource<Figures> {
  return useResource(
    useCallback(
      async (signal: AbortSignal) => {
        const at_ms = nowMs()
        const span = spanInFrame(frame, at_ms, OTHERWISE)
        const asked = [usageTimeline(span, {}, signal), usageTimeline(spanBefore(span), {}, signal)] as const
        const [{ data: steps, overall }, { data: before, overall: overall_before }] = await Promise.all(asked)
        return { frame, span, steps, overall, before, overall_before, at_ms }
      },
      [frame],
    ),
    { poll_ms: POLL_MS, keep: true },
  )
}
