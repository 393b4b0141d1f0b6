// What a key was used for: thirty days, day by day, and its requests.
import { useCallback, useMemo, useState } from 'react'
import { type UsageGroup, usageGroups } from '../../api/usage-calls.ts'
import { count, money, shortCount } from '../../parts/amounts.ts'
import { Card } from '../../parts/card.tsx'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { inAddress, spanOf } from '../../parts/periods.ts'
import { useReleaseMarkers } from '../../parts/release-markers.ts'
import { Segments } from '../../parts/segments.tsx'
import { SeriesChart } from '../../parts/series-chart.tsx'
import { nowMs } from '../../state/browser-clock.ts'
import { navigate } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { EventPages } from '../usage/event-pages.tsx'

const DAYS = 30
const DAY_MS = 86_400_000
const POLL_MS = 15_000

const MEASURES = {
  spend: { label: 'Spend', of: ({ charged_micros }: UsageGroup) => charged_micros, format: money },
  requests: { label: 'Requests', of: ({ events }: UsageGroup) => events, format: count },
  tokens: {
    label: 'Tokens',
    of: ({ input_tokens, output_tokens }: UsageGroup) => input_tokens + output_tokens,
    format: shortCount,
  },
}
type MeasureId = keyof typeof MEASURES
const OFFERED = (Object.keys(MEASURES) as MeasureId[]).map((id) => ({ id, label: MEASURES[id].label }))

export function KeyUsage({ key_id }: { key_id: string }) {
  const [measure, setMeasure] = useState<MeasureId>('spend')
  const days = useMemo(lastDays, [])
  const from = `${days[0]}T00:00:00Z`
  const { state, reload } = useResource(
    useCallback((signal) => usageGroups({ key_id, from, group_by: 'day' }, signal), [key_id, from]),
    { poll_ms: POLL_MS },
  )
  const of_key = useMemo(() => ({ key_id }), [key_id])
  return (
    <>
      <Card
        title={`Last ${DAYS} days`}
        actions={<Segments<MeasureId> label="What is drawn" options={OFFERED} value={measure} onChange={setMeasure} />}
      >
        {state.kind === 'failed' && <LoadFailure what="Usage" error={state.error} onRetry={reload} />}
        {state.kind === 'loading' && <div className="skeleton skeleton-chart" />}
        {state.kind === 'ready' && <Days days={days} groups={state.value} measure={measure} key_id={key_id} />}
      </Card>
      <Card title="Latest requests" gist="When, which model, how it ended and what it cost">
        <EventPages key={key_id} query={of_key} empty={<p>No request was made with this key yet.</p>} />
      </Card>
    </>
  )
}

/** As the service adds up: days in UTC, the oldest first. */
function lastDays(): string[] {
  const today = nowMs()
  return Array.from({ length: DAYS }, (_, at) => new Date(today - (DAYS - 1 - at) * DAY_MS).toISOString().slice(0, 10))
}

interface DaysProps {
  days: readonly string[]
  groups: readonly UsageGroup[]
  measure: MeasureId
  key_id: string
}

/** A day leads to its requests. */
function Days({ days, groups, measure, key_id }: DaysProps) {
  const { label, of, format } = MEASURES[measure]
  const known = new Map(groups.map((group) => [group.day, of(group)]))
  const markers = useReleaseMarkers(useMemo(() => spanOf('30d', nowMs()), []))
  return (
    <SeriesChart
      title={`${label} by this key`}
      title_hidden
      kind="bars"
      starts={days.map((day) => Date.parse(day))}
      step="day"
      markers={markers}
      series={[{ id: measure, label, color: 'one', values: days.map((day) => known.get(day) ?? 0) }]}
      format={format}
      onPick={(at) => navigate(`/usage?key_id=${key_id}&at=${days[at]}T00:00:00.000Z`)}
      onZoom={(from_ms, to_ms) => navigate(`/usage?${new URLSearchParams({ key_id, ...inAddress(from_ms, to_ms) })}`)}
    />
  )
}
