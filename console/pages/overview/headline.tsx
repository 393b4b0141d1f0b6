// The few numbers that are read first, each beside what it was in the period before.
import type { ReactNode } from 'react'
import type { Step, UsageStep } from '../../api/timeline-calls.ts'
import { headlineCount, headlineMoney } from '../../parts/amounts.ts'
import { change, duration, percent } from '../../parts/figures.ts'

interface Sums {
  requests: number
  errors: number
  charged: number
  direct: number
  savings: number
}

function sumsOf(steps: readonly UsageStep[]): Sums {
  const sums = { requests: 0, errors: 0, charged: 0, direct: 0, savings: 0 }
  for (const step of steps) {
    sums.requests += step.requests
    sums.errors += step.errors
    sums.charged += step.charged_micros
    sums.direct += step.direct_cost_micros
    sums.savings += step.savings_micros
  }
  return sums
}

interface HeadlineProps {
  steps: readonly UsageStep[]
  before: readonly UsageStep[]
  step: Step
}

export function Headline({ steps, before, step }: HeadlineProps) {
  const [now, then] = [sumsOf(steps), sumsOf(before)]
  // Percentiles of several steps cannot be put together: the latest step that has any is told.
  const latest = steps.findLast(({ duration_p95_ms }) => duration_p95_ms !== null)
  const errors_then = then.requests > 0 ? `${percent(then.errors, then.requests)} before` : undefined
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
      <Figure label="Not completed" note={errors_then}>
        {percent(now.errors, now.requests)}
      </Figure>
      <Figure label="First token, p95" note={`latest ${step}`}>
        {shown(latest?.ttft_p95_ms)}
      </Figure>
      <Figure label="Duration, p95" note={`latest ${step}`}>
        {shown(latest?.duration_p95_ms)}
      </Figure>
    </dl>
  )
}

const shown = (ms: number | null | undefined) => (ms === null || ms === undefined ? '–' : duration(ms))

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
