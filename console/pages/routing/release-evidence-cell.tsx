// §9.4: what the replay of a release found, beside the release.
import type { AliasRelease } from '../../api/routing-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { Link } from '../../state/navigation.tsx'

export function ReleaseEvidenceCell({ evidence }: { evidence: AliasRelease['evidence'] | undefined }) {
  if (!evidence) return <span className="muted">none</span>
  const { replay_run_id, compared, differences, recorded_micros, charged_micros } = evidence
  return (
    <span className="two-lines">
      <span>
        {differences.length === 0 ? (
          <Badge tone="good">no difference</Badge>
        ) : (
          <Badge tone="warn">{`differs: ${differences.join(', ').replaceAll('_', ' ')}`}</Badge>
        )}
      </span>
      <span className="muted">
        <Link to={`/replays/${replay_run_id}`}>{count(compared)} calls replayed</Link>, {money(recorded_micros)} →{' '}
        {money(charged_micros)}
      </span>
    </span>
  )
}
