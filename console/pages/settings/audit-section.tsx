// Who did what, newest first: by whom, which deed, and when; older entries are asked for as somebody wants them.
import { useCallback, useEffect, useMemo, useState } from 'react'
import { type AuditEntry, listMembers, type Member } from '../../api/settings-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { Link } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'
import { AuditFilters } from './audit-filters.tsx'
import { type AuditFilter, auditPage, NO_AUDIT_FILTER, PAGE_ENTRIES, withOlder } from './audit-pages.ts'

/** R74: the log is for owners. */
export default function AuditSection() {
  return useMay('admin') ? (
    <AuditLog />
  ) : (
    <Card title="Audit log">
      <p className="muted">Who did what in this project is for its owners to see.</p>
    </Card>
  )
}

function AuditLog() {
  const [filter, setFilter] = useState<AuditFilter>(NO_AUDIT_FILTER)
  const latest = useResource<readonly AuditEntry[]>(
    useCallback((signal) => auditPage(filter, undefined, signal), [filter]),
  )
  const members = useResource(listMembers)
  const people = members.state.kind === 'ready' ? members.state.value : undefined
  const columns = useMemo(() => columnsWith(people ?? []), [people])
  return (
    <Card title="Audit log">
      <p className="muted">Every change that only owners may make, and what members did to their accounts.</p>
      <AuditFilters filter={filter} onChange={setFilter} people={people ?? []} />
      <DataTable
        what="Audit entries"
        resource={latest}
        columns={columns}
        rowId={({ id }) => id}
        empty={<p>Nothing {filter === NO_AUDIT_FILTER ? 'was done yet.' : 'matches.'}</p>}
      />
      {latest.state.kind === 'ready' && <Older filter={filter} entries={latest.state.value} onMore={latest.put} />}
    </Card>
  )
}

interface OlderProps {
  filter: AuditFilter
  entries: readonly AuditEntry[]
  onMore(entries: readonly AuditEntry[]): void
}

/** There may be more behind a page that came back full. */
function Older({ filter, entries, onMore }: OlderProps) {
  const [is_all, setIsAll] = useState(entries.length < PAGE_ENTRIES)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter begins anew
  useEffect(() => setIsAll(entries.length < PAGE_ENTRIES), [filter])
  const asking = useSubmission(async (last: AuditEntry) => {
    const more = withOlder(entries, await auditPage(filter, last))
    setIsAll(more.length === entries.length)
    onMore(more)
  })
  const last = entries.at(-1)
  if (is_all || !last) return null
  return (
    <div className="stack">
      <FormError error={asking.error} fields={[]} />
      <span className="row">
        <Button busy={asking.busy} onClick={() => void asking.submit(last)}>
          Load older entries
        </Button>
        <span className="muted">{count(entries.length)} are here.</span>
      </span>
    </div>
  )
}

function columnsWith(people: readonly Member[]): readonly Column<AuditEntry>[] {
  const emails = new Map(people.map(({ id, email }) => [id, email]))
  return [
    { id: 'at', header: 'When', cell: ({ created_at }) => <TimeAgo at={created_at} /> },
    {
      id: 'actor',
      header: 'Who',
      cell: ({ actor }) =>
        actor.startsWith('key_') ? (
          <Link to={`/keys/${actor}`}>
            <code>{actor}</code>
          </Link>
        ) : (
          <span title={actor}>{emails.get(actor) ?? actor}</span>
        ),
    },
    {
      id: 'action',
      header: 'What',
      cell: ({ action, request_id }) => (
        <span className="two-lines">
          <code>{action}</code>
          <code className="muted">{request_id}</code>
        </span>
      ),
    },
    {
      id: 'target',
      header: 'To',
      cell: ({ target }) =>
        target?.startsWith('key_') ? (
          <Link to={`/keys/${target}`}>
            <code>{target}</code>
          </Link>
        ) : (
          <code>{target ?? '–'}</code>
        ),
    },
  ]
}
