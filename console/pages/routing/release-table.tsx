// §9.4: the releases of an alias side by side: where each leads, and what its latest calls cost, failed and took.
import { type ReactNode, useMemo } from 'react'
import type { AliasRelease, Destinations, ReleaseOutcome } from '../../api/routing-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { duration, percent } from '../../parts/figures.ts'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { Link } from '../../state/navigation.tsx'
import type { Resource } from '../../state/resource.ts'
import { WRONG } from '../overview/refusal-layers.ts'
import { ReleaseEvidenceCell } from './release-evidence-cell.tsx'
import { TargetList } from './target-list.tsx'

interface ReleaseTableProps {
  releases: Resource<readonly AliasRelease[]>
  outcomes: readonly ReleaseOutcome[]
  current: AliasRelease | undefined
  destinations: Destinations | undefined
  onActivate: ((release: AliasRelease) => void) | undefined
}

const THOUSAND = 1_000

export function ReleaseTable({ releases, outcomes, current, destinations, onActivate }: ReleaseTableProps) {
  const columns = useMemo((): readonly Column<AliasRelease>[] => {
    const known = new Map(outcomes.map((one) => [one.release_id, one]))
    return [
      RELEASE,
      {
        id: 'targets',
        header: 'Goes to',
        cell: ({ targets }) => <TargetList targets={targets} destinations={destinations} />,
      },
      ...outcomeColumns(known),
      { id: 'evidence', header: 'Replay found', cell: ({ evidence }) => <ReleaseEvidenceCell evidence={evidence} /> },
      {
        id: 'state',
        header: 'State',
        cell: (release) => <ReleaseState release={release} current={current} onActivate={onActivate} />,
      },
    ]
  }, [outcomes, current, destinations, onActivate])
  return (
    <Card title="Releases">
      <DataTable
        what="Releases"
        resource={releases}
        columns={columns}
        rowId={({ id }) => id}
        empty={<p>There is none.</p>}
      />
      <p className="muted apart">Figures are of the latest 2,000 calls of each release.</p>
    </Card>
  )
}

const RELEASE: Column<AliasRelease> = {
  id: 'version',
  header: 'Release',
  sortBy: ({ version }) => version,
  cell: ({ version, created_at }) => (
    <span className="two-lines">
      <strong>{version}</strong>
      <span className="muted">
        made <TimeAgo at={created_at} />
      </span>
    </span>
  ),
}

function outcomeColumns(known: ReadonlyMap<string, ReleaseOutcome>): Column<AliasRelease>[] {
  const right = (id: string, header: string, of: (outcome: ReleaseOutcome) => number | null) => ({
    id,
    header,
    align: 'right' as const,
    sortBy: (release: AliasRelease) => {
      const outcome = known.get(release.id)
      return (outcome && of(outcome)) ?? -1
    },
  })
  const shown = (cell: (outcome: ReleaseOutcome) => ReactNode) => (release: AliasRelease) => {
    const outcome = known.get(release.id)
    return !outcome || outcome.requests === 0 ? '–' : cell(outcome)
  }
  return [
    {
      ...right('requests', 'Requests', ({ requests }) => requests),
      cell: shown(({ requests, release_id, version }) => (
        <Link to={`/requests?alias_release_id=${release_id}`}>
          {count(requests)}
          <span className="visually-hidden"> of release {version}: the list</span>
        </Link>
      )),
    },
    {
      ...right('failed', 'Failed', ({ failed, requests }) => failed / Math.max(1, requests)),
      cell: shown(({ failed, requests, release_id, version }) =>
        failed === 0 ? (
          '0%'
        ) : (
          <Link to={`/requests?${new URLSearchParams({ alias_release_id: release_id, outcome: WRONG })}`}>
            {percent(failed, requests)}
            <span className="visually-hidden"> of release {version} failed: the list</span>
          </Link>
        ),
      ),
    },
    {
      ...right('cost', 'Cost of 1,000', costOf),
      cell: shown((outcome) => money(costOf(outcome))),
    },
    {
      ...right('ttft', 'First token, p95', ({ ttft_p95_ms }) => ttft_p95_ms),
      cell: shown(({ ttft_p95_ms }) => (ttft_p95_ms === null ? '–' : duration(ttft_p95_ms))),
    },
  ]
}

/** Releases had different numbers of calls: so many are compared. */
const costOf = ({ charged_micros, requests }: ReleaseOutcome) => (THOUSAND * charged_micros) / Math.max(1, requests)

interface ReleaseStateProps extends Pick<ReleaseTableProps, 'current' | 'onActivate'> {
  release: AliasRelease
}

function ReleaseState({ release, current, onActivate }: ReleaseStateProps) {
  if (release.id === current?.id) return <Badge tone="good">active</Badge>
  if (!onActivate || !current) return null
  return (
    <Button onClick={() => onActivate(release)}>
      Activate<span className="visually-hidden"> release {release.version}</span>
    </Button>
  )
}
