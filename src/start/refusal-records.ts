// What is kept of refused requests: counts of all, and the calls among them (R80), read with what waits to be written.
import type { Clock } from '../core/clock.ts'
import { refusalStore } from '../refusals/refusal-store.ts'
import { refusalTally } from '../refusals/refusal-tally.ts'
import { refusedCallStore } from '../refusals/refused-call-store.ts'
import { refusedCalls } from '../refusals/refused-calls.ts'
import type { Db } from '../storage/db.ts'
import type { Metrics } from '../telemetry/metrics.ts'

interface Needs {
  db: Db
  clock: Clock
  metrics: Pick<Metrics, 'refusalsUncounted' | 'refusalsUnkept'>
}

export function refusalRecords({ db, clock, metrics }: Needs) {
  const tally = refusalTally(refusalStore(db), clock, () => metrics.refusalsUncounted.inc())
  const calls = refusedCalls(refusedCallStore(db), clock, () => metrics.refusalsUnkept.inc())
  return {
    tally,
    calls,
    callsOn: (on: Db) => ({
      ...refusedCallStore(on),
      waitingOf: calls.waitingOf,
      withWaiting: calls.withWaiting,
      find: async (project_id: string, trace_id: string) =>
        calls.withWaiting(project_id, trace_id, await refusedCallStore(on).find(project_id, trace_id)),
    }),
  }
}
