// R64: the children of a key, and what of its money is carved out for them.
import { useMemo } from 'react'
import type { ApiKey } from '../../api/key-calls.ts'
import { money } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { BudgetBar } from '../../parts/budget-bar.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { TimeUntil } from '../../parts/time-until.tsx'
import { useNow } from '../../state/browser-clock.ts'
import { Link } from '../../state/navigation.tsx'
import { carvedOf, STATE_TONES, stateOf } from './key-family.ts'

export function KeyChildren({ keys }: { keys: readonly ApiKey[] }) {
  const now = useNow()
  const columns = useMemo(() => columnsAt(now), [now])
  const { live_children, carved_micros } = carvedOf(keys, now)
  return (
    <Card title="Child keys">
      <p className="muted">
        {live_children === 0
          ? 'None of them can spend any more.'
          : `${money(carved_micros)} is carved out for the ${live_children} that can still spend.`}
      </p>
      <DataTable
        what="Child keys"
        resource={{ state: { kind: 'ready', value: keys }, reload: () => {} }}
        columns={columns}
        rowId={({ id }) => id}
        empty={null}
      />
    </Card>
  )
}

function columnsAt(now_ms: number): readonly Column<ApiKey>[] {
  return [
    {
      id: 'name',
      header: 'Name',
      cell: ({ id, name, masked }) => (
        <span className="two-lines">
          <Link to={`/keys/${id}`}>{name}</Link>
          <code className="muted">{masked}</code>
        </span>
      ),
    },
    {
      id: 'budget',
      header: 'Spending',
      sortBy: ({ spent_micros }) => spent_micros,
      cell: ({ spent_micros, budget_micros }) => <BudgetBar spent_micros={spent_micros} limit_micros={budget_micros} />,
    },
    {
      id: 'ends',
      header: 'Ends',
      sortBy: ({ expires_at = '' }) => expires_at,
      cell: ({ expires_at }) => (expires_at ? <TimeUntil at={expires_at} /> : 'with its parent'),
    },
    {
      id: 'state',
      header: 'State',
      cell: (key) => {
        const state = stateOf(key, now_ms)
        return <Badge tone={STATE_TONES[state]}>{state}</Badge>
      },
    },
  ]
}
