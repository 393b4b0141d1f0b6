// R80: usage events as lines of the list of requests. A page is found by the index of the project, a key, a session, a
// bundle, or of what did not end well; whatever else is asked for is looked at window by window.
import { type Db, fixed, joined, type Sql, sql } from '../storage/db.ts'
import { fitsText, hasText, type ListedEvent, type ListedRequest, requestOfEvent } from './listed-request.ts'
import { lastOf, type RequestFilter, type RequestPlace } from './request-query.ts'
import { type RequestSource, TEXT_WINDOW_ROWS, WINDOW_ROWS } from './request-search.ts'
import type { TraceFacts } from './trace.ts'
import { ENDINGS } from './usage-event.ts'
import { hasTag } from './usage-tag-store.ts'

type Row = Omit<ListedEvent, 'attempts' | 'tags'> & { attempts: string; trace: string | null; tags: string | null }

export function requestStore(db: Pick<Db, 'rows'>, project_id: string, filter: RequestFilter): RequestSource {
  const indexed = indexedPart(project_id, filter)
  const rest = restOf(filter)
  const reads_all = rest.length === 0 && !hasText(filter)

  return {
    async windowFrom(below, from_ms) {
      if (reads_all) return from_ms
      const [row] = await db.rows<{ created_ms: number }>(
        joined(
          sql`SELECT e.created_ms FROM usage_event e WHERE `,
          indexed,
          within(below, from_ms),
          sql` ORDER BY e.created_ms DESC LIMIT 1 OFFSET ${hasText(filter) ? TEXT_WINDOW_ROWS : WINDOW_ROWS}`,
        ),
      )
      return row?.created_ms ?? from_ms
    },

    async read({ below, from_ms }, limit) {
      const rows = await db.rows<Row>(
        joined(
          fixed(`SELECT ${COLUMNS} FROM usage_event e WHERE `),
          indexed,
          ...rest,
          within(below, from_ms),
          sql` AND (e.created_ms < ${below.at_ms} OR e.trace_id < ${below.trace_id})
            ORDER BY e.created_ms DESC, e.trace_id DESC`,
          // What a text is searched in is known here only; the window bounds it.
          hasText(filter) ? sql`` : sql` LIMIT ${limit}`,
        ),
      )
      const requests = rows.map(fromRow)
      return hasText(filter) ? requests.filter((one) => fitsText(one, filter)).slice(0, limit) : requests
    },
  }
}

const COLUMNS =
  'e.trace_id, e.status, e.key_id, e.created_at, e.endpoint, e.requested_model, e.resolved_model, e.provider, ' +
  'e.mode, e.alias_release_id, e.cluster_id, e.session_id, e.bundle_id, e.input_tokens, e.cached_tokens, ' +
  'e.output_tokens, e.charged_micros, e.ttft_ms, e.duration_ms, e.attempts, e.trace, e.tags'

/** What an index finds. Of several, one is enough: the others are filters like the rest. */
function indexedPart(project_id: string, f: RequestFilter): Sql {
  // As in usage: SQLite would take the project's index, which is as good by its rules.
  if (f.key_id !== null) return sql`e.key_id = ${f.key_id} AND CASE WHEN TRUE THEN e.project_id END = ${project_id}`
  const project = sql`e.project_id = ${project_id}`
  if (f.session_id !== null) return joined(project, sql` AND e.session_id = ${f.session_id}`)
  if (f.bundle_id !== null) return joined(project, sql` AND e.bundle_id = ${f.bundle_id}`)
  return f.outcomes.includes('completed') ? project : joined(project, sql` AND e.status <> 'completed'`)
}

function restOf(f: RequestFilter): Sql[] {
  const parts: Sql[] = []
  if (f.session_id !== null && f.key_id !== null) parts.push(sql` AND e.session_id = ${f.session_id}`)
  if (f.bundle_id !== null && (f.key_id ?? f.session_id) !== null) parts.push(sql` AND e.bundle_id = ${f.bundle_id}`)
  if (f.tag !== null) parts.push(hasTag(f.tag))
  if (f.model !== null) parts.push(sql` AND (e.requested_model = ${f.model} OR e.resolved_model = ${f.model})`)
  if (f.provider !== null) parts.push(sql` AND e.provider = ${f.provider}`)
  if (f.alias_release_id !== null) parts.push(sql` AND e.alias_release_id = ${f.alias_release_id}`)
  if (f.cluster_id !== null) parts.push(sql` AND e.cluster_id = ${f.cluster_id}`)
  if (f.min_charged_micros !== null) parts.push(sql` AND e.charged_micros >= ${f.min_charged_micros}`)
  if (f.min_ttft_ms !== null) parts.push(sql` AND e.ttft_ms >= ${f.min_ttft_ms}`)
  return [...parts, ...endedSo(f)]
}

function endedSo({ outcomes }: RequestFilter): Sql[] {
  const endings = outcomes.filter((outcome) => outcome !== 'refused')
  if (endings.length === ENDINGS.length) return []
  const [first, ...more] = endings.map((ending) => sql`${ending}`)
  if (!first) return [sql` AND FALSE`]
  return [joined(sql` AND e.status IN (`, first, ...more.map((one) => joined(sql`, `, one)), sql`)`)]
}

/** The millisecond of a place may be in it; what of that is below is told by the ids. */
const within = (below: RequestPlace, from_ms: number) =>
  sql` AND e.created_ms >= ${from_ms} AND e.created_ms <= ${lastOf(below)}`

const NO_FACTS: TraceFacts = { stream: false, keyed: false, fallback_used: false }
const WENT_WELL = ['completed', 'client_left']

function fromRow({ attempts, trace, tags: filed, ...columns }: Row): ListedRequest {
  const facts = trace === null || WENT_WELL.includes(columns.status) ? NO_FACTS : (JSON.parse(trace) as TraceFacts)
  const tags = filed === null ? undefined : (JSON.parse(filed) as Record<string, string>)
  return requestOfEvent({ ...columns, tags, attempts: JSON.parse(attempts) }, facts)
}
