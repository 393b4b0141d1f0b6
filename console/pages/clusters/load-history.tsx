// R52: how loaded a cluster was over the last day or week. Where it told nothing, the line stops.
import { useCallback, useMemo, useState } from 'react'
import { type ClusterLoad, clusterLoad } from '../../api/cluster-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Card } from '../../parts/card.tsx'
import { duration } from '../../parts/figures.ts'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { wholePercent } from '../../parts/measures.ts'
import { Segments } from '../../parts/segments.tsx'
import { type Series, SeriesChart } from '../../parts/series-chart.tsx'
import { nowMs } from '../../state/browser-clock.ts'
import { useResource } from '../../state/resource.ts'
import { loadRows, type Measure } from './load-rows.ts'

const POLL_MS = 60_000
const MINUTE_MS = 60_000

const SPANS = {
  day: { label: '24 hours', step_ms: 5 * MINUTE_MS, steps: 288, step: 'minute' },
  week: { label: '7 days', step_ms: 60 * MINUTE_MS, steps: 168, step: 'hour' },
} as const
type SpanId = keyof typeof SPANS
const OFFERED = (Object.keys(SPANS) as SpanId[]).map((id) => ({ id, label: SPANS[id].label }))

interface Chart {
  title: string
  format(value: number): string
  rows: readonly { of: Measure; label: string; color: Series['color'] }[]
}

const CHARTS: readonly Chart[] = [
  {
    title: 'Requests on it',
    format: count,
    rows: [
      { of: 'running', label: 'running', color: 'one' },
      { of: 'waiting', label: 'waiting', color: 'three' },
    ],
  },
  {
    title: 'KV cache in use',
    format: (percent) => wholePercent(percent / 100),
    rows: [{ of: 'kv_percent', label: 'in use', color: 'two' }],
  },
  { title: 'First token, p95', format: duration, rows: [{ of: 'ttft_p95_ms', label: 'p95', color: 'three' }] },
]

export function LoadHistory({ cluster_id }: { cluster_id: string }) {
  const [span, setSpan] = useState<SpanId>('day')
  const { state, reload } = useResource(
    useCallback((signal) => loadOf(cluster_id, span, signal), [cluster_id, span]),
    { poll_ms: POLL_MS, keep: true },
  )
  return (
    <Card
      title="Load over time"
      gist={CHARTS.map(({ title }) => title).join(' · ')}
      actions={<Segments<SpanId> label="Time" options={OFFERED} value={span} onChange={setSpan} />}
    >
      {state.kind === 'failed' && <LoadFailure what="Its load" error={state.error} onRetry={reload} />}
      {state.kind === 'loading' && <div className="skeleton skeleton-chart" />}
      {state.kind === 'ready' && state.value.loads.length === 0 && (
        <p className="muted">Its heartbeats reported no load in this time.</p>
      )}
      {state.kind === 'ready' && state.value.loads.length > 0 && <Charts {...state.value} />}
    </Card>
  )
}

interface Loads {
  span: SpanId
  starts: number[]
  loads: ClusterLoad[]
}

async function loadOf(cluster_id: string, span: SpanId, signal: AbortSignal): Promise<Loads> {
  const { step_ms, steps } = SPANS[span]
  const now = nowMs()
  const first = now - (now % step_ms) - (steps - 1) * step_ms
  const starts = Array.from({ length: steps }, (_, at) => first + at * step_ms)
  return { span, starts, loads: await clusterLoad(cluster_id, new Date(first).toISOString(), signal) }
}

function Charts({ span, starts, loads }: Loads) {
  const { step, step_ms } = SPANS[span]
  const rows = useMemo(() => loadRows(loads, starts, step_ms), [loads, starts, step_ms])
  return (
    <div className="panels panels-three">
      {CHARTS.map(({ title, format, rows: shown }) => (
        <SeriesChart
          key={title}
          title={title}
          kind="lines"
          starts={starts}
          step={step}
          step_ms={step_ms}
          format={format}
          series={shown.map(({ of, label, color }) => ({
            id: of,
            label,
            color,
            values: rows[of],
            overall: `up to ${format(Math.max(0, ...rows[of].map((value) => value ?? 0)))}`,
          }))}
        />
      ))}
    </div>
  )
}
