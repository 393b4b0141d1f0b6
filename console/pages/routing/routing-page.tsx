// §9.4: the names that agents ask for and where they lead; and where a request would go now, and why not elsewhere.
import { useCallback, useState } from 'react'
import { type Alias, findRelease, listAliases, listDestinations } from '../../api/routing-calls.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { Link, navigate } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { useShortcut } from '../../state/shortcuts.ts'
import { ExplainCard } from './explain-card.tsx'
import { CreateAliasDialog } from './release-dialog.tsx'
import { sharesOf } from './target-shares.ts'

const POLL_MS = 15_000

export default function RoutingPage() {
  const aliases = useResource<readonly Alias[]>(listAliases, { poll_ms: POLL_MS })
  const [creating, setCreating] = useState(false)
  const [wanted, setWanted] = useState('')
  const { state } = useResource(useCallback((signal) => listDestinations(signal), []))
  const destinations = state.kind === 'ready' ? state.value : undefined
  const may_manage = useMay('admin')
  const create = may_manage ? () => setCreating(true) : undefined
  useShortcut('c', 'Create an alias', () => create?.())
  const text = wanted.trim().toLowerCase()
  const names = aliases.state.kind === 'ready' ? aliases.state.value.map(({ name }) => name) : []
  return (
    <>
      <PageHeader
        title="Routing"
        lead="An alias is a name of your own for one or more models. Its active release decides where requests go."
        actions={
          create && (
            <Button look="primary" onClick={create}>
              Create alias
            </Button>
          )
        }
      />
      {!may_manage && <p className="notice">Owners of the project make aliases and activate releases.</p>}
      <Card title="Aliases">
        {names.length > 0 && <AliasSearch value={wanted} onChange={setWanted} />}
        <DataTable
          what="Aliases"
          resource={aliases}
          columns={COLUMNS}
          rowId={({ id }) => id}
          filter={{ of: text, matches: ({ name, id }) => name.includes(text) || id.includes(text) }}
          empty={<NoAliases onCreate={create} />}
        />
      </Card>
      <ExplainCard names={names} destinations={destinations} />
      {creating && (
        <CreateAliasDialog onClose={() => setCreating(false)} onCreated={(name) => navigate(aliasPath(name))} />
      )}
    </>
  )
}

/** A name may hold a slash. */
const aliasPath = (name: string) => `/routing/${encodeURIComponent(name)}`

const COLUMNS: readonly Column<Alias>[] = [
  {
    id: 'name',
    header: 'Alias',
    sortBy: ({ name }) => name,
    cell: ({ name }) => (
      <Link to={aliasPath(name)}>
        <code>{name}</code>
      </Link>
    ),
  },
  { id: 'targets', header: 'Goes to', cell: ({ current_release_id: id }) => <CurrentTargets release_id={id} /> },
  {
    id: 'changed',
    header: 'Changed',
    sortBy: ({ updated_at }) => updated_at,
    cell: ({ updated_at }) => <TimeAgo at={updated_at} />,
  },
]

const SHOWN_TARGETS = 3

function CurrentTargets({ release_id }: { release_id: string }) {
  const { state } = useResource(useCallback((signal) => findRelease(release_id, signal), [release_id]))
  if (state.kind === 'loading') return <span className="skeleton skeleton-word" />
  if (state.kind === 'failed') return <span className="muted">{state.error.message}</span>
  const { version, targets } = state.value
  const shown = sharesOf(targets).slice(0, SHOWN_TARGETS)
  const more = targets.length - shown.length
  return (
    <span className="two-lines">
      <span>
        {shown.map(({ target, share }) => `${target.model} ${Math.round(share * 100)}%`).join(', ')}
        {more > 0 && ` and ${more} more`}
      </span>
      <span className="muted">release {version}</span>
    </span>
  )
}

function AliasSearch({ value, onChange }: { value: string; onChange(value: string): void }) {
  return (
    <search className="filters">
      <input
        type="search"
        aria-label="Search aliases"
        placeholder="Search by name or id"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </search>
  )
}

const NoAliases = ({ onCreate }: { onCreate: (() => void) | undefined }) => (
  <>
    <h2>No aliases yet</h2>
    <p>
      Let agents ask for <code>fast</code> or <code>research/long</code>, and move them to another model, provider or
      cluster without touching their code. Rolling back is one click.
    </p>
    {onCreate && (
      <Button look="primary" onClick={onCreate}>
        Create alias
      </Button>
    )}
  </>
)
