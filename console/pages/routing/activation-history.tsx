// §9.4: when the alias was pointed at which release, and by whom.
import { useCallback, useMemo } from 'react'
import { findKey } from '../../api/key-calls.ts'
import type { AliasActivation } from '../../api/routing-calls.ts'
import { listMembers } from '../../api/settings-calls.ts'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { moment } from '../../parts/times.ts'
import { type Resource, useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'

export function ActivationHistory({ activations }: { activations: Resource<readonly AliasActivation[]> }) {
  const may_know = useMay('admin')
  const names = useActors(may_know && activations.state.kind === 'ready' ? activations.state.value : NONE)
  const columns = useMemo(() => columnsWith(names, may_know), [names, may_know])
  return (
    <Card title="History">
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

const NONE: readonly AliasActivation[] = []
const ACTORS_MAX = 20

/** What people and keys are called. Keys that are gone keep their ids. */
function useActors(activations: readonly AliasActivation[]): ReadonlyMap<string, string> {
  const ids = [...new Set(activations.flatMap(({ activated_by }) => activated_by ?? []))].slice(0, ACTORS_MAX).join(' ')
  const { state } = useResource(
    useCallback(
      async (signal: AbortSignal) => {
        const actors = ids.split(' ').filter((id) => id !== '')
        const people = actors.some((id) => id.startsWith('usr_')) ? await listMembers(signal) : []
        const keys = await Promise.all(
          actors.filter((id) => id.startsWith('key_')).map((id) => findKey(id, signal).catch(() => undefined)),
        )
        return new Map([
          ...people.map(({ id, email }) => [id, email] as const),
          ...keys.flatMap((key) => (key ? [[key.id, key.name] as const] : [])),
        ])
      },
      [ids],
    ),
    { keep: true },
  )
  return useMemo(() => (state.kind === 'ready' ? state.value : new Map()), [state])
}

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
