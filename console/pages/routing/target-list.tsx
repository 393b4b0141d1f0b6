// §9.4: where a release sends requests, and which share of them.
import type { AliasTarget, Destinations } from '../../api/routing-calls.ts'
import { wholePercent } from '../../parts/measures.ts'
import { placeKind, placeName, sharesOf } from './target-shares.ts'

interface TargetListProps {
  targets: readonly AliasTarget[]
  destinations: Destinations | undefined
}

export const TargetList = ({ targets, destinations }: TargetListProps) => (
  <ul className="targets">
    {sharesOf(targets).map(({ target, share }, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: a release never changes, and may name a place twice
      <li key={at}>
        <span className="targets-share">{share === 0 ? 'standby' : wholePercent(share)}</span>
        <span>
          <code>{target.model}</code> <span className="muted">at {placeKind(target)}</span>{' '}
          {placeName(target, destinations)}
        </span>
      </li>
    ))}
  </ul>
)
