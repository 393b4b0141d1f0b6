// R80: one list out of two, usage events and refused calls, newest first. What is searched for may be in no index: so
// each answer looks at a bounded number of rows, window by window back in time, and says how far it came.
import type { ListedRequest } from './listed-request.ts'
import { isBelow, type RequestPlace } from './request-query.ts'

/** Rows of one source that a window has at most, but for those of its oldest millisecond. */
export const WINDOW_ROWS = 2_000
/** Where each of them has to be read whole, for its texts. */
export const TEXT_WINDOW_ROWS = 500
const WINDOWS_MAX = 10

export interface Window {
  /** All of it is below this place, */
  below: RequestPlace
  /** and none of it before this time. */
  from_ms: number
}

export interface RequestSource {
  /** The time at which so many rows are passed that others should have their turn; `from_ms` where an index serves. */
  windowFrom(below: RequestPlace, from_ms: number): Promise<number>
  /** What fits, newest first, and at most so many. */
  read(window: Window, limit: number): Promise<ListedRequest[]>
}

export interface FoundRequests {
  data: ListedRequest[]
  /** Where to go on; undefined at the end. */
  next: RequestPlace | undefined
}

export const placeOf = ({ id, created_at }: ListedRequest): RequestPlace => ({
  at_ms: Date.parse(created_at),
  trace_id: id,
})

export async function searchRequests(
  sources: readonly RequestSource[],
  { below, from_ms }: Window,
  limit: number,
): Promise<FoundRequests> {
  const data: ListedRequest[] = []
  let top = below
  for (let window = 0; window < WINDOWS_MAX; window++) {
    const ends = await Promise.all(sources.map((source) => source.windowFrom(top, from_ms)))
    const bottom_ms = Math.max(from_ms, ...ends)
    const wanted = limit + 1 - data.length
    const parts = await Promise.all(sources.map((source) => source.read({ below: top, from_ms: bottom_ms }, wanted)))
    data.push(...parts.flat().sort(newestFirst).slice(0, wanted))
    if (data.length > limit) return cut(data, limit)
    if (bottom_ms <= from_ms) return { data, next: undefined }
    top = { at_ms: bottom_ms, trace_id: '' }
  }
  return { data, next: top }
}

export const newestFirst = (one: ListedRequest, other: ListedRequest) =>
  isBelow(placeOf(one), placeOf(other)) ? 1 : -1

function cut(data: ListedRequest[], limit: number): FoundRequests {
  const page = data.slice(0, limit)
  const last = page.at(-1)
  return { data: page, next: last && placeOf(last) }
}
