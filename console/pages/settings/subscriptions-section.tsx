// Bundled allowances at providers: what is used of each, until when, and what happens beyond.

import { useCallback, useMemo, useState } from 'react'
import { listSubscriptions, type Subscription } from '../../api/settings-calls.ts'
import { shortCount } from '../../parts/amounts.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { TimeUntil } from '../../parts/time-until.tsx'
import { moment } from '../../parts/times.ts'
import { useResource } from '../../state/resource.ts'
import { useIsOperator } from '../../state/session.tsx'
import { AddSubscriptionDialog, CancelSubscriptionDialog } from './subscription-dialogs.tsx'

const POLL_MS = 30_000
const TONES: Record<Subscription['status'], Tone> = { active: 'good', past_due: 'warn', canceled: 'calm' }

/** R79: what a project is given, whoever runs the service gives it. */
export default function SubscriptionsSection() {
  return <SubscriptionsCard may_manage={useIsOperator()} />
}

interface SubscriptionsCardProps {
  /** Of another project than the one that is looked at. */
  project_id?: string
  may_manage: boolean
}

export function SubscriptionsCard({ project_id, may_manage }: SubscriptionsCardProps) {
  const subscriptions = useResource<readonly Subscription[]>(
    useCallback((signal) => listSubscriptions(project_id, signal), [project_id]),
    { poll_ms: POLL_MS },
  )
  const [open, setOpen] = useState<Subscription | 'new'>()
  const columns = useMemo(() => columnsFor(may_manage, setOpen), [may_manage])
  const dialog = { project_id, onClose: () => setOpen(undefined), onChanged: subscriptions.reload }
  return (
    <Card
      title="Subscriptions"
      actions={
        may_manage && (
          <Button look="primary" onClick={() => setOpen('new')}>
            Add subscription
          </Button>
        )
      }
    >
      <DataTable
        what="Subscriptions"
        resource={subscriptions}
        columns={columns}
        rowId={({ id }) => id}
        empty={
          <p>
            None. Within the allowance of a subscription, input at its provider is discounted.
            {!may_manage && ' Whoever runs this service adds one.'}
          </p>
        }
      />
      {open === 'new' && <AddSubscriptionDialog {...dialog} />}
      {open && open !== 'new' && <CancelSubscriptionDialog {...dialog} subscription={open} />}
    </Card>
  )
}

function columnsFor(may_manage: boolean, onCancel: (one: Subscription) => void): readonly Column<Subscription>[] {
  const deeds: Column<Subscription> = {
    id: 'deeds',
    header: 'Change',
    align: 'right',
    cell: (one) =>
      one.status !== 'canceled' && (
        <span className="row deeds">
          <Button look="quiet" onClick={() => onCancel(one)}>
            Cancel<span className="visually-hidden"> {one.plan}</span>
          </Button>
        </span>
      ),
  }
  return [
    {
      id: 'plan',
      header: 'Plan',
      sortBy: ({ plan }) => plan.toLowerCase(),
      cell: ({ plan, provider }) => (
        <span className="two-lines">
          <span>{plan}</span>
          <span className="muted">{provider}</span>
        </span>
      ),
    },
    { id: 'used', header: 'Allowance', sortBy: ({ used_tokens }) => used_tokens, cell: Allowance },
    { id: 'discount', header: 'Off input', align: 'right', cell: ({ input_discount_pct }) => `${input_discount_pct}%` },
    {
      id: 'ends',
      header: 'Period ends',
      cell: ({ period_start, period_end }) => (
        <span title={`From ${moment(period_start)}`}>
          <TimeUntil at={period_end} />
        </span>
      ),
    },
    {
      id: 'over',
      header: 'Beyond it',
      minor: true,
      cell: ({ overage_enabled: on }) => (on ? 'list price' : 'refused'),
    },
    {
      id: 'status',
      header: 'State',
      cell: ({ status }) => <Badge tone={TONES[status]}>{status.replace('_', ' ')}</Badge>,
    },
    ...(may_manage ? [deeds] : []),
  ]
}

function Allowance({ used_tokens, allowance_tokens }: Subscription) {
  const share = allowance_tokens === 0 ? 100 : Math.min(100, (100 * used_tokens) / allowance_tokens)
  return (
    <div className="budget" data-level={share >= 100 ? 'reached' : share >= 80 ? 'near' : 'fine'}>
      <span>
        {shortCount(used_tokens)} <span className="muted">of {shortCount(allowance_tokens)} tokens</span>
      </span>
      <div className="budget-bar" aria-hidden="true">
        <span className="budget-spent" style={{ width: `${share}%` }} />
      </div>
    </div>
  )
}
