// Which entries of the audit log are shown: whose, which deeds, from which days.
import { useId } from 'react'
import type { Member } from '../../api/settings-calls.ts'
import { Button } from '../../parts/button.tsx'
import { type AuditFilter, isEmpty, NO_AUDIT_FILTER } from './audit-pages.ts'
import { deedName } from './audit-sentences.ts'

/** What people look for. Others are found by who did them, or when. */
const ACTIONS = [
  'POST /v2/api-keys',
  'PATCH /v2/api-keys/{key_id}',
  'DELETE /v2/api-keys/{key_id}',
  'POST /v2/api-keys/{key_id}/budget',
  'POST /v2/api-keys/{key_id}/limits',
  'POST /v2/api-keys/{key_id}/rotate',
  'POST /v2/api-keys/{key_id}/children',
  'POST /v2/project/name',
  'POST /v2/project/cap',
  'POST /v2/project/regions',
  'POST /v2/members/invitations',
  'POST /v2/members/{person_id}/role',
  'DELETE /v2/members/{person_id}',
  'POST /v2/provider-credentials',
  'DELETE /v2/provider-credentials/{credential_id}',
  'POST /v2/byoc/clusters',
  'DELETE /v2/byoc/clusters/{cluster_id}',
  'POST /auth/login',
]

interface AuditFiltersProps {
  filter: AuditFilter
  onChange(changed: Partial<AuditFilter>): void
  people: readonly Member[]
}

export function AuditFilters({ filter, onChange, people }: AuditFiltersProps) {
  const id = useId()
  // An address may ask for any deed.
  const actions = filter.action === '' || ACTIONS.includes(filter.action) ? ACTIONS : [...ACTIONS, filter.action]
  return (
    <search className="filters audit-filters">
      <label>
        Who
        <select value={filter.actor} onChange={(event) => onChange({ actor: event.target.value })}>
          <option value="">Anybody</option>
          {people
            .filter(({ status }) => status === 'active')
            .map((person) => (
              <option key={person.id} value={person.id}>
                {person.email ?? person.id}
              </option>
            ))}
        </select>
      </label>
      <label>
        What
        <select value={filter.action} onChange={(event) => onChange({ action: event.target.value })}>
          <option value="">Anything</option>
          {actions.map((action) => (
            <option key={action} value={action}>
              {deedName(action)}
            </option>
          ))}
        </select>
      </label>
      <label htmlFor={`${id}-from`}>
        From
        <input
          id={`${id}-from`}
          type="date"
          value={filter.from}
          onChange={(event) => onChange({ from: event.target.value })}
        />
      </label>
      <label htmlFor={`${id}-to`}>
        To
        <input
          id={`${id}-to`}
          type="date"
          value={filter.to}
          onChange={(event) => onChange({ to: event.target.value })}
        />
      </label>
      {!isEmpty(filter) && <Button onClick={() => onChange(NO_AUDIT_FILTER)}>Clear</Button>}
    </search>
  )
}
