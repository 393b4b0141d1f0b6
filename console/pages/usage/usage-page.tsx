// What was used and what it cost: over a time, narrowed down, added up, beside the time before; down to each request.
import { useCallback, useMemo, useState } from 'react'
import { eventsTable, groupsTable } from '../../api/csv-calls.ts'
import { findKey, listKeys } from '../../api/key-calls.ts'
import { between } from '../../api/timeline-calls.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { DownloadButton } from '../../parts/download-button.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { spanLabel, spanOfStep } from '../../parts/periods.ts'
import { changedQuery, useAddressQuery } from '../../state/address-query.ts'
import { nowMs } from '../../state/browser-clock.ts'
import { useResource } from '../../state/resource.ts'
import { EventPages } from './event-pages.tsx'
import { UsageBreakdown } from './usage-breakdown.tsx'
import { UsageChart } from './usage-chart.tsx'
import { UsageControls } from './usage-controls.tsx'
import { useGroups, useOutcomes, useSteps } from './usage-figures.ts'
import { UsageFiltering } from './usage-filtering.tsx'
import { DIMENSIONS, frameFrom, groupedBy, measureFrom, spanIn, type UsageFrame } from './usage-view.ts'

export type KeyNames = ReadonlyMap<string, string>

export default function UsagePage() {
  const { params, change } = useAddressQuery()
  // Which bar is open and what is drawn ask for nothing new.
  const frame_key = changedQuery(params.toString(), { at: undefined, measure: undefined })
  const frame = useMemo(() => frameFrom(new URLSearchParams(frame_key)), [frame_key])
  const at = params.get('at')
  const steps = useSteps(frame)
  const groups = useGroups(frame, steps)
  const outcomes = useOutcomes(frame, groups)
  const names = useKeyNames(frame)
  const span = useMemo(() => spanIn(frame, nowMs()), [frame])
  const asked = useMemo(() => ({ ...frame.filters, ...between(span) }), [frame, span])
  return (
    <>
      <PageHeader title="Usage" lead={`${spanLabel(span)}, by the ${span.step}`} />
      <UsageControls frame={frame} change={change} />
      <UsageFiltering frame={frame} names={names} change={change} />
      <UsageChart
        frame={frame}
        steps={steps}
        groups={groups}
        outcomes={outcomes}
        names={names}
        measure={measureFrom(params.get('measure'))}
        change={change}
      />
      <Card
        title={`By ${DIMENSIONS[frame.by].toLowerCase()}`}
        actions={
          <DownloadButton
            what="sums"
            file={`usage-by-${frame.by}.csv`}
            load={() => groupsTable({ ...asked, group_by: groupedBy(frame) })}
          />
        }
      >
        <UsageBreakdown frame={frame} groups={groups} outcomes={outcomes} names={names} change={change} />
      </Card>
      <Requests frame={frame} at={at} onClear={() => change({ at: undefined })} />
    </>
  )
}

/** Only where keys are spoken of, and only of those. */
function useKeyNames({ by, filters: { key_id } }: UsageFrame): KeyNames {
  const { state } = useResource(
    useCallback(
      async (signal: AbortSignal) => {
        if (by === 'key_id') return listKeys(signal)
        return key_id === undefined ? [] : [await findKey(key_id, signal)]
      },
      [by, key_id],
    ),
  )
  return useMemo(() => new Map(state.kind === 'ready' ? state.value.map(({ id, name }) => [id, name]) : []), [state])
}

interface RequestsProps {
  frame: UsageFrame
  at: string | null
  onClear(): void
}

/** All of the period, or those of the bar that is open. */
function Requests({ frame, at, onClear }: RequestsProps) {
  const [opened_ms] = useState(nowMs)
  const whole = useMemo(() => spanIn(frame, opened_ms), [frame, opened_ms])
  const start_ms = at === null ? Number.NaN : Date.parse(at)
  const query = useMemo(() => {
    const span = Number.isNaN(start_ms) ? whole : spanOfStep({ ...whole, from_ms: 0, to_ms: opened_ms }, start_ms)
    // What is still going on has no end yet: new requests come in at the top.
    const { from, to } = between(span)
    return { ...frame.filters, from, ...(span.to_ms < opened_ms && { to }) }
  }, [frame, whole, start_ms, opened_ms])
  const one = Number.isNaN(start_ms) ? undefined : spanOfStep({ ...whole, from_ms: 0, to_ms: Infinity }, start_ms)
  return (
    <Card
      title="Requests"
      gist={`All of ${spanLabel(whole)}, the newest first`}
      is_open={one !== undefined}
      actions={<DownloadButton what="requests" file="usage.csv" load={() => eventsTable(query)} />}
    >
      {one && (
        <p className="notice notice-row" ref={intoView} tabIndex={-1} key={at}>
          <span>Only those from {spanLabel(one)}.</span>
          <Button onClick={onClear}>Show all of the period</Button>
        </p>
      )}
      <EventPages key={JSON.stringify(query)} query={query} empty={<p>No request in this period matches.</p>} />
    </Card>
  )
}

/** Whoever opened a bar is led to what is in it. */
function intoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'center' })
  element?.focus({ preventScroll: true })
}
