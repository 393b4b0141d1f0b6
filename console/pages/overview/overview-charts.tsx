// The charts of the overview. A place in one of them opens the requests behind it; a stretch is zoomed into.
import { between, type UsageStep } from '../../api/timeline-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { Card } from '../../parts/card.tsx'
import { duration } from '../../parts/figures.ts'
import { inAddress, STEP_MS } from '../../parts/periods.ts'
import { type ChartMarker, SeriesChart } from '../../parts/series-chart.tsx'
import { type AddressQuery, changedQuery } from '../../state/address-query.ts'
import { navigate } from '../../state/navigation.tsx'
import { failedIn, leftIn } from './failures.ts'
import type { Figures } from './overview-figures.ts'

interface ChartProps {
  figures: Figures
  markers: readonly ChartMarker[]
  change: AddressQuery['change']
}

const timesOf = ({ steps, span: { step } }: Figures) => ({ starts: steps.map(({ start }) => Date.parse(start)), step })

/** What all of them can do. */
const reachOf = ({ figures, markers, change }: ChartProps) => ({
  ...timesOf(figures),
  markers,
  onPick: (at: number) => openRequests(figures, at),
  onZoom: (from_ms: number, to_ms: number) => change(inAddress(from_ms, to_ms)),
})

/** All that came in that time. */
function openRequests({ steps, span: { step } }: Figures, at: number): void {
  const one = steps[at]
  if (!one) return
  const from_ms = Date.parse(one.start)
  const time = between({ from_ms, to_ms: from_ms + STEP_MS[step] })
  navigate(`/requests?${changedQuery('', time)}`)
}

export function RequestChart(props: ChartProps) {
  const { steps } = props.figures
  const left = steps.map(leftIn)
  return (
    <Card title="Requests">
      <SeriesChart
        title="Requests"
        title_hidden
        kind="bars"
        {...reachOf(props)}
        format={count}
        series={[
          {
            id: 'completed',
            label: 'completed',
            color: 'one',
            values: steps.map((one) => one.requests - failedIn(one) - leftIn(one)),
          },
          ...(left.some((number) => number > 0)
            ? [{ id: 'left', label: 'client left', color: 'rest' as const, values: left }]
            : []),
          { id: 'failed', label: 'failed', color: 'bad', values: steps.map(failedIn) },
        ]}
      />
    </Card>
  )
}

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

export function MoneyChart(props: ChartProps) {
  const { steps } = props.figures
  const charged = steps.map(({ charged_micros }) => charged_micros)
  const saved = steps.map(({ savings_micros }) => savings_micros)
  return (
    <Card title="Spend and savings" gist={`${money(sumOf(charged))} charged, ${money(sumOf(saved))} saved`}>
      <SeriesChart
        title="Spend and savings"
        title_hidden
        kind="bars"
        {...reachOf(props)}
        format={money}
        series={[
          { id: 'spend', label: 'charged', color: 'one', values: charged },
          { id: 'saved', label: 'saved', color: 'two', values: saved },
        ]}
      />
    </Card>
  )
}

const LATENCIES = { ttft: 'Time to first token', duration: 'Duration' } as const

export function LatencyChart({ of, ...props }: ChartProps & { of: keyof typeof LATENCIES }) {
  const { steps, overall } = props.figures
  const rows = (['p50', 'p95'] as const).map((rank) => ({
    id: rank,
    label: rank,
    color: rank === 'p50' ? ('one' as const) : ('three' as const),
    values: steps.map((one: UsageStep) => one[`${of}_${rank}_ms`]),
    overall: durationOrDash(overall[`${of}_${rank}_ms`]),
  }))
  return (
    <Card title={LATENCIES[of]} gist={rows.map((row) => `${row.label} ${row.overall}`).join(', ')}>
      <SeriesChart
        title={LATENCIES[of]}
        title_hidden
        kind="lines"
        {...reachOf(props)}
        format={duration}
        series={rows}
      />
    </Card>
  )
}

const durationOrDash = (ms: number | null) => (ms === null ? '–' : duration(ms))
