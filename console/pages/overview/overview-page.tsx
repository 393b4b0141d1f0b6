// How the project is doing, at a glance and live: what needs attention, requests, money, latency, what went wrong.
import { useCallback } from 'react'
import { refusals } from '../../api/insight-calls.ts'
import { type UsageStep, usageTimeline } from '../../api/timeline-calls.ts'
import { LinkButton } from '../../parts/button.tsx'
import { LoadFailure, StaleNotice } from '../../parts/load-failure.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { PERIOD_IDS, PERIODS, type Period, periodFrom, spanBefore, spanOf } from '../../parts/periods.ts'
import { Segments } from '../../parts/segments.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { useAddressQuery } from '../../state/address-query.ts'
import { nowMs } from '../../state/browser-clock.ts'
import { type Resource, useResource } from '../../state/resource.ts'
import { useShortcut } from '../../state/shortcuts.ts'
import { AttentionList } from './attention-list.tsx'
import { Headline } from './headline.tsx'
import { LatencyChart, MoneyChart, RequestChart } from './overview-charts.tsx'
import { WentWrong } from './went-wrong.tsx'

const POLL_MS = 10_000
const OFFERED = PERIOD_IDS.map((id) => ({ id, label: PERIODS[id].label }))

export interface Figures {
  period: Period
  steps: UsageStep[]
  /** As long, and just before. */
  before: UsageStep[]
  at_ms: number
}

export default function OverviewPage() {
  const { params, change } = useAddressQuery()
  const period = periodFrom(params.get('range'), '24h')
  const figures = useFigures(period)
  const refused = useResource(
    useCallback((signal) => refusals(spanOf(period, nowMs()), signal), [period]),
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
        actions={<Segments label="Period" options={OFFERED} value={period} onChange={(range) => change({ range })} />}
      />
      <AttentionList />
      <Usage figures={figures} />
      <WentWrong
        refused={refused}
        steps={figures.state.kind === 'ready' ? figures.state.value.steps : []}
        period={period}
      />
    </>
  )
}

/** The end of the period moves with the time, so it is worked out anew for every question. */
function useFigures(period: Period): Resource<Figures> {
  return useResource(
    useCallback(
      async (signal: AbortSignal) => {
        const at_ms = nowMs()
        const span = spanOf(period, at_ms)
        const asked = [usageTimeline(span, {}, signal), usageTimeline(spanBefore(span), {}, signal)] as const
        const [steps, before] = await Promise.all(asked)
        return { period, steps, before, at_ms }
      },
      [period],
    ),
    { poll_ms: POLL_MS, keep: true },
  )
}

function Freshness({ figures: { state } }: { figures: Resource<Figures> }) {
  if (state.kind !== 'ready') return <span>Loading …</span>
  return (
    <span className="live" data-stale={state.stale !== undefined || undefined}>
      <span className="live-dot" aria-hidden="true" />
      {state.stale ? 'Not live: ' : 'Live, '}as of <TimeAgo at={new Date(state.value.at_ms).toISOString()} />
    </span>
  )
}

function Usage({ figures: { state, reload } }: { figures: Resource<Figures> }) {
  if (state.kind === 'failed') return <LoadFailure what="Usage" error={state.error} onRetry={reload} />
  if (state.kind === 'loading') return <Skeletons />
  // Of the period before, while another is on its way.
  const { period, steps, before } = state.value
  const { step, words } = PERIODS[period]
  if (steps.every(({ requests }) => requests === 0) && before.every(({ requests }) => requests === 0))
    return <Nothing words={words} />
  return (
    <div className={state.old && 'is-old'} aria-busy={state.old}>
      <StaleNotice error={state.stale} onRetry={reload} />
      <Headline steps={steps} before={before} step={step} />
      <div className="panels">
        <RequestChart steps={steps} step={step} />
        <MoneyChart steps={steps} step={step} />
        <LatencyChart steps={steps} step={step} of="ttft" />
        <LatencyChart steps={steps} step={step} of="duration" />
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
    <h2>Nothing was generated in {words}</h2>
    <p>As soon as something is, its requests, cost and latency are drawn here.</p>
    <span className="row">
      <LinkButton to="/start" look="primary">
        Get started
      </LinkButton>
      <LinkButton to="/overview?range=90d">Look at 90 days</LinkButton>
    </span>
  </section>
)
