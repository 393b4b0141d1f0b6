// The page of one thing: a header while it comes and where it does not, and then what the page shows of it.
import type { ReactNode } from 'react'
import type { Resource } from '../state/resource.ts'
import { LoadFailure, StaleNotice } from './load-failure.tsx'
import { PageHeader } from './page-header.tsx'

interface SubjectPageProps<T> {
  /** What kind of thing it is, until its name is known; and what could not be loaded. */
  title: string
  what: string
  up: { to: string; label: string }
  resource: Resource<T>
  /** `stale` says that what is shown could not be refreshed; it stands below the header. */
  children(subject: T, stale: ReactNode): ReactNode
}

export function SubjectPage<T>({ title, what, up, resource: { state, reload }, children }: SubjectPageProps<T>) {
  if (state.kind === 'ready') return children(state.value, <StaleNotice error={state.stale} onRetry={reload} />)
  return (
    <>
      <PageHeader title={title} up={up} />
      {state.kind === 'failed' ? (
        <LoadFailure what={what} error={state.error} onRetry={reload} />
      ) : (
        <p className="waiting" role="status">
          Loading …
        </p>
      )}
    </>
  )
}
