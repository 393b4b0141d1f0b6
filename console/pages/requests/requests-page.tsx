// Every request, newest first: what failed, for whom, and why. What is shown stands in the address.
import { useMemo } from 'react'
import { PageHeader } from '../../parts/page-header.tsx'
import { Segments } from '../../parts/segments.tsx'
import { changedQuery, useAddressQuery } from '../../state/address-query.ts'
import { rememberList } from '../../state/last-list.ts'
import { FindRequest } from './find-request.tsx'
import { RequestFilters } from './request-filters.tsx'
import { RequestList } from './request-list.tsx'
import { OUTCOMES, type OutcomeId, viewIn } from './request-view.ts'
import { SavedViews } from './saved-views.tsx'

export default function RequestsPage() {
  const { params, change } = useAddressQuery()
  const view = useMemo(() => viewIn(params), [params])
  rememberList(params)
  // Whatever is looked for begins at the newest again.
  const narrow = (changes: Readonly<Record<string, string | undefined>>) => change({ after: undefined, ...changes })
  const chosen = OUTCOMES.find(({ id }) => id === (view.outcome ?? ''))
  return (
    <>
      <PageHeader title="Requests" lead="Every call to a model, newest first: completed, failed and refused." />
      <FindRequest
        error={view.error}
        onError={(error) => narrow({ error, ...(error && { outcome: wrongOnly(view.outcome) }) })}
      />
      <div className="controls">
        <Segments
          label="Outcome"
          options={OUTCOMES}
          value={chosen?.id ?? ('other' as OutcomeId)}
          onChange={(outcome) =>
            narrow({ outcome, ...(outcome === 'completed' && { layer: undefined, error: undefined }) })
          }
        />
      </div>
      <RequestFilters view={view} change={narrow} />
      <SavedViews page="requests" query={changedQuery(params.toString(), { after: undefined })} />
      <RequestList view={view} change={change} />
    </>
  )
}

/** A completed one has no error. */
const wrongOnly = (outcome: string | undefined) => (outcome === 'completed' ? undefined : outcome)
