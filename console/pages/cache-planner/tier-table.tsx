// §4.9: the tiers of a plan as a table one types into, with a row's bar and what the service says of it.
import type { CachePlan } from '../../api/cache-plan-calls.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { latency } from '../../parts/measures.ts'
import { COST_NAMES, COSTS, newTier, numberIn, type PlanDraft, TIERS_MAX, type TierDraft } from './plan-draft.ts'

interface TierTableProps {
  draft: PlanDraft
  onChange(draft: PlanDraft): void
  /** What the service says to exactly this draft; undefined while it has not. */
  plan: CachePlan | undefined
}

export function TierTable({ draft, onChange, plan }: TierTableProps) {
  const { tiers } = draft
  const put = (tiers: readonly TierDraft[]) => onChange({ ...draft, tiers })
  const change = (changed: TierDraft) => put(tiers.map((one) => (one.id === changed.id ? changed : one)))
  return (
    <>
      <div className="scroll-x">
        <table className="table tier-table">
          <caption className="visually-hidden">Tiers and what a fetch from each costs</caption>
          <thead>
            <tr>
              <th scope="col">Tier</th>
              {COSTS.map((cost) => (
                <th key={cost} scope="col" data-align="right">
                  {COST_NAMES[cost]}, ms
                </th>
              ))}
              <th scope="col">Total</th>
              <th scope="col">
                <span className="visually-hidden">Remove</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {tiers.map((one, at) => (
              <TierRow
                key={one.id}
                tier={one}
                onChange={change}
                onRemove={tiers.length > 1 ? () => put(tiers.filter(({ id }) => id !== one.id)) : undefined}
                verdict={plan?.tiers[at]}
              />
            ))}
          </tbody>
        </table>
      </div>
      <span>
        <Button disabled={tiers.length >= TIERS_MAX} onClick={() => put([...tiers, newTier(tiers)])}>
          Add tier
        </Button>
      </span>
    </>
  )
}

interface TierRowProps {
  tier: TierDraft
  onChange(tier: TierDraft): void
  onRemove: (() => void) | undefined
  verdict: CachePlan['tiers'][number] | undefined
}

const TierRow = ({ tier, onChange, onRemove, verdict }: TierRowProps) => (
  <tr>
    <td data-label="Tier">
      <input
        className="cell-input"
        aria-label="Name of the tier"
        value={tier.name}
        aria-invalid={tier.name.trim() === '' || undefined}
        onChange={(event) => onChange({ ...tier, name: event.target.value })}
      />
    </td>
    {COSTS.map((cost) => (
      <td key={cost} data-label={`${COST_NAMES[cost]}, ms`}>
        <input
          className="cell-input cell-number"
          inputMode="decimal"
          aria-label={`${COST_NAMES[cost]} of ${tier.name}, in ms`}
          value={tier[cost]}
          aria-invalid={numberIn(tier[cost]) === undefined || undefined}
          onChange={(event) => onChange({ ...tier, [cost]: event.target.value })}
        />
      </td>
    ))}
    <td data-label="Total">{verdict ? <Verdict {...verdict} /> : <span className="muted">…</span>}</td>
    <td className="cell-end">
      {onRemove && (
        <Button look="quiet" aria-label={`Remove ${tier.name}`} onClick={onRemove}>
          ×
        </Button>
      )}
    </td>
  </tr>
)

const Verdict = ({ total_ms, beats_recompute, saved_ms }: CachePlan['tiers'][number]) => (
  <span className="verdict">
    {latency(total_ms)}
    <Badge tone={beats_recompute ? 'good' : 'calm'}>
      {beats_recompute
        ? `saves ${latency(saved_ms)}`
        : saved_ms === 0
          ? 'saves nothing'
          : `loses ${latency(-saved_ms)}`}
    </Badge>
  </span>
)
