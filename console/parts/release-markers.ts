// When releases of aliases were activated, as marks in a chart: what changed just before the numbers did.
import { useCallback, useMemo } from 'react'
import { activationsBetween } from '../api/routing-calls.ts'
import type { Span } from '../api/timeline-calls.ts'
import { useResource } from '../state/resource.ts'
import type { ChartMarker } from './chart-rows.ts'

const MINUTE_MS = 60_000
const MARKERS_MAX = 40 // more are a hatching, and no help

/** The end of a span moves with the time: a new one is asked for once a minute at most. */
export function useReleaseMarkers(span: Span | undefined): readonly ChartMarker[] {
  const from_ms = span?.from_ms
  const to_ms = span && Math.ceil(span.to_ms / MINUTE_MS) * MINUTE_MS
  const { state } = useResource(
    useCallback(
      async (signal: AbortSignal) =>
        from_ms === undefined || to_ms === undefined ? [] : activationsBetween({ from_ms, to_ms }, signal),
      [from_ms, to_ms],
    ),
    { keep: true },
  )
  return useMemo(
    () =>
      // The first release of an alias replaced nothing.
      (state.kind === 'ready' ? state.value : [])
        .filter(({ previous_release_id }) => previous_release_id !== null)
        .slice(0, MARKERS_MAX)
        .map(({ alias_name, version, activated_at }) => ({
          at_ms: Date.parse(activated_at),
          label: `${alias_name}: release ${version}`,
        })),
    [state],
  )
}
