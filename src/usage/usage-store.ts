// Usage events at rest: inserted once, never changed. A second one under the same trace id is an error, which undoes
// the settling that it came with: nothing is charged twice.
import { nextSequence } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import type { TracedEvent, TraceFacts } from './trace.ts'
import type { UsageEvent } from './usage-event.ts'
import { GROUPS, type Group, matches, type UsageFilter, type UsageGroup, type UsageQuestion } from './usage-query.ts'

type Row = Omit<UsageEvent, 'id' | 'object' | 'attempts'> & {
  attempts: string
  trace: string | null
  created_ms: number
  sequence: number
  day: string
}
type GroupRow = Required<Omit<UsageGroup, 'object'>> & { cluster_id: string }

export type UsageStore = ReturnType<typeof usageStore>

export function usageStore(db: Db) {
  async function find(project_id: string, trace_id: string): Promise<UsageEvent | undefined> {
    const [row] = await db.rows<Row>(sql`
      SELECT * FROM usage_event WHERE trace_id = ${trace_id} AND project_id = ${project_id}`)
    return row && fromRow(row)
  }

  return {
    find,

    /** The event with what else a trace tells; undefined where no such generation is known. */
    async findTraced(project_id: string, trace_id: string): Promise<TracedEvent | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT * FROM usage_event WHERE trace_id = ${trace_id} AND project_id = ${project_id}`)
      return row && { event: fromRow(row), facts: row.trace === null ? undefined : JSON.parse(row.trace) }
    },

    async insert(e: UsageEvent, facts?: TraceFacts): Promise<void> {
      await db.rows(sql`
        INSERT INTO usage_event (trace_id, project_id, key_id, created_at, created_ms, day, endpoint, status,
          requested_model, resolved_model, provider, profile, mode, region, alias_release_id, cluster_id, credential_id,
          subscription_id, session_id, input_tokens, cached_tokens, written_tokens, output_tokens, reasoning_tokens,
          repeated_tokens_est, missed_reuse_tokens, charged_micros, direct_cost_micros, savings_micros,
          written_off_micros, admission, queue_ms, ttft_ms, duration_ms, attempts, sequence, trace)
        VALUES (${e.trace_id}, ${e.project_id}, ${e.key_id}, ${e.created_at}, ${Date.parse(e.created_at)},
          ${e.created_at.slice(0, 10)}, ${e.endpoint}, ${e.status}, ${e.requested_model}, ${e.resolved_model},
          ${e.provider}, ${e.profile}, ${e.mode}, ${e.region}, ${e.alias_release_id}, ${e.cluster_id},
          ${e.credential_id}, ${e.subscription_id}, ${e.session_id}, ${e.input_tokens}, ${e.cached_tokens},
          ${e.written_tokens}, ${e.output_tokens}, ${e.reasoning_tokens}, ${e.repeated_tokens_est},
          ${e.missed_reuse_tokens}, ${e.charged_micros}, ${e.direct_cost_micros}, ${e.savings_micros},
          ${e.written_off_micros}, ${e.admission}, ${e.queue_ms}, ${e.ttft_ms}, ${e.duration_ms},
          ${JSON.stringify(e.attempts)}, ${nextSequence(Date.parse(e.created_at))},
          ${facts ? JSON.stringify(facts) : null})`)
    },

    /** Newest first. */
    async list(project_id: string, { filter: f, limit }: UsageQuestion): Promise<UsageEvent[]> {
      if (f.trace_id !== null) return [await find(project_id, f.trace_id)].filter((event) => isAsked(event, f))
      const rows = await db.rows<Row>(sql`
        SELECT * FROM usage_event
        WHERE project_id = ${project_id} AND created_ms >= ${f.from_ms} AND created_ms < ${f.to_ms}
          AND (CAST(${f.key_id} AS TEXT) IS NULL OR key_id = ${f.key_id})
          AND (CAST(${f.model} AS TEXT) IS NULL OR resolved_model = ${f.model})
          AND (CAST(${f.provider} AS TEXT) IS NULL OR provider = ${f.provider})
          AND (CAST(${f.profile} AS TEXT) IS NULL OR profile = ${f.profile})
          AND (CAST(${f.cluster_id} AS TEXT) IS NULL OR cluster_id = ${f.cluster_id})
          AND (CAST(${f.session_id} AS TEXT) IS NULL OR session_id = ${f.session_id})
        ORDER BY created_ms DESC, sequence DESC LIMIT ${limit}`)
      return rows.map(fromRow)
    },

    /** Added up, the latest day first, then the dearest. What is not grouped by is the same text in every row. */
    async grouped(project_id: string, { filter: f, group_by, limit }: UsageQuestion): Promise<UsageGroup[]> {
      const by = (group: Group) => (group_by.includes(group) ? 1 : 0)
      const rows = await db.rows<GroupRow>(sql`
        SELECT CASE WHEN CAST(${by('day')} AS BIGINT) = 1 THEN day ELSE '' END AS day,
               CASE WHEN CAST(${by('model')} AS BIGINT) = 1 THEN resolved_model ELSE '' END AS model,
               CASE WHEN CAST(${by('key_id')} AS BIGINT) = 1 THEN key_id ELSE '' END AS key_id,
               CASE WHEN CAST(${by('provider')} AS BIGINT) = 1 THEN provider ELSE '' END AS provider,
               CASE WHEN CAST(${by('profile')} AS BIGINT) = 1 THEN profile ELSE '' END AS profile,
               CASE WHEN CAST(${by('cluster_id')} AS BIGINT) = 0 THEN '' ELSE COALESCE(cluster_id, '') END
                 AS cluster_id,
               COUNT(*) AS events,
               CAST(SUM(input_tokens) AS BIGINT) AS input_tokens,
               CAST(SUM(cached_tokens) AS BIGINT) AS cached_tokens,
               CAST(SUM(written_tokens) AS BIGINT) AS written_tokens,
               CAST(SUM(output_tokens) AS BIGINT) AS output_tokens,
               CAST(SUM(reasoning_tokens) AS BIGINT) AS reasoning_tokens,
               CAST(SUM(repeated_tokens_est) AS BIGINT) AS repeated_tokens_est,
               CAST(SUM(missed_reuse_tokens) AS BIGINT) AS missed_reuse_tokens,
               CAST(SUM(charged_micros) AS BIGINT) AS charged_micros,
               CAST(SUM(direct_cost_micros) AS BIGINT) AS direct_cost_micros,
               CAST(SUM(savings_micros) AS BIGINT) AS savings_micros,
               CAST(SUM(written_off_micros) AS BIGINT) AS written_off_micros
        FROM usage_event
        WHERE project_id = ${project_id} AND created_ms >= ${f.from_ms} AND created_ms < ${f.to_ms}
          AND (CAST(${f.key_id} AS TEXT) IS NULL OR key_id = ${f.key_id})
          AND (CAST(${f.model} AS TEXT) IS NULL OR resolved_model = ${f.model})
          AND (CAST(${f.provider} AS TEXT) IS NULL OR provider = ${f.provider})
          AND (CAST(${f.profile} AS TEXT) IS NULL OR profile = ${f.profile})
          AND (CAST(${f.cluster_id} AS TEXT) IS NULL OR cluster_id = ${f.cluster_id})
          AND (CAST(${f.session_id} AS TEXT) IS NULL OR session_id = ${f.session_id})
          AND (CAST(${f.trace_id} AS TEXT) IS NULL OR trace_id = ${f.trace_id})
        GROUP BY 1, 2, 3, 4, 5, 6
        ORDER BY 1 DESC, charged_micros DESC, 2, 3, 4, 5, 6 LIMIT ${limit}`)
      return rows.map((row) => groupFrom(row, group_by))
    },
  }
}

const isAsked = (event: UsageEvent | undefined, filter: UsageFilter): event is UsageEvent =>
  event !== undefined && matches(event, filter)

function fromRow(read: Row): UsageEvent {
  const { created_ms: _created_ms, day: _day, sequence: _sequence, trace: _trace, attempts, ...row } = read
  return { ...row, id: row.trace_id, object: 'usage_event', attempts: JSON.parse(attempts) }
}

function groupFrom(row: GroupRow, group_by: readonly Group[]): UsageGroup {
  const group: UsageGroup = { object: 'usage_group', ...row }
  for (const name of GROUPS) if (!group_by.includes(name)) delete group[name]
  if (group.cluster_id === '') group.cluster_id = null
  return group
}
