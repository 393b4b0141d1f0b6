// All clusters of the project as cards: how each is, what it serves, how hard it works, and how its last day was.
import { useRef, useState } from 'react'
import { type Cluster, listClusters } from '../../api/cluster-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Button } from '../../parts/button.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { SearchFilters } from '../../parts/search-filters.tsx'
import { navigate } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { useShortcut } from '../../state/shortcuts.ts'
import { ClusterCards } from './cluster-cards.tsx'
import { CLUSTER_STATUSES, clusterFilter, NO_FILTER } from './cluster-filters.ts'
import { RegisterDialog } from './register-dialog.tsx'

const POLL_MS = 10_000

export default function ClustersPage() {
  const clusters = useResource<readonly Cluster[]>(listClusters, { poll_ms: POLL_MS })
  const [filter, setFilter] = useState(NO_FILTER)
  const [registering, setRegistering] = useState(false)
  const search = useRef<HTMLInputElement>(null)
  const may_manage = useMay('admin')
  const register = may_manage ? () => setRegistering(true) : undefined
  useShortcut('/', 'Search clusters', () => search.current?.focus())
  useShortcut('c', 'Register a cluster', () => register?.())
  const known = clusters.state.kind === 'ready' ? clusters.state.value : undefined
  return (
    <>
      <PageHeader
        title="Clusters"
        lead={<FleetWords clusters={known} />}
        actions={
          register && (
            <Button look="primary" onClick={register}>
              Register cluster
            </Button>
          )
        }
      />
      {!may_manage && <p className="notice">Owners of the project register and deregister clusters.</p>}
      {(known === undefined || known.length > 0) && (
        <SearchFilters
          what="clusters"
          by="name, region or id"
          states={CLUSTER_STATUSES}
          states_label="Status"
          filter={filter}
          onChange={setFilter}
          search={search}
        />
      )}
      <ClusterCards clusters={clusters} filter={clusterFilter(filter)} empty={<NoClusters onRegister={register} />} />
      {registering && (
        <RegisterDialog onClose={() => setRegistering(false)} onRegistered={({ id }) => navigate(`/clusters/${id}`)} />
      )}
    </>
  )
}

const ORDER = ['active', 'draining', 'down', 'registering'] as const

function FleetWords({ clusters }: { clusters: readonly Cluster[] | undefined }) {
  if (!clusters) return <span className="skeleton skeleton-word" />
  if (clusters.length === 0) return 'Inference on hardware of your own, behind the same keys and budgets.'
  const parts = ORDER.map((status) => ({ status, many: clusters.filter((one) => one.status === status).length }))
  return parts
    .filter(({ many }) => many > 0)
    .map(({ status, many }) => `${count(many)} ${status}`)
    .join(', ')
}

const NoClusters = ({ onRegister }: { onRegister: (() => void) | undefined }) => (
  <>
    <h2>No clusters yet</h2>
    <p>
      Register one, let it send heartbeats, and requests for the models that it serves go there first. It needs an
      address that speaks the OpenAI API, such as vLLM or SGLang.
    </p>
    {onRegister && (
      <Button look="primary" onClick={onRegister}>
        Register cluster
      </Button>
    )}
  </>
)
