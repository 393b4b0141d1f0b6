// §4.9: tier costs derived from model, GPU, prefix length and bandwidths; taken into the plan with one click.
import { useState } from 'react'
import {
  type CacheEstimate,
  type CacheFigures,
  cacheFigures,
  ESTIMATE_PATH,
  estimateCache,
  type PlanRequest,
} from '../../api/cache-plan-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { CodeBlock } from '../../parts/code-block.tsx'
import { curlCommand } from '../../parts/curl-command.ts'
import { FormError } from '../../parts/labelled-field.tsx'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { latency, size } from '../../parts/measures.ts'
import { useLiveAnswer } from '../../state/live-answer.ts'
import { useResource } from '../../state/resource.ts'
import { EstimateCharts } from './estimate-charts.tsx'
import { estimateRequest, firstEstimate } from './estimate-draft.ts'
import { EstimateForm } from './estimate-form.tsx'
import { EstimatedCosts } from './estimated-costs.tsx'

interface EstimateCardProps {
  onTake(request: PlanRequest): void
}

export function EstimateCard({ onTake }: EstimateCardProps) {
  const { state, reload } = useResource(cacheFigures)
  return (
    <Card title="Estimate the costs" gist="From a model, its GPUs and the length of a prefix">
      {state.kind === 'loading' && <div className="skeleton skeleton-chart" />}
      {state.kind === 'failed' && <LoadFailure what="The tables" error={state.error} onRetry={reload} />}
      {state.kind === 'ready' && <Estimate figures={state.value} onTake={onTake} />}
    </Card>
  )
}

const FIELDS = ['model', 'gpu.type', 'gpu.count', 'gpu.precision', 'prefix_tokens', 'kv_bytes_per_value']

function Estimate({ figures, onTake }: EstimateCardProps & { figures: CacheFigures }) {
  const [draft, setDraft] = useState(() => firstEstimate(figures))
  const request = estimateRequest(draft)
  const { value, error, current } = useLiveAnswer(request, estimateCache)
  const refused = current ? error : undefined
  return (
    <div className="stack">
      <p className="muted">
        From published figures of {figures.as_of}. What nobody publishes is assumed, and called so below.
      </p>
      <EstimateForm figures={figures} draft={draft} onChange={setDraft} error={refused} />
      {!request && <p className="notice">Whole numbers of GPUs and tokens, and at least one tier, make an estimate.</p>}
      <FormError error={refused} fields={FIELDS} />
      {value && (
        <div className="stack" aria-busy={!current} data-stale={!current || refused ? true : undefined}>
          <EstimateWords estimate={value} />
          <EstimatedCosts estimate={value} />
          <span>
            <Button
              look="primary"
              disabled={!current || refused !== undefined}
              onClick={() => onTake(value.plan_request)}
            >
              Use these costs in the plan
            </Button>
          </span>
          <EstimateCharts estimate={value} />
        </div>
      )}
      {request && (
        <details className="more">
          <summary>The same as a request</summary>
          <CodeBlock code={curlCommand(location.origin, ESTIMATE_PATH, request)} what="estimate as curl" />
        </details>
      )}
    </div>
  )
}

function EstimateWords({ estimate }: { estimate: CacheEstimate }) {
  const { prefix_tokens, kv_bytes, expected_recompute_ms, recompute_margin_pct, plan } = estimate
  return (
    <p role="status">
      {count(prefix_tokens)} tokens are {size(kv_bytes)} of cache. Computing them takes about{' '}
      {latency(expected_recompute_ms)}, give or take {recompute_margin_pct}%.{' '}
      <strong>
        {plan.decision.decision === 'fetch'
          ? `Fetching from ${plan.decision.tier} saves ${latency(plan.decision.saved_ms ?? 0)}.`
          : 'No tier is faster.'}
      </strong>
    </p>
  )
}
