// The charts of the overview. A place in one of them opens the requests behind it.
import type { Step, UsageStep } from '../../api/timeline-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { duration } from '../../parts/figures.ts'
import { stepLabel } from '../../parts/periods.ts'
import { SeriesChart } from '../../parts/series-chart.tsx'
import { navigate } from '../../state/navigation.tsx'

interface ChartProps {
  steps: readonly UsageStep[]
  step: Step
}

const places = (steps: readonly UsageStep[], step: Step) => steps.map(({ start }) => stepLabel(Date.parse(start), step))

const RANGES: Record<Step, string> = { minute: '1h', hour: '7d', day: '90d' }

/** The page of usage, at the same place. */
const open = (steps: readonly UsageStep[], step: Step) => (at: number) => {
  const start = steps[at]?.start
  if (start !== undefined) navigate(`/usage?range=${RANGES[step]}&at=${encodeURIComponent(start)}`)
}

export function RequestChart({ steps, step }: ChartProps) {
  return (
    <section className="card">
      <SeriesChart
        title="Requests"
        kind="bars"
        places={places(steps, step)}
        format={count}
        onPick={open(steps, step)}
        series={[
          {
            id: 'completed',
            label: 'completed',
            color: 'one',
            values: steps.map(({ requests, errors }) => requests - errors),
          },
          { id: 'errors', label: 'not completed', color: 'bad', values: steps.map(({ errors }) => errors) },
        ]}
      />
    </section>
  )
}

export function MoneyChart({ steps, step }: ChartProps) {
  return (
    <section className="card">
      <SeriesChart
        title="Spend and savings"
        kind="bars"
        places={places(steps, step)}
        format={money}
        onPick={open(steps, step)}
        series={[
          { id: 'spend', label: 'charged', color: 'one', values: steps.map(({ charged_micros }) => charged_micros) },
          { id: 'saved', label: 'saved', color: 'two', values: steps.map(({ savings_micros }) => savings_micros) },
        ]}
      />
    </section>
  )
}

const LATENCIES = { ttft: 'Time to first token', duration: 'Duration' } as const

export function LatencyChart({ steps, step, of }: ChartProps & { of: keyof typeof LATENCIES }) {
  const [p50, p95] = [steps.map((one) => one[`${of}_p50_ms`]), steps.map((one) => one[`${of}_p95_ms`])]
  return (
    <section className="card">
      <SeriesChart
        title={LATENCIES[of]}
        kind="lines"
        places={places(steps, step)}
        format={duration}
        onPick={open(steps, step)}
        series={[
          { id: 'p50', label: 'p50', color: 'one', values: p50, overall: latest(p50) },
          { id: 'p95', label: 'p95', color: 'three', values: p95, overall: latest(p95) },
        ]}
      />
    </section>
  )
}

/** Percentiles do not add up: what is said of the whole is the latest that is known. */
function latest(values: readonly (number | null)[]): string {
  const value = values.findLast((one) => one !== null)
  return value === null || value === undefined ? '–' : duration(value)
}
