// R80: refused calls as lines of the list of requests, those that are in no store yet among them. A project has at most
// some ten thousand of them, so no filter needs an index of its own.
import type { Between, Narrowed, RefusedCall } from '../refusals/refused-call.ts'
import { fitsRefusal, type ListedRequest, requestOfRefusal } from './listed-request.ts'
import { isBelow, lastOf, type RequestFilter } from './request-query.ts'
import { newestFirst, placeOf, type RequestSource, TEXT_WINDOW_ROWS, type Window } from './request-search.ts'

/** Refused calls, as the store and the process have them. */
export interface RefusedReader {
  list(project_id: string, between: Between, narrowed: Narrowed, limit: number): Promise<RefusedCall[]>
  /** When the one was refused that so many are newer than. */
  passed(project_id: string, between: Between, rows: number): Promise<number | undefined>
  /** In no store yet. */
  waitingOf(project_id: string): RefusedCall[]
  /** A stored one with what its count lacks. */
  withWaiting(project_id: string, trace_id: string, stored: RefusedCall | undefined): RefusedCall | undefined
}

const SLACK = 100 // rows of one millisecond; a project keeps 60 of a minute
const ALL = 2 * TEXT_WINDOW_ROWS

export function refusedRequests(refused: RefusedReader, project_id: string, filter: RequestFilter): RequestSource {
  const reads_all = (filter.error ?? filter.provider ?? filter.cluster_id) !== null
  const between = ({ below, from_ms }: Window): Between => ({ from_ms, to_ms: lastOf(below) })

  return {
    windowFrom: async (below, from_ms) =>
      (reads_all ? await refused.passed(project_id, between({ below, from_ms }), TEXT_WINDOW_ROWS) : undefined) ??
      from_ms,

    async read(window, limit) {
      // Before the store is asked: what is written meanwhile is there then, and known by its id.
      const waiting = refused.waitingOf(project_id)
      const rows = reads_all ? ALL : limit + SLACK
      const stored = whole(await refused.list(project_id, between(window), filter, rows), rows)
      const known = new Set(stored.map(({ trace_id }) => trace_id))
      const counted = stored.map((call) => refused.withWaiting(project_id, call.trace_id, call) ?? call)
      return [...counted, ...waiting.filter(({ trace_id }) => !known.has(trace_id))]
        .map(requestOfRefusal)
        .filter((one) => isIn(one, window) && fitsRefusal(one, filter))
        .sort(newestFirst)
        .slice(0, limit)
    },
  }
}

const isIn = (one: ListedRequest, { below, from_ms }: Window) =>
  placeOf(one).at_ms >= from_ms && isBelow(placeOf(one), below)

/** The store has no order within a millisecond: one that was cut through is left for the next page. */
function whole(calls: RefusedCall[], limit: number): RefusedCall[] {
  const last = calls.at(-1)
  if (!last || calls.length < limit) return calls
  const others = calls.filter(({ at_ms }) => at_ms > last.at_ms)
  return others.length === 0 ? calls : others
}
