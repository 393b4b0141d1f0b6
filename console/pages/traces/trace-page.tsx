// One generation's life: what happened when, what it used and cost, and what its headers said.

import { useCallback } from 'react'
import { findTrace, type Trace } from '../../api/insight-calls.ts'
import { count, exactMoney } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { Card, Stat, Stats } from '../../parts/card.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { duration, percent } from '../../parts/figures.ts'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { statusTone } from '../../parts/request-columns.tsx'
import { moment } from '../../parts/times.ts'
import { lastList } from '../../state/last-list.ts'
import { useNamesOf } from '../../state/names-of-things.ts'
import { Link } from '../../state/navigation.tsx'
import { type Loaded, useResource } from '../../state/resource.ts'
import { LAYERS, outcomeLabel } from '../overview/refusal-layers.ts'
import { TraceFailure } from './trace-failure.tsx'
import { TraceHeaders } from './trace-headers.tsx'
import { TraceRecording } from './trace-recording.tsx'
import { TraceRoute } from './trace-route.tsx'
import { TraceTimeline } from './trace-timeline.tsx'

/** What happened does not change: it is asked for once. */
export default function TracePage({ id = '' }: { id?: string }) {
  const { state, reload } = useResource(useCallback((signal) => findTrace(id, signal), [id]))
  return (
    <>
      <PageHeader
        title="Request"
        up={{ to: lastList(), label: 'Requests' }}
        lead={<Identity id={id} state={state} />}
      />
      {state.kind === 'failed' && state.error.status === 404 && <Unknown />}
      {state.kind === 'failed' && state.error.status !== 404 && (
        <LoadFailure what="The trace" error={state.error} onRetry={reload} />
      )}
      {state.kind === 'loading' && <span className="skeleton skeleton-chart" role="status" aria-label="Loading" />}
      {state.kind === 'ready' && <Life trace={state.value} />}
    </>
  )
}

const Identity = ({ id, state }: { id: string; state: Loaded<Trace> }) => (
  <span className="row">
    {state.kind === 'ready' && (
      <Badge tone={state.value.outcome === 'refused' ? 'bad' : statusTone(state.value.outcome)}>
        {outcomeLabel(state.value.outcome)}
      </Badge>
    )}
    <code>{id}</code>
    <CopyButton text={id} what="trace id" look="quiet" />
  </span>
)

const Unknown = () => (
  <div className="empty">
    <h2>There is no such request in this project</h2>
    <p>
      The id may be of another project, of a request that generated nothing, or older than 30 days. Of many equal
      refusals only the first of each minute are kept. Just refused, by another replica? It is here within 5 seconds:
      reload the page.
    </p>
    <Link to="/requests">Show the latest requests</Link>
  </div>
)

const Life = ({ trace }: { trace: Trace }) => (
  <>
    {trace.refusal !== null && <TraceFailure trace={trace} refusal={trace.refusal} />}
    <Card title="Timeline" actions={<span className="muted">{moment(trace.arrived_at)}</span>}>
      <TraceTimeline trace={trace} />
    </Card>
    {trace.usage === null ? <Asked trace={trace} /> : <Facts usage={trace.usage} />}
    {trace.placing !== null && <TraceRoute placing={trace.placing} />}
    <TraceRecording id={trace.id} recording={trace.recording} />
    <Card title="Headers of the answer" gist={`${count(trace.headers.length)}, each with what it says`}>
      <TraceHeaders headers={trace.headers} />
    </Card>
  </>
)

type Usage = NonNullable<Trace['usage']>

/** Of what was refused: nothing was used, and nothing paid. */
const Asked = ({ trace: { requested_model, target, key_id, endpoint, refusal } }: { trace: Trace }) => (
  <Card title="Asked for">
    <Stats>
      <Stat label="Model">{requested_model ?? 'not read'}</Stat>
      <Stat label="Endpoint">
        <code>{endpoint}</code>
      </Stat>
      <Stat label="Key">
        <KeyLink id={key_id} />
      </Stat>
      <Stat label="Target">{target ?? 'none yet'}</Stat>
      <Stat label="Refused by">{refusal === null ? 'unknown' : LAYERS[refusal.layer].label}</Stat>
    </Stats>
  </Card>
)

function Facts({ usage }: { usage: Usage }) {
  const { requested_model, resolved_model, key_id, session_id, cluster_id, mode, provider } = usage
  return (
    <Card title="Used and paid">
      <Stats>
        <Stat label="Model">
          <span className="two-lines">
            <Narrowed by="model" value={resolved_model} />
            {requested_model !== resolved_model && <span className="muted">asked for as {requested_model}</span>}
          </span>
        </Stat>
        <Stat label="Provider">{mode === 'placeholder' ? 'placeholder' : provider}</Stat>
        <Stat label="Key">
          <KeyLink id={key_id} />
        </Stat>
        {session_id !== null && (
          <Stat label="Session">
            <Narrowed by="session_id" value={session_id} />
          </Stat>
        )}
        {usage.alias_release_id !== null && (
          <Stat label="Release">
            <Narrowed by="alias_release_id" value={usage.alias_release_id} />
          </Stat>
        )}
        {usage.bundle_id !== null && (
          <Stat label="Bundle">
            <Narrowed by="bundle_id" value={usage.bundle_id} />
          </Stat>
        )}
        {cluster_id !== null && (
          <Stat label="Cluster">
            <Narrowed by="cluster_id" value={cluster_id} />
          </Stat>
        )}
        {usage.tags && (
          <Stat label="Tags">
            <span className="row">
              {Object.entries(usage.tags).map(([name, value]) => (
                <Narrowed key={name} by="tag" value={`${name}=${value}`} />
              ))}
            </span>
          </Stat>
        )}
      </Stats>
      <Amounts usage={usage} />
    </Card>
  )
}

/** To everything else of the same kind. */
function Narrowed({ by, value }: { by: string; value: string }) {
  const name = useNamesOf([value]).get(value)
  return <Link to={`/requests?${new URLSearchParams({ [by]: value })}`}>{name ?? value}</Link>
}

function KeyLink({ id }: { id: string }) {
  const name = useNamesOf([id]).get(id)
  return (
    <Link to={`/keys/${id}`} title={id}>
      {name ?? <code>{id}</code>}
    </Link>
  )
}

function Amounts({ usage }: { usage: Usage }) {
  const { input_tokens, cached_tokens, output_tokens, reasoning_tokens, ttft_ms, queue_ms } = usage
  return (
    <Stats>
      <Stat label="Tokens in">
        <span className="two-lines">
          {count(input_tokens)}
          <span className="muted">{percent(cached_tokens, input_tokens)} cached</span>
        </span>
      </Stat>
      <Stat label="Tokens out">
        <span className="two-lines">
          {count(output_tokens)}
          {reasoning_tokens > 0 && <span className="muted">{count(reasoning_tokens)} for reasoning</span>}
        </span>
      </Stat>
      <Stat label="First token">{ttft_ms === null ? 'none came' : duration(ttft_ms)}</Stat>
      <Stat label="Queue">{duration(queue_ms)}</Stat>
      <Stat label="Charged">{exactMoney(usage.charged_micros)}</Stat>
      <Stat label="Saved">
        <span className="two-lines">
          {exactMoney(usage.savings_micros)}
          <span className="muted">of {exactMoney(usage.direct_cost_micros)} direct</span>
        </span>
      </Stat>
      {usage.written_off_micros > 0 && <Stat label="Written off">{exactMoney(usage.written_off_micros)}</Stat>}
      {usage.waived_micros > 0 && <Stat label="Waived">{exactMoney(usage.waived_micros)}</Stat>}
    </Stats>
  )
}
