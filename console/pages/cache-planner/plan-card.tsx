// §4.9: the plan itself: what is typed, what the service decides, and the request as curl.
import { type CachePlan, PLAN_PATH, planCache } from '../../api/cache-plan-calls.ts'
import { Card } from '../../parts/card.tsx'
import { CodeBlock } from '../../parts/code-block.tsx'
import { curlCommand } from '../../parts/curl-command.ts'
import { Field } from '../../parts/field.tsx'
import { Fold } from '../../parts/fold.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { latency, wholePercent } from '../../parts/measures.ts'
import { useLiveAnswer } from '../../state/live-answer.ts'
import { type PlanDraft, requestOf } from './plan-draft.ts'
import { TierBars } from './tier-bars.tsx'
import { TierTable } from './tier-table.tsx'

export function PlanCard({ draft, onChange }: { draft: PlanDraft; onChange(draft: PlanDraft): void }) {
  const request = requestOf(draft)
  const { value, error, current } = useLiveAnswer(request, planCache)
  const plan = current && !error ? value : undefined
  const fetched = plan?.decision.decision === 'fetch' ? plan.decision.tier : undefined
  return (
    <Card title="Plan">
      <div className="stack">
        <div className="narrow-field">
          <Field
            label="Recompute"
            name="expected_recompute_ms"
            inputMode="decimal"
            autoComplete="off"
            required
            after="ms"
            value={draft.expected_recompute_ms}
            onChange={(expected_recompute_ms) => onChange({ ...draft, expected_recompute_ms })}
            hint="What the GPU needs to compute the prefix anew."
          />
        </div>
        <Fold title="Tiers" gist={draft.tiers.map(({ name }) => name).join(' · ')}>
          <TierTable draft={draft} onChange={onChange} plan={plan} />
        </Fold>
        <TierBars draft={draft} fetched={fetched} />
        <div role="status" className="decision" data-decision={plan?.decision.decision}>
          <DecisionWords plan={plan} complete={request !== undefined} />
        </div>
        <FormError error={current ? error : undefined} fields={[]} />
        {request && (
          <details className="more">
            <summary>The same as a request</summary>
            <CodeBlock code={curlCommand(location.origin, PLAN_PATH, request)} what="plan as curl" />
          </details>
        )}
      </div>
    </Card>
  )
}

function DecisionWords({ plan, complete }: { plan: CachePlan | undefined; complete: boolean }) {
  if (!complete) return <p className="muted">Every cost is a number of milliseconds, and every tier has a name.</p>
  if (!plan) return <p className="muted">Weighing …</p>
  const { decision, expected_recompute_ms: recompute } = plan
  if (decision.decision === 'recompute')
    return (
      <p>
        <strong>Recompute.</strong> No tier is faster than {latency(recompute)} on the GPU.
      </p>
    )
  return (
    <p>
      <strong>Fetch from {decision.tier}.</strong> It takes {latency(recompute - decision.saved_ms)} instead of{' '}
      {latency(recompute)}, which saves {latency(decision.saved_ms)} ({wholePercent(decision.saved_ms / recompute)}).
    </p>
  )
}
