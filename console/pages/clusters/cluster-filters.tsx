// Which of the clusters are shown: by what somebody remembers of them, and by status.
import { type RefObject, useId } from 'react'
import type { Cluster } from '../../api/cluster-calls.ts'
import type { RowFilter } from '../../parts/data-table.tsx'

const STATES = ['all', 'active', 'draining', 'down', 'registering'] as const
type StateFilter = (typeof STATES)[number]

export interface ClusterFilter {
  text: string
  state: StateFilter
}

export const NO_FILTER: ClusterFilter = { text: '', state: 'all' }

export function clusterFilter({ text, state }: ClusterFilter): RowFilter<Cluster> {
  const wanted = text.trim().toLowerCase()
  return {
    of: `${state} ${wanted}`,
    matches: ({ id, name, region, status }) =>
      (state === 'all' || status === state) && [id, name, region].some((one) => one.toLowerCase().includes(wanted)),
  }
}

interface ClusterFiltersProps {
  filter: ClusterFilter
  onChange(filter: ClusterFilter): void
  search: RefObject<HTMLInputElement | null>
}

export function ClusterFilters({ filter, onChange, search }: ClusterFiltersProps) {
  const id = useId()
  return (
    <search className="filters">
      <label className="visually-hidden" htmlFor={`${id}-text`}>
        Search clusters
      </label>
      <input
        ref={search}
        id={`${id}-text`}
        type="search"
        placeholder="Search by name, region or id"
        value={filter.text}
        onChange={(event) => onChange({ ...filter, text: event.target.value })}
      />
      <label className="visually-hidden" htmlFor={`${id}-state`}>
        Status
      </label>
      <select
        id={`${id}-state`}
        value={filter.state}
        onChange={(event) => onChange({ ...filter, state: event.target.value as StateFilter })}
      >
        {STATES.map((state) => (
          <option key={state} value={state}>
            {state === 'all' ? 'All statuses' : state}
          </option>
        ))}
      </select>
    </search>
  )
}
