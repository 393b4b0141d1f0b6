// One key: what it is, what it spent and when, and what can be done with it.
import { useCallback } from 'react'
import { type ApiKey, findKey } from '../../api/key-calls.ts'
import { money } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { BudgetBar } from '../../parts/budget-bar.tsx'
import { Card, Stat, Stats } from '../../parts/card.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { LoadFailure, StaleNotice } from '../../parts/load-failure.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { KeyActions } from './key-actions.tsx'
import { KeyUsage } from './key-usage.tsx'

const POLL_MS = 10_000
const UP = { to: '/keys', label: 'Keys' }

export default function KeyPage({ id = '' }: { id?: string }) {
  const key = useResource(
    useCallback((signal) => findKey(id, signal), [id]),
    { poll_ms: POLL_MS },
  )
  const may_manage = useMay('admin')
  const { state } = key
  if (state.kind === 'failed')
    return (
      <>
        <PageHeader title="Key" up={UP} />
        <LoadFailure what="The key" error={state.error} onRetry={key.reload} />
      </>
    )
  if (state.kind === 'loading')
    return (
      <>
        <PageHeader title="Key" up={UP} />
        <p className="waiting" role="status">
          Loading …
        </p>
      </>
    )
  return (
    <>
      <PageHeader
        title={state.value.name}
        up={UP}
        lead={<Identity api_key={state.value} />}
        actions={
          may_manage && state.value.status === 'active' && <KeyActions api_key={state.value} onChanged={key.reload} />
        }
      />
      <StaleNotice error={state.stale} onRetry={key.reload} />
      <Facts api_key={state.value} />
      <KeyUsage key_id={id} />
    </>
  )
}

const Identity = ({ api_key }: { api_key: ApiKey }) => (
  <span className="row">
    <Badge tone={api_key.status === 'active' ? 'good' : 'calm'}>{api_key.status}</Badge>
    <code>{api_key.masked}</code>
    <code className="muted">{api_key.id}</code>
    <CopyButton text={api_key.id} what="key id" look="quiet" />
  </span>
)

/** Whatever else the service tells of a key belongs here. */
function Facts({ api_key }: { api_key: ApiKey }) {
  const { spent_micros, budget_micros, scopes, last_used_at, created_at } = api_key
  return (
    <Card title="Spending">
      <BudgetBar spent_micros={spent_micros} limit_micros={budget_micros} />
      <Stats>
        <Stat label="Left">
          {budget_micros === undefined ? 'no limit' : money(Math.max(0, budget_micros - spent_micros))}
        </Stat>
        <Stat label="Scope">{scopes.join(', ')}</Stat>
        <Stat label="Last used">
          <TimeAgo at={last_used_at} />
        </Stat>
        <Stat label="Created">
          <TimeAgo at={created_at} />
        </Stat>
      </Stats>
    </Card>
  )
}
