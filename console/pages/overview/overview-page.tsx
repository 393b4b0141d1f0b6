// How the project is doing, at a glance and live: what needs attention, requests, money, latency, what went wrong.
import { useCallback, useMemo } from 'react'
import { refusals } from '../../api/insight-calls.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { LoadFailure, StaleNotice } from '../../parts/load-failure.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import {
  frameWords,
  PERIOD_IDS,
  PERIODS,
  type Period,
  spanInFrame,
  spanLabel,
  type TimeFrame,
  timeFrameIn,
} from '../../parts/periods.ts'
import { useReleaseMarkers } from '../../parts/release-markers.ts'
import { Segments } from '../../parts/segments.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { type AddressQuery, useAddressQuery } from '../../state/address-query.ts'
import { nowMs } from '../../state/browser-clock.ts'
import { type Resource, useResource } from '../../state/resource.ts'
import { useShortcut } from '../../state/shortcuts.ts'
import { AttentionList } from './attention-list.tsx'
import { Headline } from './headline.tsx'
import { LatencyChart, MoneyChart, RequestChart } from './overview-charts.tsx'
import { type Figures, OTHERWISE, useFigures } from './overview-figures.ts'
import { WentWrong } from './went-wrong.tsx'

const POLL_MS = 10_000
const OFFERED = PERIOD_IDS.map((id) => ({ id, label: PERIODS[id].label }))

export default function OverviewPage() {
  const { params, change } = useAddressQuery()
  const asked = ['range', 'from', 'to'].map((name) => params.get(name) ?? '').join('\n')
  const frame = useMemo(() => timeFrameOf(asked), [asked])
  const figures = useFigures(frame)
  const refused = useResource(
    useCallback((signal) => refusals(spanInFrame(frame, nowMs(), OTHERWISE), signal), [frame]),
    { poll_ms: POLL_MS, keep: true },
  )
  function reload() {
    figures.reload()
    refused.reload()
  }
  useShortcut('r', 'Refresh now', reload)
  return (
    <>
      <PageHeader
        title="Overview"
        lead={<Freshness figures={figures} />}
        actions={
          <Segments
            label="Period"
            options={OFFERED}
            value={frame.range as Period}
            onChange={(range) => change({ range, from: undefined, to: undefined })}
          />
        }
      />
      {frame.range === 'custom' && <Zoomed frame={frame} onLeave={() => change(NO_TIME)} />}
      <AttentionList />
      <Usage figures={figures} change={change} />
      <WentWrong
        refused={refused}
        steps={figures.state.kind === 'ready' ? figures.state.value.steps : []}
        frame={frame}
        change={change}
      />
    </>
  )
}

function timeFrameOf(asked: string): TimeFrame {
  const [range = '', from = '', to = ''] = asked.split('\n')
  return timeFrameIn(new URLSearchParams({ range, from, to }), OTHERWISE)
}

const NO_TIME = { range: undefined, from: undefined, to: undefined }

/** A stretch that was cut out of a chart, and the way out of it. */
const Zoomed = ({ frame, onLeave }: { frame: TimeFrame; onLeave(): void }) => (
  <p className="notice notice-row">
    <span>Only {spanLabel(spanInFrame(frame, nowMs(), OTHERWISE))}.</span>
    <Button onClick={onLeave}>Show the last 24 hours</Button>
  </p>
)

function Freshness({ figures: { state } }: { figures: Resource<Figures> }) {
  if (state.kind !== 'ready') return <span>Loading …</span>
  return (
    <span className="live" data-stale={state.stale !== undefined || undefined}>
      <span className="live-dot" aria-hidden="true" />
      {state.stale ? 'Not live: ' : 'Live, '}as of <TimeAgo at={new Date(state.value.at_ms).toISOString()} />
    </span>
  )
}

interface UsageProps {
  figures: Resource<Figures>
  change: AddressQuery['change']
}

function Usage({ figures: { state, reload }, change }: UsageProps) {
  const markers = useReleaseMarkers(state.kind === 'ready' ? state.value.span : undefined)
  if (state.kind === 'failed') return <LoadFailure what="Usage" error={state.error} onRetry={reload} />
  if (state.kind === 'loading') return <Skeletons />
  // Of the period before, while another is on its way.
  const { frame, span, steps, before } = state.value
  if (steps.every(({ requests }) => requests === 0) && before.every(({ requests }) => requests === 0))
    return <Nothing words={frameWords(frame, span)} />
  const drawn = { figures: state.value, markers, change }
  return (
    <div className={state.old && 'is-old'} aria-busy={state.old}>
      <StaleNotice error={state.stale} onRetry={reload} />
      <Headline {...state.value} />
      <div className="panels">
        <RequestChart {...drawn} />
        <MoneyChart {...drawn} />
        <LatencyChart {...drawn} of="ttft" />
        <LatencyChart {...drawn} of="duration" />
      </div>
    </div>
  )
}

const Skeletons = () => (
  <div className="panels" role="status" aria-label="Loading usage">
    {['requests', 'money', 'ttft', 'duration'].map((panel) => (
      <div key={panel} className="card">
        <span className="skeleton" />
        <span className="skeleton skeleton-chart" />
      </div>
    ))}
  </div>
)

const Nothing = ({ words }: { words: string }) => (
  <section className="card empty">
    <h2>No requests in {words}</h2>
    <p>As soon as there are some, their number, cost and latency are drawn here.</p>
    <span className="row">
      <LinkButton to="/start" look="primary">
        Get started
      </LinkButton>
      <LinkButton to="/overview?range=90d">Look at 90 days</LinkButton>
    </span>
  </section>
)
