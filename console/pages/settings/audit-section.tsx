// Who did what, newest first: by whom, which deed, and when; older entries are asked for as somebody wants them.
import { useCallback, useEffect, useMemo, useState } from 'react'
import { type AuditEntry, listMembers } from '../../api/settings-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { moment } from '../../parts/times.ts'
import { useAddressQuery } from '../../state/address-query.ts'
import { useNamesOf } from '../../state/names-of-things.ts'
import { Link } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'
import { AuditFilters } from './audit-filters.tsx'
import { type AuditFilter, auditPage, filterIn, isEmpty, PAGE_ENTRIES, withOlder } from './audit-pages.ts'
import { pageOfThing, sentenceOf } from './audit-sentences.ts'

/** R74: the log is for owners. */
export default function AuditSection() {
  return useMay('admin') ? (
    <AuditLog />
  ) : (
    <Card title="Audit log">
      <p className="muted">Only owners of the project see the audit log.</p>
    </Card>
  )
}

function AuditLog() {
  const { params, change } = useAddressQuery()
  const filter = useMemo(() => filterIn(params), [params])
  const latest = useResource<readonly AuditEntry[]>(
    useCallback((signal) => auditPage(filter, undefined, signal), [filter]),
  )
  const members = useResource(listMembers)
  const entries = latest.state.kind === 'ready' ? latest.state.value : []
  const names = useNamesOf(entries.flatMap(({ actor, target }) => [actor, target]))
  const columns = useMemo(() => columnsWith(names), [names])
  return (
    <Card title="Audit log">
      <p className="muted">Every change that only owners may make, and what members did to their accounts.</p>
      <AuditFilters
        filter={filter}
        onChange={change}
        people={members.state.kind === 'ready' ? members.state.value : []}
      />
      <DataTable
        what="Audit entries"
        resource={latest}
        columns={columns}
        rowId={({ id }) => id}
        empty={<p>{isEmpty(filter) ? 'No entries yet.' : 'Nothing matches.'}</p>}
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

type Names = ReadonlyMap<string, string>

const columnsWith = (names: Names): readonly Column<AuditEntry>[] => [
  { id: 'what', header: 'What', cell: (entry) => <Sentence entry={entry} names={names} /> },
  {
    id: 'at',
    header: 'When',
    cell: ({ created_at, request_id }) => (
      <span className="two-lines">
        <span>
          <TimeAgo at={created_at} /> <span className="muted">{moment(created_at)}</span>
        </span>
        <code className="muted">{request_id}</code>
      </span>
    ),
  },
]

/** Who did what to which thing, in one sentence. */
function Sentence({ entry: { actor, action, target }, names }: { entry: AuditEntry; names: Names }) {
  const { before, after, thing } = sentenceOf(action, target)
  return (
    <span>
      {actor === 'operator' ? 'The operator' : <Thing id={actor} names={names} />} {before}
      {thing && <Thing id={thing} names={names} />}
      {after}
    </span>
  )
}

function Thing({ id, names }: { id: string; names: Names }) {
  const page = pageOfThing(id)
  const name = names.get(id)
  const shown = name === undefined ? <code>{id}</code> : <strong>{name}</strong>
  if (page === undefined) return shown
  return (
    <Link to={page} title={id}>
      {shown}
    </Link>
  )
}
