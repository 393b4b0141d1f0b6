// The few numbers that are read first, each beside what it was in the period before.
import type { ReactNode } from 'react'
import type { Percentiles, UsageStep } from '../../api/timeline-calls.ts'
import { headlineCount, headlineMoney } from '../../parts/amounts.ts'
import { change, duration, percent } from '../../parts/figures.ts'
import { failedIn } from './failures.ts'

interface Sums {
  requests: number
  failed: number
  charged: number
  direct: number
  savings: number
}

function sumsOf(steps: readonly UsageStep[]): Sums {
  const sums = { requests: 0, failed: 0, charged: 0, direct: 0, savings: 0 }
  for (const step of steps) {
    sums.requests += step.requests
    sums.failed += failedIn(step)
    sums.charged += step.charged_micros
    sums.direct += step.direct_cost_micros
    sums.savings += step.savings_micros
  }
  return sums
}

interface HeadlineProps {
  steps: readonly UsageStep[]
  before: readonly UsageStep[]
  /** Of the whole period. */
  overall: Percentiles
  overall_before: Percentiles
}

export function Headline({ steps, before, overall, overall_before }: HeadlineProps) {
  const [now, then] = [sumsOf(steps), sumsOf(before)]
  const failed_then = then.requests > 0 ? `${percent(then.failed, then.requests)} before` : undefined
  return (
    <dl className="headline">
      <Figure label="Requests" note={compared(now.requests, then.requests, headlineCount)}>
        {headlineCount(now.requests)}
      </Figure>
      <Figure label="Spend" note={compared(now.charged, then.charged, headlineMoney)}>
        {headlineMoney(now.charged)}
      </Figure>
      <Figure label="Saved" note={`${percent(now.savings, now.direct)} of direct cost`}>
        {headlineMoney(now.savings)}
      </Figure>
      <Figure label="Failed" note={failed_then}>
        {percent(now.failed, now.requests)}
      </Figure>
      <Figure label="First token, p95" note={before_ms(overall_before.ttft_p95_ms)}>
        {shown(overall.ttft_p95_ms)}
      </Figure>
      <Figure label="Duration, p95" note={before_ms(overall_before.duration_p95_ms)}>
        {shown(overall.duration_p95_ms)}
      </Figure>
    </dl>
  )
}

const shown = (ms: number | null) => (ms === null ? '–' : duration(ms))
const before_ms = (ms: number | null) => (ms === null ? undefined : `${duration(ms)} before`)

function compared(now: number, before: number, format: (value: number) => string): string {
  const by = change(now, before)
  return by === undefined ? `${format(before)} before` : `${by} on ${format(before)}`
}

const Figure = ({ label, note, children }: { label: string; note: string | undefined; children: ReactNode }) => (
  <div>
    <dt>{label}</dt>
    <dd>{children}</dd>
    <dd className="headline-note">{note}</dd>
  </div>
)
