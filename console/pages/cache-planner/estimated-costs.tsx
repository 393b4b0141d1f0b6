// §4.9: what each tier is estimated to cost, from where on it wins, and what of that is known and what assumed.
import type { CacheEstimate } from '../../api/cache-plan-calls.ts'
import { count } from '../../parts/amounts.ts'
import { latency, wholePercent } from '../../parts/measures.ts'
import { COST_NAMES, COSTS, type Cost } from './plan-draft.ts'

type EstimatedTier = CacheEstimate['tiers'][number]

const BASIS_OF: Record<Cost, keyof EstimatedTier['basis']> = {
  lookup_ms: 'lookup',
  transfer_ms: 'transfer',
  decompression_ms: 'decompression',
  queue_delay_ms: 'queue_delay',
}

export const EstimatedCosts = ({ estimate }: { estimate: CacheEstimate }) => (
  <table className="table">
    <caption className="visually-hidden">Estimated costs of each tier</caption>
    <thead>
      <tr>
        <th scope="col">Tier</th>
        {COSTS.map((cost) => (
          <th key={cost} scope="col" data-align="right">
            {COST_NAMES[cost]}
          </th>
        ))}
        <th scope="col" data-align="right">
          Total
        </th>
        <th scope="col">Wins</th>
        <th scope="col" data-align="right">
          Worth a look from
        </th>
      </tr>
    </thead>
    <tbody>
      {estimate.tiers.map((tier) => (
        <TierLine key={tier.name} tier={tier} />
      ))}
    </tbody>
  </table>
)

const TierLine = ({ tier }: { tier: EstimatedTier }) => (
  <tr>
    <td data-label="Tier">
      <code>{tier.name}</code>
    </td>
    {COSTS.map((cost) => (
      <td key={cost} data-label={COST_NAMES[cost]} data-align="right">
        <span className="two-lines">
          {latency(tier[cost])}
          <span className="muted">{tier.basis[BASIS_OF[cost]]}</span>
        </span>
      </td>
    ))}
    <td data-label="Total" data-align="right">
      {latency(tier.total_ms)}
    </td>
    <td data-label="Wins">{winsWords(tier)}</td>
    <td data-label="Worth a look from" data-align="right">
      {tier.hit_rate_min === null ? <span className="muted">never</span> : hitsWords(tier.hit_rate_min)}
    </td>
  </tr>
)

const hitsWords = (share: number) => (share < 0.01 ? 'under 1% hits' : `${wholePercent(share)} hits`)

export function winsWords({ wins }: Pick<EstimatedTier, 'wins'>): string {
  if (wins.length === 0) return 'at no length'
  return wins
    .map(({ from_tokens, to_tokens }) =>
      to_tokens === null ? `from ${count(from_tokens)} tokens on` : `up to ${count(to_tokens)} tokens`,
    )
    .join(', and ')
}
