// §9.4: when the alias was pointed at which release, and by whom.
import { useMemo } from 'react'
import type { AliasActivation } from '../../api/routing-calls.ts'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { moment } from '../../parts/times.ts'
import { useNamesOf } from '../../state/names-of-things.ts'
import type { Resource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'

export function ActivationHistory({ activations }: { activations: Resource<readonly AliasActivation[]> }) {
  const may_know = useMay('admin')
  const names = useNamesOf(
    (may_know && activations.state.kind === 'ready' ? activations.state.value : NONE).map(
      ({ activated_by }) => activated_by,
    ),
  )
  const columns = useMemo(() => columnsWith(names, may_know), [names, may_know])
  return (
    <Card title="History" gist={gistOf(activations)}>
      <DataTable
        what="Activations"
        resource={activations}
        columns={columns}
        rowId={({ activated_at, release_id }) => `${activated_at} ${release_id}`}
        empty={<p>Nothing has been activated since histories are kept.</p>}
      />
    </Card>
  )
}

function gistOf({ state }: Resource<readonly AliasActivation[]>): string {
  const [latest] = state.kind === 'ready' ? state.value : []
  return latest ? `Release ${latest.version} since ${moment(latest.activated_at)}` : 'Who activated what, and when'
}

const NONE: readonly AliasActivation[] = []
const columnsWith = (names: ReadonlyMap<string, string>, may_know: boolean): Column<AliasActivation>[] => [
  {
    id: 'when',
    header: 'When',
    cell: ({ activated_at }) => (
      <span className="two-lines">
        <TimeAgo at={activated_at} />
        <span className="muted">{moment(activated_at)}</span>
      </span>
    ),
  },
  {
    id: 'change',
    header: 'Change',
    cell: ({ version, previous_version }) =>
      previous_version === null ? `release ${version}, the first` : `release ${previous_version} → ${version}`,
  },
  ...(may_know
    ? [
        {
          id: 'who',
          header: 'By',
          cell: ({ activated_by }: AliasActivation) =>
            activated_by === null ? '–' : (names.get(activated_by) ?? <code className="muted">{activated_by}</code>),
        },
      ]
    : []),
]
