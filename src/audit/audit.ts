// Who did what: one entry for everything that only an admin may do, and for what people do to their accounts. An entry
// says who, what and to which thing, never with which words: bodies and secrets are not in it.
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { storable, time } from '../core/shapes.ts'
import { instant, wholeNumber } from '../core/text-values.ts'

export const AuditEntry = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `aud_`.' }),
    object: Type.Literal('audit_entry'),
    actor: Type.String({
      description: 'The key (`key_…`) or the person (`usr_…`) who did it, or `operator` for whoever runs the service.',
    }),
    action: Type.String({ description: 'The endpoint: `POST /v2/api-keys/{key_id}/budget`.' }),
    target: Type.Optional(Type.String({ description: 'The id of what it was done to.' })),
    request_id: Type.String({ description: 'The `x-request-id` of the answer.' }),
    created_at: time(),
  },
  { title: 'AuditEntry' },
)
export type AuditEntry = Static<typeof AuditEntry>

export interface Deed {
  project_id: string
  actor: string
  action: string
  target?: string | undefined
  request_id: string
}

export type NewEntry = AuditEntry & { project_id: string; created_ms: number }

export function entryOf({ project_id, actor, action, target, request_id }: Deed, now: number): NewEntry {
  return {
    id: newId('aud'),
    object: 'audit_entry',
    project_id,
    actor,
    action,
    ...(target !== undefined && { target }),
    request_id,
    created_at: rfc3339(now),
    created_ms: now,
  }
}

/** R3: what needs `admin` and is no reading is a change to keys or settings. */
export function isAudited(method: string, scope: string | undefined): boolean {
  return scope === 'admin' && !['GET', 'HEAD', 'OPTIONS'].includes(method)
}

/** As the documents write it. */
export const actionOf = (method: string, route: string) => `${method} ${route.replace(/:(\w+)/g, '{$1}')}`

/** What was made or changed says its own id; what was only named, the address says. */
export function targetOf(result: unknown, params: unknown): string | undefined {
  const { id } = (result ?? {}) as { id?: unknown }
  if (typeof id === 'string') return id
  return Object.values((params ?? {}) as Record<string, string>)[0]
}

/** R79: whom a deed of the operator's was done to. It is on record there as well. */
export function concernedBy(result: unknown, params: unknown): string | undefined {
  const { project_id } = (params ?? {}) as { project_id?: string }
  const made = (result ?? {}) as { id?: string; object?: string; project_id?: string }
  return project_id ?? made.project_id ?? (made.object === 'project' ? made.id : undefined)
}

const LIMIT_MAX = 10_000
const LATEST_MS = Number.MAX_SAFE_INTEGER

const only = (what: string) => Type.Optional(Type.String({ description: `Only ${what}.` }))

export const AuditQuery = Type.Object({
  action: only('this endpoint, as entries name it'),
  actor: only('what this key or person did'),
  from: only('from this RFC 3339 time on'),
  to: only('before this RFC 3339 time'),
  limit: Type.Optional(
    Type.String({ description: `How many entries at most, 1 to ${LIMIT_MAX}. Without it, all of them.` }),
  ),
  after: Type.Optional(
    Type.String({ description: 'The next page: entries older than the one of this id, the last of a page.' }),
  ),
})

/** Null: anything. */
export interface AuditQuestion {
  action: string | null
  actor: string | null
  from_ms: number
  to_ms: number
  /** Undefined: all of them (R70). */
  limit: number | undefined
  /** The id of an entry that the page begins after. */
  after: string | null
}

/** Where an entry stands in the log. */
export interface AuditPlace {
  created_ms: number
  sequence: number
  id: string
}

/** A cursor names an entry of the project: whatever else it is, it is no place in this log. */
export function placed(place: AuditPlace | undefined): AuditPlace {
  if (!place) throw new Refusal('invalid_request', "'after' must be the id of an entry of this project's audit log.")
  return place
}

export function auditQuestion({ action, actor, from, to, limit, after }: Static<typeof AuditQuery>): AuditQuestion {
  return {
    action: action === undefined ? null : storable('action', action),
    actor: actor === undefined ? null : storable('actor', actor),
    from_ms: from === undefined ? 0 : instant('from', from),
    to_ms: to === undefined ? LATEST_MS : instant('to', to),
    limit: limit === undefined ? undefined : wholeNumber('limit', limit, { minimum: 1, maximum: LIMIT_MAX }),
    after: after === undefined ? null : storable('after', after),
  }
}
