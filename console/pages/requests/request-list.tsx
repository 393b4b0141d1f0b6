// The requests that fit, live while one looks at the newest, page by page as the service hands them out.

import { useCallback } from 'react'
import { type ListedRequest, listRequests } from '../../api/request-calls.ts'
import { count, headlineCount, money } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { LinkButton } from '../../parts/button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { RequestPager, statusTone, TIME_COLUMNS, whenColumn } from '../../parts/request-columns.tsx'
import { moment } from '../../parts/times.ts'
import type { AddressQuery } from '../../state/address-query.ts'
import { nowMs } from '../../state/browser-clock.ts'
import { Link } from '../../state/navigation.tsx'
import { seenAs, useResource } from '../../state/resource.ts'
import { LAYERS, outcomeLabel } from '../overview/refusal-layers.ts'
import { askedBy, isNarrowed, type RequestView } from './request-view.ts'

const POLL_MS = 5_000
const PAGE_ROWS = '50'

interface RequestListProps {
  view: RequestView
  change: AddressQuery['change']
}

/** The page that each page of this tab came after, for the way back to newer ones. */
const came_from = new Map<string, string | undefined>()

export function RequestList({ view, change }: RequestListProps) {
  const found = useResource(
    useCallback((signal) => listRequests({ ...askedBy(view, nowMs()), limit: PAGE_ROWS }, signal), [view]),
    // Only the newest page changes.
    { poll_ms: view.after === undefined ? POLL_MS : undefined, keep: true },
  )
  const { state } = found
  const is_old = state.kind === 'ready' && state.old === true
  const next = state.kind === 'ready' && !is_old ? state.value.next : null
  function goOlder(to: string) {
    came_from.set(to, view.after)
    change({ after: to })
    window.scrollTo(0, 0)
  }
  const newer = () => change({ after: view.after && came_from.get(view.after) })
  const has_pages = view.after !== undefined || next !== null
  return (
    <div className="request-list" data-old={is_old || undefined} aria-busy={is_old}>
      <DataTable
        what="Requests"
        resource={seenAs(found, ({ data }) => data)}
        columns={COLUMNS}
        rowId={({ id }) => id}
        empty={<Nothing view={view} searched_from={state.kind === 'ready' ? state.value.searched_from : null} />}
      />
      {has_pages && (
        <RequestPager
          is_newest={view.after === undefined}
          newest={() => change({ after: undefined })}
          newer={newer}
          older={next === null ? undefined : () => goOlder(next)}
          older_label={state.kind === 'ready' && state.value.data.length === 0 ? 'Look further back' : 'Older'}
        >
          {view.after === undefined ? 'The newest, live' : 'Older requests'}
        </RequestPager>
      )}
    </div>
  )
}

function Nothing({ view, searched_from }: { view: RequestView; searched_from: string | null }) {
  if (searched_from !== null)
    return (
      <>
        <h2>Nothing since {moment(searched_from)}</h2>
        <p>No request since then matches. Older ones have not been searched yet.</p>
      </>
    )
  if (isNarrowed(view) || view.after !== undefined)
    return (
      <>
        <h2>No request matches</h2>
        <p>Drop a filter, or choose a longer time. Only calls to models are listed; refused ones for 30 days.</p>
        <LinkButton to="/requests">Show all requests</LinkButton>
      </>
    )
  return (
    <>
      <h2>No requests yet</h2>
      <p>Every call to a model is listed here, with its cost, or with why it was refused.</p>
      <LinkButton to="/start">Get started</LinkButton>
    </>
  )
}

const COLUMNS: readonly Column<ListedRequest>[] = [
  whenColumn(({ id }) => id),
  { id: 'result', header: 'Result', cell: (request) => <Result request={request} /> },
  {
    id: 'key',
    header: 'Key',
    cell: ({ key_id, key_name }) =>
      key_name === null ? (
        <code className="muted">{key_id}</code>
      ) : (
        <Link to={`/keys/${key_id}`} className="one-line" title={key_name}>
          {key_name}
        </Link>
      ),
  },
  {
    id: 'model',
    header: 'Model',
    cell: ({ requested_model, resolved_model, provider, mode }) => (
      <span className="two-lines named-model" title={`${resolved_model ?? ''} ${provider ?? ''}`.trim()}>
        <span>{resolved_model ?? requested_model ?? 'not read'}</span>
        <span className="muted">
          {mode === 'placeholder' ? 'placeholder' : provider}
          {resolved_model !== null && requested_model !== resolved_model && `, as ${requested_model}`}
        </span>
      </span>
    ),
  },
  {
    id: 'tokens',
    header: 'Tokens',
    align: 'right',
    minor: true,
    cell: ({ input_tokens, output_tokens, outcome }) =>
      outcome === 'refused' ? '–' : `${headlineCount(input_tokens)} → ${headlineCount(output_tokens)}`,
  },
  ...TIME_COLUMNS,
  { id: 'cost', header: 'Cost', align: 'right', cell: ({ charged_micros }) => money(charged_micros) },
]

/** How it ended, and in a line why. */
function Result({
  request: { id, outcome, layer, http_status, message, upstream_message, count: alike },
}: {
  request: ListedRequest
}) {
  return (
    <span className="two-lines request-result">
      <span className="row">
        <Badge tone={outcome === 'refused' ? 'bad' : statusTone(outcome)}>{outcomeLabel(outcome)}</Badge>
        {layer !== null && (
          <span className="muted">
            {LAYERS[layer].label}
            {http_status !== null && http_status !== 200 && `, ${http_status}`}
            {alike > 1 && `, ${count(alike)} times`}
          </span>
        )}
      </span>
      {message !== null && (
        <Link to={`/traces/${id}`} className="request-reason" title={upstream_message ?? message}>
          {message}
        </Link>
      )}
    </span>
  )
}
