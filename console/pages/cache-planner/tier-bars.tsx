// §4.9: a stacked bar for each tier against the recompute line, drawn from what is typed. The table above says the same
// in numbers, so this is for the eye.
import { latency } from '../../parts/measures.ts'
import { COST_NAMES, COSTS, costsOf, longestOf, numberIn, type PlanDraft } from './plan-draft.ts'

const ROOM = 1.04 // so that the longest bar does not touch the edge

export function TierBars({ draft, fetched }: { draft: PlanDraft; fetched: string | undefined }) {
  const width = longestOf(draft) * ROOM
  const recompute = numberIn(draft.expected_recompute_ms)
  const at = (ms: number) => `${(100 * ms) / width}%`
  return (
    <figure className="bars" aria-hidden="true">
      <div className="bars-body">
        {draft.tiers.map((tier) => {
          const costs = costsOf(tier)
          return (
            <div key={tier.id} className="bars-row" data-chosen={tier.name.trim() === fetched || undefined}>
              <span className="bars-name">{tier.name}</span>
              <div className="bars-track">
                {COSTS.map((cost) => (
                  <span key={cost} className={`cost-${cost}`} style={{ width: at(costs[cost] ?? 0) }} />
                ))}
              </div>
            </div>
          )
        })}
        {recompute !== undefined && (
          <div className="bars-overlay">
            <span className="bars-line" style={{ left: at(recompute) }} data-end={recompute > width / 2 || undefined}>
              <span className="bars-line-word">recompute {latency(recompute)}</span>
            </span>
          </div>
        )}
      </div>
      <figcaption className="legend">
        {COSTS.map((cost) => (
          <span key={cost}>
            <i className={`swatch cost-${cost}`} />
            {COST_NAMES[cost]}
          </span>
        ))}
        <span>
          <i className="swatch swatch-line" />
          Recompute
        </span>
      </figcaption>
    </figure>
  )
}
