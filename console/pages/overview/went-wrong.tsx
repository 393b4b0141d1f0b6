// What went wrong: requests that were refused, layer by layer, and generations that did not end well.
import { useMemo } from 'react'
import type { RefusalSeries } from '../../api/insight-calls.ts'
import type { UsageStep } from '../../api/timeline-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Card } from '../../parts/card.tsx'
import { percent } from '../../parts/figures.ts'
import { LoadFailure, StaleNotice } from '../../parts/load-failure.tsx'
import { stepLabel } from '../../parts/periods.ts'
import { SeriesChart } from '../../parts/series-chart.tsx'
import type { Resource } from '../../state/resource.ts'
import { ENDINGS, KINDS, LAYER_GROUPS, LAYERS, type LayerGroup } from './refusal-layers.ts'

interface WentWrongProps {
  refused: Resource<RefusalSeries>
  steps: readonly UsageStep[]
  words: string
}

export function WentWrong({ refused: { state, reload }, steps, words }: WentWrongProps) {
  return (
    <Card title="Refused and failed">
      {state.kind === 'failed' && <LoadFailure what="Refusals" error={state.error} onRetry={reload} />}
      {state.kind === 'loading' && <div className="skeleton skeleton-chart" />}
      {state.kind === 'ready' && (
        <>
          <StaleNotice error={state.stale} onRetry={reload} />
          <Layers series={state.value} steps={steps} words={words} />
        </>
      )}
    </Card>
  )
}

interface WrongRow {
  id: string
  label: string
  sentence: string
  counted: number
  rate: string
}

function Layers({ series, steps, words }: { series: RefusalSeries; steps: readonly UsageStep[]; words: string }) {
  const rows = useMemo(() => [...refusedRows(series, steps), ...endedRows(steps)], [series, steps])
  if (rows.length === 0) return <p className="muted">Nothing was refused and nothing failed in {words}.</p>
  const refusals = series.buckets.some(({ total }) => total > 0)
  return (
    <div className={refusals ? 'panels' : undefined}>
      {refusals && <RefusalChart series={series} />}
      <table className="table table-dense wrong">
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
          {rows.map(({ id, label, sentence, counted, rate }) => (
            <tr key={id}>
              <td>
                <span className="two-lines">
                  <span>{label}</span>
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
    </div>
  )
}

function RefusalChart({ series: { step, buckets } }: { series: RefusalSeries }) {
  const inGroup = (group: LayerGroup) =>
    buckets.map(({ counts }) =>
      KINDS.reduce((sum, kind) => sum + (LAYERS[kind].group === group ? (counts[kind] ?? 0) : 0), 0),
    )
  return (
    <SeriesChart
      title={`Refused, by the ${step}`}
      kind="bars"
      places={buckets.map(({ start }) => stepLabel(Date.parse(start), step))}
      format={count}
      series={LAYER_GROUPS.map((group) => ({ ...group, values: inGroup(group.id) }))}
    />
  )
}

const generated = (steps: readonly UsageStep[]) => steps.reduce((sum, { requests }) => sum + requests, 0)

/** Out of all that came: what ran, and what was refused before it could. What failed while it ran is in both. */
function refusedRows({ totals }: RefusalSeries, steps: readonly UsageStep[]): WrongRow[] {
  const early = KINDS.filter((kind) => LAYERS[kind].group !== 'running')
  const all = early.reduce((sum, kind) => sum + (totals[kind] ?? 0), generated(steps))
  return KINDS.flatMap((kind) => {
    const counted = totals[kind] ?? 0
    const { label, sentence } = LAYERS[kind]
    return counted === 0 ? [] : [{ id: kind, label, sentence, counted, rate: percent(counted, Math.max(all, counted)) }]
  }).toSorted((a, b) => b.counted - a.counted)
}

function endedRows(steps: readonly UsageStep[]): WrongRow[] {
  const counts = new Map<string, number>()
  for (const { by_status } of steps)
    for (const [status, number] of Object.entries(by_status)) counts.set(status, (counts.get(status) ?? 0) + number)
  const requests = generated(steps)
  return [...counts]
    .filter(([status]) => status !== 'completed')
    .map(([status, counted]) => ({
      id: `ended ${status}`,
      label: ENDINGS[status]?.label ?? status,
      sentence: ENDINGS[status]?.sentence ?? 'It ended so.',
      counted,
      rate: percent(counted, requests),
    }))
    .toSorted((a, b) => b.counted - a.counted)
}
