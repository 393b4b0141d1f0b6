// All keys of the project: what each may do, what it has spent of its limit, and when it was last used.
import { useCallback, useRef, useState } from 'react'
import { theProject } from '../../api/account-calls.ts'
import { listKeys } from '../../api/key-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { BudgetBar, bindingCap } from '../../parts/budget-bar.tsx'
import { Button, LinkButton } from '../../parts/button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { SearchFilters } from '../../parts/search-filters.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { TimeUntil } from '../../parts/time-until.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useAddressQuery } from '../../state/address-query.ts'
import { nowMs } from '../../state/browser-clock.ts'
import { Link } from '../../state/navigation.tsx'
import { type Loaded, useResource } from '../../state/resource.ts'
import { useMay, useMe } from '../../state/session.tsx'
import { useShortcut } from '../../state/shortcuts.ts'
import { CreateKeyDialog } from './create-key-dialog.tsx'
import { KeyBudget } from './key-budget.tsx'
import { families, type KeyRow, STATE_TONES } from './key-family.ts'
import { KEY_STATES, type KeyFilter, keyFilter, NO_FILTER } from './key-filters.ts'
import { NewKeyDialog, type ShownKey } from './new-key-dialog.tsx'

const POLL_MS = 10_000

const listFamilies = async (signal: AbortSignal, tell: (rows: readonly KeyRow[]) => void) =>
  families(await listKeys(signal, (keys) => tell(families(keys, nowMs()))), nowMs())

export default function KeysPage() {
  const keys = useResource<readonly KeyRow[]>(listFamilies, { poll_ms: POLL_MS })
  const [filter, setFilter] = useState<KeyFilter>(NO_FILTER)
  const { params, change } = useAddressQuery()
  const setCreating = (is_open: boolean) => change({ do: is_open ? 'create' : undefined }, { replace: true })
  const [shown, setShown] = useState<ShownKey>()
  const search = useRef<HTMLInputElement>(null)
  const may_create = useMayCreate()
  const creating = may_create && params.get('do') === 'create'
  const say = useToast()
  useShortcut('/', 'Search keys', () => search.current?.focus())
  useShortcut('c', 'Create a key', () => may_create && setCreating(true))

  function onCreated(key: ShownKey) {
    setCreating(false)
    setShown(key)
    keys.reload()
  }
  function onStored() {
    setShown(undefined)
    say('The key is ready to be used.')
  }

  return (
    <>
      <PageHeader
        title="Keys"
        lead={<ProjectSpending keys={keys.state} />}
        actions={
          may_create && (
            <Button look="primary" onClick={() => setCreating(true)}>
              Create key
            </Button>
          )
        }
      />
      <WhyNot />
      <SearchFilters
        what="keys"
        by="name, id or last four"
        states={KEY_STATES}
        states_label="State"
        filter={filter}
        onChange={setFilter}
        search={search}
      />
      <DataTable
        what="Keys"
        resource={keys}
        columns={COLUMNS}
        rowId={({ id }) => id}
        filter={keyFilter(filter)}
        empty={<NoKeys onCreate={may_create ? () => setCreating(true) : undefined} />}
      />
      {creating && <CreateKeyDialog onClose={() => setCreating(false)} onCreated={onCreated} />}
      {shown && <NewKeyDialog shown={shown} onClose={onStored} />}
    </>
  )
}

const COLUMNS: readonly Column<KeyRow>[] = [
  {
    id: 'name',
    header: 'Name',
    sortBy: ({ name }) => name.toLowerCase(),
    cell: ({ id, name, masked, parent_name }) => (
      <span className="two-lines" data-child={parent_name !== undefined || undefined}>
        <Link to={`/keys/${id}`}>{name}</Link>
        <code className="muted">{masked}</code>
        {parent_name !== undefined && <span className="muted">child of {parent_name}</span>}
      </span>
    ),
  },
  { id: 'scopes', header: 'Scope', minor: true, cell: ({ scopes }) => scopes.join(', ') },
  {
    id: 'budget',
    header: 'Spending',
    sortBy: ({ spent_micros }) => spent_micros,
    cell: (key) => <KeyBudget {...key} dense />,
  },
  {
    id: 'used',
    header: 'Last used',
    sortBy: ({ last_used_at }) => last_used_at ?? '',
    cell: ({ last_used_at }) => <TimeAgo at={last_used_at} />,
  },
  {
    id: 'created',
    header: 'Created',
    minor: true,
    sortBy: ({ created_at }) => created_at,
    cell: ({ created_at }) => <TimeAgo at={created_at} />,
  },
  {
    id: 'status',
    header: 'State',
    cell: ({ state, expires_at, previous_expires_at }) => (
      <span className="two-lines">
        <Badge tone={STATE_TONES[state]}>{state}</Badge>
        {state === 'active' && previous_expires_at && (
          <span className="muted">
            old secret ends <TimeUntil at={previous_expires_at} />
          </span>
        )}
        {state === 'active' && expires_at && (
          <span className="muted">
            expires <TimeUntil at={expires_at} />
          </span>
        )}
      </span>
    ),
  },
]

/** §5.6: making keys needs an owner whose address is confirmed. */
function useMayCreate(): boolean {
  const { person } = useMe()
  return useMay('admin') && person.email_verified
}

function WhyNot() {
  const { person, project } = useMe()
  if (project?.role !== 'owner')
    return <p className="notice">You are a {project?.role} here. Owners make, change and revoke keys.</p>
  if (person.email_verified) return null
  return (
    <p className="notice notice-warn">
      Confirm your e-mail address to make keys: a link was sent to <strong>{person.email}</strong>.
    </p>
  )
}

/** What the project as a whole has spent, and what is held for generations under way. */
function ProjectSpending({ keys }: { keys: Loaded<readonly KeyRow[]> }) {
  const project = useResource(
    useCallback((signal) => theProject(signal), []),
    { poll_ms: POLL_MS },
  )
  const active = keys.kind === 'ready' ? keys.value.filter(({ state }) => state === 'active').length : undefined
  if (keys.kind === 'failed') return null
  return (
    <div className="spending">
      <span>
        {active === undefined ? <span className="skeleton skeleton-word" /> : `${count(active)} active`}
        <span className="muted"> in this project</span>
      </span>
      {project.state.kind === 'ready' && (
        <BudgetBar
          spent_micros={project.state.value.spent_micros}
          held_micros={project.state.value.held_micros}
          limit_micros={bindingCap(project.state.value)}
        />
      )}
    </div>
  )
}

const NoKeys = ({ onCreate }: { onCreate: (() => void) | undefined }) => (
  <>
    <h2>No keys yet</h2>
    <p>A key lets an agent or a service in, and holds it to a budget.</p>
    <span className="row">
      {onCreate && (
        <Button look="primary" onClick={onCreate}>
          Create key
        </Button>
      )}
      <LinkButton to="/start">Get started</LinkButton>
    </span>
  </>
)
