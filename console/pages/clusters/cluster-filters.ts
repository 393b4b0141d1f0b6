// Which clusters are looked for: their statuses, what a cluster is remembered by, and which come first.
import type { Cluster } from '../../api/cluster-calls.ts'
import type { RowFilter } from '../../parts/data-table.tsx'
import { type SearchFilter, searched } from '../../parts/search-filters.tsx'
import type { Option } from '../../parts/select-field.tsx'

type StatusFilter = 'all' | Cluster['status']

export const CLUSTER_STATUSES: readonly Option<StatusFilter>[] = [
  { value: 'all', label: 'All statuses' },
  { value: 'active', label: 'Active' },
  { value: 'draining', label: 'Draining' },
  { value: 'down', label: 'Down' },
  { value: 'registering', label: 'Registering' },
]

const URGENCY: Record<Cluster['status'], number> = { down: 0, draining: 1, active: 2, registering: 3 }

/** What is down is what people come for. The rest stays in its order. */
export const urgentFirst = (clusters: readonly Cluster[]) =>
  clusters.toSorted((one, other) => URGENCY[one.status] - URGENCY[other.status])

export type ClusterFilter = SearchFilter<StatusFilter>
export const NO_FILTER: ClusterFilter = { text: '', state: 'all' }

export const clusterFilter = (filter: ClusterFilter): RowFilter<Cluster> =>
  searched(filter, {
    words: ({ id, name, region }) => [id, name, region],
    inState: ({ status }, asked) => asked === 'all' || status === asked,
  })
