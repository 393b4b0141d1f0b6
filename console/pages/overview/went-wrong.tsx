// What went wrong: requests that were refused, layer by layer, and generations that did not end well.
import { useMemo, useState } from 'react'
import type { RefusalSeries } from '../../api/insight-calls.ts'
import { between, type UsageStep } from '../../api/timeline-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { percent } from '../../parts/figures.ts'
import { Fold } from '../../parts/fold.tsx'
import { LoadFailure, StaleNotice } from '../../parts/load-failure.tsx'
import { frameWords, inAddress, STEP_MS, sameTime, spanInFrame, type TimeFrame } from '../../parts/periods.ts'
import { SeriesChart } from '../../parts/series-chart.tsx'
import type { AddressQuery } from '../../state/address-query.ts'
import { nowMs } from '../../state/browser-clock.ts'
import { useIsNarrow } from '../../state/narrow.ts'
import { Link, navigate } from '../../state/navigation.tsx'
import type { Resource } from '../../state/resource.ts'
import { ENDINGS, KINDS, LAYER_GROUPS, LAYERS, type LayerGroup, WRONG } from './refusal-layers.ts'

interface WentWrongProps {
  refused: Resource<RefusalSeries>
  steps: readonly UsageStep[]
  frame: TimeFrame
  change: AddressQuery['change']
}

export function WentWrong({ refused: { state, reload }, steps, frame, change }: WentWrongProps) {
  return (
    <Card title="Refused and failed">
      {state.kind === 'failed' && <LoadFailure what="Refusals" error={state.error} onRetry={reload} />}
      {state.kind === 'loading' && <div className="skeleton skeleton-chart" />}
      {state.kind === 'ready' && (
        <>
          <StaleNotice error={state.stale} onRetry={reload} />
          <Layers series={state.value} steps={steps} frame={frame} change={change} />
        </>
      )}
    </Card>
  )
}

interface WrongRow {
  id: string
  /** The requests that it counts. */
  to: string
  label: string
  sentence: string
  counted: number
  rate: string
}

interface LayersProps extends Pick<WentWrongProps, 'steps' | 'frame' | 'change'> {
  series: RefusalSeries
}

function Layers({ series, steps, frame, change }: LayersProps) {
  const span = useMemo(() => spanInFrame(frame, nowMs(), '24h'), [frame])
  const rows = useMemo(() => {
    const time = sameTime(frame, span)
    return [...refusedRows(series, steps, time), ...endedRows(steps, time)]
  }, [series, steps, frame, span])
  const words = frameWords(frame, span)
  if (rows.length === 0) return <p className="muted">Nothing was refused and nothing failed in {words}.</p>
  const refusals = series.buckets.some(({ total }) => total > 0)
  return (
    <div className={refusals ? 'panels' : undefined}>
      {refusals && (
        <Fold title={`Refused, by the ${series.step}`} gist={`${count(sumOf(series))} in ${words}`}>
          <RefusalChart series={series} change={change} />
        </Fold>
      )}
      <WrongTable rows={rows} />
    </div>
  )
}

const ROWS_ON_PHONES = 4

/** On a phone the most frequent come first, and the rest when they are wanted. */
function WrongTable({ rows }: { rows: readonly WrongRow[] }) {
  const [all, setAll] = useState(false)
  const is_short = useIsNarrow() && !all
  const shown = is_short ? rows.toSorted((a, b) => b.counted - a.counted).slice(0, ROWS_ON_PHONES) : rows
  return (
    <div className="wrong">
      <table className="table table-dense">
        <caption className="visually-hidden">Refused and failed, by layer</caption>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col" data-align="right">
              Times
            </th>
            <th scope="col" data-align="right">
              Rate
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ id, to, label, sentence, counted, rate }) => (
            <tr key={id}>
              <td>
                <span className="two-lines">
                  <Link to={to}>{label}</Link>
                  <span className="muted">{sentence}</span>
                </span>
              </td>
              <td data-align="right" data-label="Times">
                {count(counted)}
              </td>
              <td data-align="right" data-label="Rate">
                {rate}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < rows.length && (
        <Button look="quiet" onClick={() => setAll(true)}>
          Show {count(rows.length - shown.length)} more
        </Button>
      )}
    </div>
  )
}

const sumOf = ({ buckets }: RefusalSeries) => buckets.reduce((sum, { total }) => sum + total, 0)

function RefusalChart({ series: { step, buckets }, change }: Pick<LayersProps, 'series' | 'change'>) {
  const inGroup = (group: LayerGroup) =>
    buckets.map(({ counts }) =>
      KINDS.reduce((sum, kind) => sum + (LAYERS[kind].group === group ? (counts[kind] ?? 0) : 0), 0),
    )
  return (
    <SeriesChart
      title={`Refused, by the ${step}`}
      kind="bars"
      starts={buckets.map(({ start }) => Date.parse(start))}
      step={step}
      format={count}
      onPick={(at) => openBucket(buckets[at]?.start, step)}
      onZoom={(from_ms, to_ms) => change(inAddress(from_ms, to_ms))}
      series={LAYER_GROUPS.map((group) => ({ ...group, values: inGroup(group.id) }))}
    />
  )
}

/** What went wrong in that hour or day. */
function openBucket(start: string | undefined, step: RefusalSeries['step']): void {
  if (start === undefined) return
  const from_ms = Date.parse(start)
  const span = between({ from_ms, to_ms: from_ms + STEP_MS[step] })
  navigate(`/requests?${new URLSearchParams({ outcome: WRONG, ...span })}`)
}

/** As an address tells it. */
type Time = Readonly<Record<string, string>>

const generated = (steps: readonly UsageStep[]) => steps.reduce((sum, { requests }) => sum + requests, 0)

/** Out of all that came: what ran, and what was refused before it could. What failed while it ran is in both. */
function refusedRows({ totals }: RefusalSeries, steps: readonly UsageStep[], time: Time): WrongRow[] {
  const early = KINDS.filter((kind) => LAYERS[kind].group !== 'running')
  const all = early.reduce((sum, kind) => sum + (totals[kind] ?? 0), generated(steps))
  return KINDS.flatMap((kind) => {
    const counted = totals[kind] ?? 0
    const { label, sentence } = LAYERS[kind]
    const to = `/requests?${new URLSearchParams({ layer: kind, ...time })}`
    const rate = percent(counted, Math.max(all, counted))
    return counted === 0 ? [] : [{ id: kind, to, label, sentence, counted, rate }]
  }).toSorted((a, b) => b.counted - a.counted)
}

function endedRows(steps: readonly UsageStep[], time: Time): WrongRow[] {
  const counts = new Map<string, number>()
  for (const { by_status } of steps)
    for (const [status, number] of Object.entries(by_status)) counts.set(status, (counts.get(status) ?? 0) + number)
  const requests = generated(steps)
  return [...counts]
    .filter(([status]) => status !== 'completed')
    .map(([status, counted]) => ({
      id: `ended ${status}`,
      to: `/requests?${new URLSearchParams({ outcome: status, ...time })}`,
      label: ENDINGS[status]?.label ?? status,
      sentence: ENDINGS[status]?.sentence ?? 'It ended so.',
      counted,
      rate: percent(counted, requests),
    }))
    .toSorted((a, b) => b.counted - a.counted)
}
