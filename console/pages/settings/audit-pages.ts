// Pages of the audit log. The service cuts by time: the next page begins with the last millisecond of the one before.
import { type AuditEntry, auditLog } from '../../api/settings-calls.ts'

export const PAGE_ENTRIES = 500

export interface AuditFilter {
  actor: string
  action: string
  /** As a `date` input has them, in UTC; `to` is the last day that is shown. */
  from: string
  to: string
}

export const NO_AUDIT_FILTER: AuditFilter = { actor: '', action: '', from: '', to: '' }

/** As the address says it. */
export function filterIn(params: URLSearchParams): AuditFilter {
  const given = (name: keyof AuditFilter) => params.get(name) ?? ''
  return { actor: given('actor'), action: given('action'), from: dayOf(given('from')), to: dayOf(given('to')) }
}

const dayOf = (text: string) => (/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : '')

export const isEmpty = (filter: AuditFilter) => Object.values(filter).every((value) => value === '')

const DAY_MS = 86_400_000
const after = (rfc3339: string, ms: number) => new Date(Date.parse(rfc3339) + ms).toISOString()

/** What is asked for: a day is meant whole, and entries of the last one's millisecond come once more. */
export function auditQuery({ actor, action, from, to }: AuditFilter, last: AuditEntry | undefined) {
  const end = last ? after(last.created_at, 1) : to === '' ? undefined : after(`${to}T00:00:00Z`, DAY_MS)
  return {
    limit: String(PAGE_ENTRIES),
    ...(actor.trim() !== '' && { actor: actor.trim() }),
    ...(action !== '' && { action }),
    ...(from !== '' && { from: `${from}T00:00:00Z` }),
    ...(end !== undefined && { to: end }),
  }
}

export const auditPage = (filter: AuditFilter, last: AuditEntry | undefined, signal?: AbortSignal) =>
  auditLog(auditQuery(filter, last), signal)

/** What is there already comes once. */
export function withOlder(entries: readonly AuditEntry[], page: readonly AuditEntry[]): readonly AuditEntry[] {
  const known = new Set(entries.map(({ id }) => id))
  return [...entries, ...page.filter(({ id }) => !known.has(id))]
}
