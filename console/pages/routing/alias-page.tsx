// §9.4: one alias: where it leads, its releases, which never change, and moving between them.
import { type ReactNode, useCallback, useState } from 'react'
import {
  type Alias,
  type AliasActivation,
  type AliasRelease,
  type Destinations,
  findAlias,
  listActivations,
  listDestinations,
  listReleases,
  type ReleaseOutcome,
  releaseOutcomes,
} from '../../api/routing-calls.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { SubjectPage } from '../../parts/subject-page.tsx'
import { navigate } from '../../state/navigation.tsx'
import { type Resource, useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { ActivationHistory } from './activation-history.tsx'
import { ActivateDialog, DeleteAliasDialog } from './alias-deeds.tsx'
import { ExplainCard } from './explain-card.tsx'
import { NewReleaseDialog } from './release-dialog.tsx'
import { ReleaseTable } from './release-table.tsx'
import { TargetList } from './target-list.tsx'
import { sharesOf } from './target-shares.ts'

const POLL_MS = 10_000
const UP = { to: '/routing', label: 'Routing' }

export default function AliasPage({ name = '' }: { name?: string }) {
  const alias = useResource(
    useCallback((signal) => findAlias(name, signal), [name]),
    { poll_ms: POLL_MS },
  )
  return (
    <SubjectPage title="Alias" what="The alias" up={UP} resource={alias}>
      {(known, stale) => (
        <Found alias={known} onMoved={alias.put}>
          {stale}
        </Found>
      )}
    </SubjectPage>
  )
}

interface FoundProps {
  alias: Alias
  onMoved(alias: Alias): void
  children: ReactNode
}

type Deed = { kind: 'release' } | { kind: 'delete' } | { kind: 'activate'; release: AliasRelease }

/** What is known of an alias beside itself. */
function useStory(alias: Alias) {
  const releases = useResource<readonly AliasRelease[]>(
    useCallback((signal) => listReleases(alias.name, signal), [alias.name]),
    { poll_ms: POLL_MS },
  )
  const activations = useResource<readonly AliasActivation[]>(
    useCallback((signal) => listActivations(alias.name, signal), [alias.name]),
    { poll_ms: POLL_MS },
  )
  const outcomes = useResource(useCallback((signal) => releaseOutcomes(alias.name, signal), [alias.name]))
  const { state } = useResource(useCallback((signal) => listDestinations(signal), []))
  const known = releases.state.kind === 'ready' ? releases.state.value : []
  return {
    releases,
    activations,
    outcomes: outcomes.state.kind === 'ready' ? outcomes.state.value : NO_OUTCOMES,
    destinations: state.kind === 'ready' ? state.value : undefined,
    current: known.find(({ id }) => id === alias.current_release_id),
    previous: activeBefore(alias, known, activations),
  }
}

function Found({ alias, onMoved, children }: FoundProps) {
  const { releases, activations, outcomes, destinations, current, previous } = useStory(alias)
  const [deed, setDeed] = useState<Deed>()
  const may_manage = useMay('admin')
  const activate = useCallback((release: AliasRelease) => setDeed({ kind: 'activate', release }), [])
  return (
    <>
      <PageHeader
        title={alias.name}
        up={UP}
        lead={<Identity alias={alias} current={current} />}
        actions={may_manage && <Actions ready={current !== undefined} previous={previous} onDeed={setDeed} />}
      />
      {children}
      <Card title={current ? `Release ${current.version} is active` : 'Active release'}>
        {current ? <Shares release={current} destinations={destinations} /> : <span className="skeleton" />}
      </Card>
      <ReleaseTable
        releases={releases}
        outcomes={outcomes}
        current={current}
        destinations={destinations}
        onActivate={may_manage ? activate : undefined}
      />
      <ActivationHistory activations={activations} />
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
          returns={deed.release.id === previous?.id}
          destinations={destinations}
          onClose={() => setDeed(undefined)}
          onActivated={(moved) => {
            onMoved(moved)
            activations.reload()
          }}
        />
      )}
      {deed?.kind === 'delete' && (
        <DeleteAliasDialog alias={alias} onClose={() => setDeed(undefined)} onGone={() => navigate('/routing')} />
      )}
    </>
  )
}

const NO_OUTCOMES: readonly ReleaseOutcome[] = []

/** What requests went to before the release that they go to now; undefined where that is not known. */
function activeBefore(
  alias: Alias,
  releases: readonly AliasRelease[],
  { state }: Resource<readonly AliasActivation[]>,
): AliasRelease | undefined {
  const [latest] = state.kind === 'ready' ? state.value : []
  if (latest?.release_id !== alias.current_release_id) return undefined
  return releases.find(({ id }) => id === latest.previous_release_id)
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

interface ActionsProps {
  ready: boolean
  previous: AliasRelease | undefined
  onDeed(deed: Deed): void
}

const Actions = ({ ready, previous, onDeed }: ActionsProps) => (
  <>
    {previous && (
      <Button onClick={() => onDeed({ kind: 'activate', release: previous })}>
        Return to release {previous.version}
      </Button>
    )}
    <Button look="primary" disabled={!ready} onClick={() => onDeed({ kind: 'release' })}>
      New release
    </Button>
    <Button look="danger" onClick={() => onDeed({ kind: 'delete' })}>
      Delete
    </Button>
  </>
)

interface ReleaseProp {
  release: AliasRelease
}
