// One project as whoever runs the service sees it (R79): whose it is, what it spends and may spend, its subscriptions.

import { type ComponentType, useCallback, useState } from 'react'
import { findProject, type OperatorProject } from '../../api/operator-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { BudgetBar } from '../../parts/budget-bar.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Stat, Stats } from '../../parts/card.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { SubjectPage } from '../../parts/subject-page.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { moment } from '../../parts/times.ts'
import { useResource } from '../../state/resource.ts'
import { SubscriptionsCard } from '../settings/subscriptions-section.tsx'
import {
  CapDialog,
  QuotasDialog,
  ResumeDialog,
  ShareDialog,
  SuspendDialog,
  type TenantDeedProps,
} from './tenant-dialogs.tsx'
import { capOf } from './tenant-figures.ts'

const POLL_MS = 10_000
const UP = { to: '/operator', label: 'Operator' }

export default function TenantPage({ id = '' }: { id?: string }) {
  const project = useResource(
    useCallback((signal) => findProject(id, signal), [id]),
    { poll_ms: POLL_MS },
  )
  return (
    <SubjectPage title="Project" what="The project" up={UP} resource={project}>
      {(known, stale) => (
        <>
          <PageHeader
            title={known.name}
            up={UP}
            lead={<Identity project={known} />}
            actions={<TenantActions project={known} onChanged={project.put} />}
          />
          {stale}
          <Facts project={known} />
          <SubscriptionsCard project_id={known.id} may_manage />
        </>
      )}
    </SubjectPage>
  )
}

const Identity = ({ project: { id, status, suspended_at, is_operator } }: { project: OperatorProject }) => (
  <span className="row">
    <Badge tone={status === 'active' ? 'good' : 'bad'}>{status}</Badge>
    {suspended_at !== undefined && <span className="muted">since {moment(suspended_at)}</span>}
    {is_operator && <span className="muted">runs this service</span>}
    <code className="muted">{id}</code>
    <CopyButton text={id} what="project id" look="quiet" />
  </span>
)

interface Deed {
  label: string
  look: 'plain' | 'danger'
  Deed: ComponentType<TenantDeedProps>
  /** Left out where the service would refuse it. */
  fits?(project: OperatorProject): boolean
}

const DEEDS: readonly Deed[] = [
  { label: 'Cap', look: 'plain', Deed: CapDialog },
  { label: 'Share', look: 'plain', Deed: ShareDialog },
  { label: 'Quotas', look: 'plain', Deed: QuotasDialog },
  {
    label: 'Suspend',
    look: 'danger',
    Deed: SuspendDialog,
    fits: ({ status, is_operator }) => status === 'active' && !is_operator,
  },
  { label: 'Resume', look: 'plain', Deed: ResumeDialog, fits: ({ status }) => status === 'suspended' },
]

function TenantActions({ project, onChanged }: Pick<TenantDeedProps, 'project' | 'onChanged'>) {
  const [open, setOpen] = useState<string>()
  return (
    <>
      {DEEDS.filter(({ fits }) => fits?.(project) ?? true).map(({ label, look, Deed }) => (
        <span key={label}>
          <Button look={look} onClick={() => setOpen(label)}>
            {label}
          </Button>
          {open === label && <Deed project={project} onChanged={onChanged} onClose={() => setOpen(undefined)} />}
        </span>
      ))}
    </>
  )
}

function Facts({ project }: { project: OperatorProject }) {
  const { spent_micros, held_micros, cap_micros, operator_cap_micros, overage_enabled } = project
  const own = cap_micros === undefined ? 'none' : `${money(cap_micros)}${overage_enabled ? ', with overage' : ''}`
  return (
    <Card title="Spending and owner">
      <BudgetBar spent_micros={spent_micros} held_micros={held_micros} limit_micros={capOf(project).micros} />
      <Stats>
        <Stat label="Your cap">{operator_cap_micros === undefined ? 'none' : money(operator_cap_micros)}</Stat>
        <Stat label="Its own cap">{own}</Stat>
        <Stat label="Share">{count(project.share)}</Stat>
        <Stat label="Owner" wide>
          {project.owner_email}
          {!project.owner_verified && <span className="muted"> not verified</span>}
        </Stat>
        <Stat label="Created">
          <TimeAgo at={project.created_at} />
        </Stat>
      </Stats>
    </Card>
  )
}
