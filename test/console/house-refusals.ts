// Refusals of a project grown large: as many as are kept of one, each the first of several alike.
import { DAY_MS, systemClock } from '../../src/core/clock.ts'
import { base62, traceIdsFrom } from '../../src/core/ids.ts'
import type { RefusalKind } from '../../src/refusals/refusal-kind.ts'
import { KEPT_CALL_MS, KEPT_CALLS_MAX, type RefusedCall } from '../../src/refusals/refused-call.ts'
import { refusedCallStore } from '../../src/refusals/refused-call-store.ts'
import type { Db } from '../../src/storage/db.ts'

const WRITTEN_AT_ONCE = 250

const TOLD: readonly (Pick<RefusedCall, 'status' | 'type' | 'code' | 'message'> & { kind: RefusalKind })[] = [
  { kind: 'budget', status: 429, type: 'quota_exceeded', code: 'quota_exceeded', message: 'The limit is used up.' },
  { kind: 'key_limit', status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded', message: 'Too many.' },
  { kind: 'validation', status: 400, type: 'invalid_request_error', code: null, message: "'messages' must be there." },
  { kind: 'not_found', status: 404, type: 'not_found_error', code: 'model_not_found', message: 'No such model.' },
  { kind: 'capacity', status: 503, type: 'server_error', code: 'no_capacity', message: 'No target has room.' },
]

interface Refused {
  project_id: string
  key_ids: readonly string[]
  refusals: number
}

/** Over the time that they are kept for. Returns the trace id of one of them. */
export async function writeRefusals(db: Db, { project_id, key_ids, refusals }: Refused): Promise<string> {
  const now = systemClock.now()
  const calls = Math.min(refusals, KEPT_CALLS_MAX)
  const at = (n: number): RefusedCall => {
    const at_ms = now - Math.floor(((KEPT_CALL_MS - DAY_MS) * (calls - n)) / calls) - 1_000
    const trace_id = `${traceIdsFrom(at_ms)}${base62(n, 12)}`
    return {
      ...(TOLD[n % TOLD.length] ?? (TOLD[0] as (typeof TOLD)[0])),
      ...{ trace_id, project_id, at_ms, key_id: key_ids[(n * 37) % key_ids.length] ?? '' },
      ...{ endpoint: '/v1/chat/completions', model: `alias-${n % 12}`, target: null, provider: null, said: null },
      ...{ attempts: [], headers: { 'agent-trace-id': trace_id }, duration_ms: 4, count: Math.ceil(refusals / calls) },
    }
  }
  for (let written = 0; written < calls; written += WRITTEN_AT_ONCE) {
    const some = Array.from({ length: Math.min(WRITTEN_AT_ONCE, calls - written) }, (_, n) => at(written + n))
    await refusedCallStore(db).add(some)
  }
  return at(calls - 1).trace_id
}
