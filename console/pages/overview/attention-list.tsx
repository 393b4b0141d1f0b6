// What somebody should look at now, the most urgent first; and that there is nothing, said just as clearly.
import { useState } from 'react'
import { type AttentionItem, attention } from '../../api/insight-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { LoadFailure, StaleNotice } from '../../parts/load-failure.tsx'
import { useIsNarrow } from '../../state/narrow.ts'
import { Link } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'

const POLL_MS = 15_000
const SHOWN_FIRST = 5
const SHOWN_ON_PHONES = 3

const TONES: Record<AttentionItem['severity'], Tone> = { critical: 'bad', warning: 'warn', info: 'calm' }

/** Where something can be done about it. */
const PAGES: Partial<Record<AttentionItem['about']['type'], (id: string) => string>> = {
  project: () => '/settings',
  api_key: (id) => `/keys/${id}`,
  byoc_cluster: (id) => `/clusters/${id}`,
  provider_credential: () => '/settings/credentials',
  subscription: () => '/settings/subscriptions',
  notification_channel: (id) => `/alerts/${id}`,
}

export function AttentionList() {
  const { state, reload } = useResource(attention, { poll_ms: POLL_MS })
  const [all, setAll] = useState(false)
  const first = useIsNarrow() ? SHOWN_ON_PHONES : SHOWN_FIRST
  if (state.kind === 'failed') return <LoadFailure what="What needs attention" error={state.error} onRetry={reload} />
  if (state.kind === 'loading') return <span className="skeleton" />
  const items = state.value
  if (items.length === 0)
    return (
      <>
        <StaleNotice error={state.stale} onRetry={reload} />
        <p className="all-well">Nothing needs attention.</p>
      </>
    )
  const shown = all ? items : items.slice(0, first)
  return (
    <Card title="Needs attention" actions={<span className="muted">{count(items.length)}</span>}>
      <StaleNotice error={state.stale} onRetry={reload} />
      <ul className="attention">
        {shown.map((item) => (
          <Item key={`${item.kind} ${item.about.id}`} item={item} />
        ))}
      </ul>
      {items.length > first && (
        <Button look="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Show fewer' : `Show ${count(items.length - first)} more`}
        </Button>
      )}
    </Card>
  )
}

function Item({ item: { severity, about, sentence } }: { item: AttentionItem }) {
  const page = PAGES[about.type]?.(about.id)
  return (
    <li>
      <Badge tone={TONES[severity]}>{severity}</Badge>
      <span>{sentence}</span>
      {page && (
        <Link to={page}>
          Open<span className="visually-hidden"> {about.name ?? about.id}</span>
        </Link>
      )}
    </li>
  )
}
