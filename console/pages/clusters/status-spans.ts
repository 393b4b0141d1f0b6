// §3.1: a day of a cluster as stretches of one status each, from its transitions.
import type { Cluster, ClusterTransition } from '../../api/cluster-calls.ts'

export type SpanStatus = Cluster['status'] | 'absent'

export interface Span {
  status: SpanStatus
  from_ms: number
  to_ms: number
}

export const DAY_MS = 86_400_000

/** Oldest first, without gaps. Before its registration a cluster is absent. */
export function statusSpans(
  newest_first: readonly ClusterTransition[],
  current: Cluster['status'],
  now_ms: number,
): Span[] {
  const transitions = newest_first.toReversed()
  const [oldest] = transitions
  const spans: Span[] = []
  let status: SpanStatus = oldest ? (oldest.from ?? 'absent') : current
  let since_ms = now_ms - DAY_MS
  for (const { to, at } of transitions) {
    close(Math.min(now_ms, Math.max(since_ms, Date.parse(at))))
    status = to === 'deregistered' ? 'absent' : to
  }
  close(now_ms)
  return spans

  function close(to_ms: number): void {
    if (to_ms > since_ms) spans.push({ status, from_ms: since_ms, to_ms })
    since_ms = to_ms
  }
}

/** How long each status lasted in all, the longest first. */
export function timeIn(spans: readonly Span[]): { status: SpanStatus; ms: number }[] {
  const sums = new Map<SpanStatus, number>()
  for (const { status, from_ms, to_ms } of spans) sums.set(status, (sums.get(status) ?? 0) + to_ms - from_ms)
  return [...sums].map(([status, ms]) => ({ status, ms })).sort((a, b) => b.ms - a.ms)
}
