// §9.4: one alias: where it leads, its releases, which never change, and moving between them.
import { type ReactNode, useCallback, useState } from 'react'
import {
  type Alias,
  type AliasRelease,
  type Destinations,
  findAlias,
  listDestinations,
  listReleases,
} from '../../api/routing-calls.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { LoadFailure, StaleNotice } from '../../parts/load-failure.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { navigate } from '../../state/navigation.tsx'
import { type Resource, useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { ActivateDialog, DeleteAliasDialog } from './alias-deeds.tsx'
import { ExplainCard } from './explain-card.tsx'
import { NewReleaseDialog } from './release-dialog.tsx'
import { ReleaseEvidenceCell } from './release-evidence-cell.tsx'
import { TargetList } from './target-list.tsx'
import { sharesOf } from './target-shares.ts'

const POLL_MS = 10_000
const UP = { to: '/routing', label: 'Routing' }

export default function AliasPage({ name = '' }: { name?: string }) {
  const alias = useResource(
    useCallback((signal) => findAlias(name, signal), [name]),
    { poll_ms: POLL_MS },
  )
  const { state } = alias
  if (state.kind === 'ready')
    return (
      <Found alias={state.value} onMoved={alias.put}>
        <StaleNotice error={state.stale} onRetry={alias.reload} />
      </Found>
    )
  return (
    <>
      <PageHeader title="Alias" up={UP} />
      {state.kind === 'failed' && <LoadFailure what="The alias" error={state.error} onRetry={alias.reload} />}
      {state.kind === 'loading' && (
        <p className="waiting" role="status">
          Loading …
        </p>
      )}
    </>
  )
}

interface FoundProps {
  alias: Alias
  onMoved(alias: Alias): void
  children: ReactNode
}

type Deed = { kind: 'release' } | { kind: 'delete' } | { kind: 'activate'; release: AliasRelease }

function Found({ alias, onMoved, children }: FoundProps) {
  const releases = useResource<readonly AliasRelease[]>(
    useCallback((signal) => listReleases(alias.name, signal), [alias.name]),
    { poll_ms: POLL_MS },
  )
  const { state } = useResource(useCallback((signal) => listDestinations(signal), []))
  const destinations = state.kind === 'ready' ? state.value : undefined
  const [deed, setDeed] = useState<Deed>()
  const may_manage = useMay('admin')
  const known = releases.state.kind === 'ready' ? releases.state.value : []
  const current = known.find(({ id }) => id === alias.current_release_id)
  return (
    <>
      <PageHeader
        title={alias.name}
        up={UP}
        lead={<Identity alias={alias} current={current} />}
        actions={may_manage && <Actions ready={current !== undefined} onDeed={setDeed} />}
      />
      {children}
      <Card title={current ? `Release ${current.version} is active` : 'Active release'}>
        {current ? <Shares release={current} destinations={destinations} /> : <span className="skeleton" />}
      </Card>
      <Releases
        releases={releases}
        current={current}
        destinations={destinations}
        onActivate={may_manage ? (release) => setDeed({ kind: 'activate', release }) : undefined}
      />
      <ExplainCard names={[alias.name]} destinations={destinations} model={alias.name} />
      {deed?.kind === 'release' && current && (
        <NewReleaseDialog
          alias_name={alias.name}
          current={current.targets}
          onClose={() => setDeed(undefined)}
          onAdded={(release) => {
            releases.reload()
            setDeed({ kind: 'activate', release })
          }}
        />
      )}
      {deed?.kind === 'activate' && current && (
        <ActivateDialog
          release={deed.release}
          current={current}
          destinations={destinations}
          onClose={() => setDeed(undefined)}
          onActivated={onMoved}
        />
      )}
      {deed?.kind === 'delete' && (
        <DeleteAliasDialog alias={alias} onClose={() => setDeed(undefined)} onGone={() => navigate('/routing')} />
      )}
    </>
  )
}

const Shares = ({ release: { targets }, destinations }: ReleaseProp & { destinations: Destinations | undefined }) => (
  <>
    <div className="strip shares" aria-hidden="true">
      {sharesOf(targets).map(({ share }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a release never changes, and may name a place twice
        <span key={at} className="shares-part" style={{ flexGrow: share }} />
      ))}
    </div>
    <TargetList targets={targets} destinations={destinations} />
  </>
)

const Identity = ({ alias, current }: { alias: Alias; current: AliasRelease | undefined }) => (
  <span className="row">
    {current && <Badge tone="good">{`release ${current.version}`}</Badge>}
    <code className="muted">{alias.current_release_id}</code>
    <CopyButton text={alias.current_release_id} what="release id" look="quiet" />
  </span>
)

const Actions = ({ ready, onDeed }: { ready: boolean; onDeed(deed: Deed): void }) => (
  <>
    <Button look="primary" disabled={!ready} onClick={() => onDeed({ kind: 'release' })}>
      New release
    </Button>
    <Button look="danger" onClick={() => onDeed({ kind: 'delete' })}>
      Delete
    </Button>
  </>
)

interface ReleasesProps {
  releases: Resource<readonly AliasRelease[]>
  current: AliasRelease | undefined
  destinations: Destinations | undefined
  onActivate: ((release: AliasRelease) => void) | undefined
}

function Releases({ releases, current, destinations, onActivate }: ReleasesProps) {
  const columns: readonly Column<AliasRelease>[] = [
    {
      id: 'version',
      header: 'Release',
      sortBy: ({ version }) => version,
      cell: ({ id, version }) => (
        <span className="two-lines">
          <strong>{version}</strong>
          <code className="muted">{id}</code>
        </span>
      ),
    },
    {
      id: 'targets',
      header: 'Goes to',
      cell: ({ targets }) => <TargetList targets={targets} destinations={destinations} />,
    },
    { id: 'evidence', header: 'Replay found', cell: ({ evidence }) => <ReleaseEvidenceCell evidence={evidence} /> },
    { id: 'made', header: 'Made', cell: ({ created_at }) => <TimeAgo at={created_at} /> },
    {
      id: 'state',
      header: 'State',
      cell: (release) => <ReleaseState release={release} current={current} onActivate={onActivate} />,
    },
  ]
  return (
    <Card title="Releases">
      <DataTable
        what="Releases"
        resource={releases}
        columns={columns}
        rowId={({ id }) => id}
        empty={<p>There is none.</p>}
      />
    </Card>
  )
}

function ReleaseState({
  release,
  current,
  onActivate,
}: Omit<ReleasesProps, 'releases' | 'destinations'> & ReleaseProp) {
  if (release.id === current?.id) return <Badge tone="good">active</Badge>
  if (!onActivate || !current) return null
  return (
    <Button onClick={() => onActivate(release)}>
      {release.version < current.version ? 'Roll back' : 'Activate'}
      <span className="visually-hidden"> to release {release.version}</span>
    </Button>
  )
}

interface ReleaseProp {
  release: AliasRelease
}
