// All clusters as cards, a page of them at a time: only what is seen is asked for again and again.
import { type ReactNode, useState } from 'react'
import type { Cluster } from '../../api/cluster-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Button } from '../../parts/button.tsx'
import type { RowFilter } from '../../parts/data-table.tsx'
import { LoadFailure, StaleNotice } from '../../parts/load-failure.tsx'
import type { Resource } from '../../state/resource.ts'
import { ClusterCard } from './cluster-card.tsx'
import { urgentFirst } from './cluster-filters.ts'

const PAGE_CARDS = 12
const SKELETONS = ['one', 'two', 'three']

interface ClusterCardsProps {
  clusters: Resource<readonly Cluster[]>
  filter: RowFilter<Cluster>
  empty: ReactNode
}

export function ClusterCards({ clusters: { state, reload }, filter, empty }: ClusterCardsProps) {
  const [asked, setAsked] = useState({ of: filter.of, page: 0 })
  if (state.kind === 'failed') return <LoadFailure what="Clusters" error={state.error} onRetry={reload} />
  if (state.kind === 'loading') return <Skeletons />
  if (state.value.length === 0) return <div className="empty">{empty}</div>
  const matching = urgentFirst(state.value.filter(filter.matches))
  const last_page = Math.max(0, Math.ceil(matching.length / PAGE_CARDS) - 1)
  const page = asked.of === filter.of ? Math.min(asked.page, last_page) : 0
  const from = page * PAGE_CARDS
  const turn = (page: number) => setAsked({ of: filter.of, page })
  return (
    <>
      <StaleNotice error={state.stale} onRetry={reload} />
      <ul className="cards">
        {matching.slice(from, from + PAGE_CARDS).map((cluster) => (
          <ClusterCard key={cluster.id} cluster={cluster} />
        ))}
      </ul>
      {matching.length === 0 && <p className="empty">Nothing matches.</p>}
      {last_page > 0 && (
        <nav className="pager" aria-label="Pages of clusters">
          <span role="status">
            {count(from + 1)}–{count(Math.min(matching.length, from + PAGE_CARDS))} of {count(matching.length)}
          </span>
          <Button disabled={page === 0} onClick={() => turn(page - 1)}>
            Previous
          </Button>
          <Button disabled={page === last_page} onClick={() => turn(page + 1)}>
            Next
          </Button>
        </nav>
      )}
    </>
  )
}

const Skeletons = () => (
  <ul className="cards" aria-busy="true" aria-label="Clusters are loading">
    {SKELETONS.map((one) => (
      <li key={one} className="card cluster-card">
        <span className="skeleton" />
        <span className="skeleton" />
        <span className="skeleton" />
      </li>
    ))}
  </ul>
)
