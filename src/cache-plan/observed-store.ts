// What the project's own calls on a cluster tell of its cache: read from usage events and telemetry, never prompts.
import type { Telemetry } from '../clusters/cluster-telemetry.ts'
import { DAY_MS } from '../core/clock.ts'
import { nextTurn } from '../core/turns.ts'
import { aside, type Db, sql } from '../storage/db.ts'
import { rateName } from '../usage/reuse-summary.ts'
import type { TraceFacts } from '../usage/trace.ts'
import type { UsageAttempt } from '../usage/usage-event.ts'
import { type ObservedCall, samplesOf } from './observed-call.ts'
import { fitPrefill, lineOf } from './prefill-fit.ts'

/** The latest: a cluster changes, and a line needs no more. */
const CALLS_MAX = 2_000
const ROWS_A_STEP = 100 // with what their traces tell
export const SEEN_MS = 7 * DAY_MS

interface Row {
  trace_id: string
  resolved_model: string
  session_id: string | null
  bundle_id: string | null
  created_ms: number
  input_tokens: number
  cached_tokens: number
  repeated_tokens_est: number
  missed_reuse_tokens: number
  tokens_estimated: number
  queue_ms: number
  ttft_ms: number | null
  attempts: string
  trace: string | null
}

interface Seen {
  since_ms: number
  most?: number
}

export function observedStore(db: Db) {
  return {
    /** Undefined where there is no such cluster. */
    async cluster(project_id: string, cluster_id: string): Promise<{ telemetry: Telemetry | undefined } | undefined> {
      const [row] = await db.rows<{ telemetry: string | null }>(sql`
        SELECT telemetry FROM byoc_cluster WHERE project_id = ${project_id} AND id = ${cluster_id}`)
      return row && { telemetry: row.telemetry === null ? undefined : JSON.parse(row.telemetry) }
    },

    /** Completed calls since then, the latest first. Those of replay runs repeat what was asked, and tell nothing. */
    async calls(project_id: string, cluster_id: string, { since_ms, most = CALLS_MAX }: Seen): Promise<ObservedCall[]> {
      const rows = await db.rows<Row>(
        aside(sql`
          SELECT trace_id, resolved_model, session_id, bundle_id, created_ms, input_tokens, cached_tokens,
                 repeated_tokens_est, missed_reuse_tokens, tokens_estimated, queue_ms, ttft_ms, attempts, trace
          FROM usage_event
          WHERE project_id = ${project_id} AND cluster_id = ${cluster_id} AND created_ms >= ${since_ms}
            AND status = 'completed'
            AND key_id NOT IN (SELECT r.key_id FROM replay_key r WHERE r.project_id = ${project_id})
          ORDER BY created_ms DESC LIMIT ${most}`),
      )
      const calls: ObservedCall[] = []
      for (const row of rows) {
        calls.push(fromRow(row))
        if (calls.length % ROWS_A_STEP === 0) await nextTurn() // R77
      }
      return calls
    },
  }
}

function fromRow(row: Row): ObservedCall {
  const { tokens_estimated, attempts, trace, queue_ms, resolved_model: model, ...told } = row
  const facts: Partial<TraceFacts> = trace === null ? {} : JSON.parse(trace)
  const last: UsageAttempt | undefined = JSON.parse(attempts).at(-1)
  const { chosen, candidates = [] } = facts.placing ?? {}
  return {
    ...told,
    model,
    is_streamed: facts.stream === true && tokens_estimated === 0,
    waited_ms: last?.times?.dialled_ms ?? queue_ms,
    ahead_tokens: candidates.find(({ target }) => target === chosen)?.in_flight_tokens ?? 0,
    prefix_hash: facts.prefix_hash ?? null,
  }
}

/** The busiest clusters alone are looked at, and few calls of each: a summary has to be quick. */
const CLUSTERS_MAX = 20
const SUMMED_CALLS_MAX = 500

/** By cluster and model: what a token of prefill takes there, in milliseconds, where enough was seen. */
export async function prefillRates(db: Db, project_id: string, clusters: readonly string[], now: number) {
  const rates = new Map<string, number>()
  for (const cluster_id of clusters.slice(0, CLUSTERS_MAX)) {
    const seen = { since_ms: now - SEEN_MS, most: SUMMED_CALLS_MAX }
    const calls = await observedStore(db).calls(project_id, cluster_id, seen)
    for (const model of new Set(calls.map((call) => call.model))) {
      await nextTurn() // R77
      const own = calls.filter((call) => call.model === model)
      const line = lineOf(fitPrefill(samplesOf(own), undefined))
      if (line) rates.set(rateName(cluster_id, model), line.ms_per_token)
    }
  }
  return rates
}
