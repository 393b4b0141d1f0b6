// Budgets of tags: what requests with a tag may spend, whichever key they come with.
import { useMemo, useState } from 'react'
import { listTagBudgets, type TagBudget } from '../../api/tag-calls.ts'
import { BudgetBar } from '../../parts/budget-bar.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { Link } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { DeleteTagBudgetDialog, TagBudgetDialog } from './tag-dialogs.tsx'

const POLL_MS = 10_000

type Open = { budget?: TagBudget; ends?: true }

export default function TagsSection() {
  const budgets = useResource<readonly TagBudget[]>(listTagBudgets, { poll_ms: POLL_MS })
  const may_manage = useMay('admin')
  const [open, setOpen] = useState<Open>()
  const columns = useMemo(() => columnsFor(may_manage, setOpen), [may_manage])
  const dialog = { onClose: () => setOpen(undefined), onChanged: budgets.reload }
  return (
    <Card
      title="Budgets of tags"
      actions={
        may_manage && (
          <Button look="primary" onClick={() => setOpen({})}>
            Add budget
          </Button>
        )
      }
    >
      <p className="muted">
        Requests carry tags in their header Agent-Tags, such as <code>team=search</code>. A budget is a hard limit on
        what those with its tag spend, beside the limits of their keys. <Link to="/usage?by=tag">Usage by tag</Link>
      </p>
      <DataTable
        what="Budgets of tags"
        resource={budgets}
        columns={columns}
        rowId={({ id }) => id}
        empty={<p>None yet. Requests with a tag are limited by their keys alone.</p>}
      />
      {open && !open.ends && <TagBudgetDialog {...dialog} budget={open.budget} />}
      {open?.budget && open.ends && <DeleteTagBudgetDialog {...dialog} budget={open.budget} />}
    </Card>
  )
}

function columnsFor(may_manage: boolean, onOpen: (open: Open) => void): readonly Column<TagBudget>[] {
  const deeds: Column<TagBudget> = {
    id: 'deeds',
    header: 'Change',
    align: 'right',
    cell: (budget) => (
      <span className="row deeds">
        <Button look="quiet" onClick={() => onOpen({ budget })}>
          Limit<span className="visually-hidden"> of {budget.tag}</span>
        </Button>
        <Button look="quiet" onClick={() => onOpen({ budget, ends: true })}>
          Delete<span className="visually-hidden"> the budget of {budget.tag}</span>
        </Button>
      </span>
    ),
  }
  return [
    {
      id: 'tag',
      header: 'Tag',
      sortBy: ({ tag }) => tag,
      cell: ({ tag }) => (
        <Link to={`/requests?tag=${encodeURIComponent(tag)}`}>
          <code>{tag}</code>
        </Link>
      ),
    },
    {
      id: 'spent',
      header: 'Spent',
      sortBy: ({ spent_micros }) => spent_micros,
      cell: (budget) => <BudgetBar {...budget} />,
    },
    { id: 'since', header: 'Counted since', minor: true, cell: ({ created_at }) => <TimeAgo at={created_at} /> },
    ...(may_manage ? [deeds] : []),
  ]
}
