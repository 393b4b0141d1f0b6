// One measure over time, stacked by the largest groups; a bar opens the requests behind it.
import { useMemo, useRef } from 'react'
import type { UsageStep } from '../../api/timeline-calls.ts'
import type { UsageGroup } from '../../api/usage-calls.ts'
import { Card } from '../../parts/card.tsx'
import { LoadFailure, StaleNotice } from '../../parts/load-failure.tsx'
import { inAddress } from '../../parts/periods.ts'
import { useReleaseMarkers } from '../../parts/release-markers.ts'
import { Segments } from '../../parts/segments.tsx'
import { type Series, SeriesChart, type SeriesColor } from '../../parts/series-chart.tsx'
import type { AddressQuery } from '../../state/address-query.ts'
import { nowMs } from '../../state/browser-clock.ts'
import type { Resource } from '../../state/resource.ts'
import { type Compared, failedMost, largest, type NamedSteps, type Outcomes, useStepsOf } from './usage-figures.ts'
import { MEASURE_IDS, MEASURES, type MeasureId, spanIn, type UsageFrame } from './usage-view.ts'

interface UsageChartProps {
  frame: UsageFrame
  steps: Resource<Compared<UsageStep>>
  groups: Resource<Compared<UsageGroup>>
  /** Undefined while they are not known. */
  outcomes: Outcomes | undefined
  names: ReadonlyMap<string, string>
  measure: MeasureId
  change: AddressQuery['change']
}

const OFFERED = MEASURE_IDS.map((id) => ({ id, label: MEASURES[id].label }))

export function UsageChart(props: UsageChartProps) {
  const { steps, measure, change } = props
  return (
    <Card
      title="Over time"
      actions={
        <Segments label="What is drawn" options={OFFERED} value={measure} onChange={(id) => change({ measure: id })} />
      }
    >
      {steps.state.kind === 'failed' && <LoadFailure what="Usage" error={steps.state.error} onRetry={steps.reload} />}
      {steps.state.kind === 'loading' && <Waiting />}
      {steps.state.kind === 'ready' && (
        <>
          <StaleNotice error={steps.state.stale} onRetry={steps.reload} />
          <Drawn {...props} known={steps.state.value} />
        </>
      )}
    </Card>
  )
}

const Waiting = () => <div className="skeleton skeleton-chart" role="status" aria-label="Loading" />

/** Another order of the same frame is drawn with what is known until it is there. Undefined while nothing is known. */
function useSplit(frame: UsageFrame, names: string): NamedSteps[] | undefined {
  const { state } = useStepsOf(frame, names)
  const kept = useRef<{ frame: UsageFrame; split: NamedSteps[] }>(undefined)
  if (state.kind === 'ready') kept.current = { frame, split: state.value }
  if (state.kind === 'failed') return [] // the whole is known all the same
  return kept.current?.frame === frame ? kept.current.split : undefined
}

function Drawn(props: UsageChartProps & { known: Compared<UsageStep> }) {
  const { frame, groups, outcomes, names, measure, change, known } = props
  const { label, format, ofStep, ofGroup } = MEASURES[measure]
  const all = groups.state.kind === 'ready' ? groups.state.value.now : []
  const top = measure === 'errors' && outcomes ? failedMost(outcomes) : largest(all, frame.by, ofGroup)
  const split = useSplit(frame, top.join('\n'))
  const span = useMemo(() => spanIn(frame, nowMs()), [frame])
  const markers = useReleaseMarkers(span)
  return (
    <SeriesChart
      title={label}
      title_hidden
      kind="bars"
      starts={known.now.map(({ start }) => Date.parse(start))}
      step={span.step}
      markers={markers}
      format={format}
      // The whole is drawn at once; what it is made of follows.
      series={splitSeries(known.now, split ?? [], ofStep).map((one) => ({
        ...one,
        label: (frame.by === 'key_id' && names.get(one.label)) || one.label,
      }))}
      before={known.before?.map(ofStep)}
      onPick={(at) => change({ at: known.now[at]?.start })}
      onZoom={(from_ms, to_ms) => change({ ...inAddress(from_ms, to_ms), at: undefined })}
    />
  )
}

const COLORS: readonly SeriesColor[] = ['one', 'two', 'three', 'four', 'five']

/** The largest groups, and the rest: what no group that is drawn accounts for. */
export function splitSeries(
  steps: readonly UsageStep[],
  split: readonly NamedSteps[],
  of: (step: UsageStep) => number,
): Series[] {
  const parts = split.map(({ name, steps: own }, at) => {
    const at_start = new Map(own.map((step) => [step.start, of(step)]))
    const values = steps.map(({ start }) => at_start.get(start) ?? 0)
    return { id: name, label: name, color: COLORS[at] ?? 'rest', values }
  })
  // Parts and whole were asked for one after the other: a request in between must not make a bar below zero.
  const rest = steps.map((step, at) =>
    Math.max(0, of(step) - parts.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
  )
  const has_rest = parts.length === 0 || rest.some((value) => value > 0)
  const color: SeriesColor = parts.length === 0 ? 'one' : 'rest'
  const label = parts.length === 0 ? 'all' : 'the rest'
  return has_rest ? [...parts, { id: 'the rest', label, color, values: rest }] : parts
}
