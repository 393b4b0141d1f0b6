// R52: how loaded a cluster was over time, as its heartbeats told it: the highest of each five minutes.
import { type Static, Type } from 'typebox'
import { DAY_MS, MINUTE_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { orNull, time } from '../core/shapes.ts'
import { instant } from '../core/text-values.ts'
import type { Telemetry } from './cluster-telemetry.ts'

export const LOAD_STEP_MS = 5 * MINUTE_MS
export const LOAD_KEPT_MS = 7 * DAY_MS

const whole = () => orNull(Type.Integer())

export const ClusterLoad = Type.Object(
  {
    object: Type.Literal('byoc_cluster.load'),
    start: time(),
    running: whole(),
    waiting: whole(),
    kv_utilization: orNull(Type.Number({ description: '0 to 1.' })),
    ttft_p95_ms: whole(),
  },
  { title: 'ClusterLoad', description: 'The highest that was told in these five minutes; null where it was not told.' },
)
export type ClusterLoad = Static<typeof ClusterLoad>

export const LoadQuery = Type.Object({
  from: Type.Optional(Type.String({ description: 'Only from this RFC 3339 time on. Default: a day ago.' })),
  to: Type.Optional(Type.String({ description: 'Only before this RFC 3339 time.' })),
})

export function loadRange({ from, to }: Static<typeof LoadQuery>, now: number): { from_ms: number; to_ms: number } {
  const range = {
    from_ms: from === undefined ? now - DAY_MS : instant('from', from),
    to_ms: to === undefined ? Number.MAX_SAFE_INTEGER : instant('to', to),
  }
  if (range.to_ms <= range.from_ms) throw new Refusal('invalid_request', "'to' must be later than 'from'.")
  return range
}

/** As it is stored: whole numbers, so that every engine compares them alike. */
export interface LoadSample {
  start_ms: number
  running: number | null
  waiting: number | null
  kv_permille: number | null
  ttft_p95_ms: number | null
}

/** Undefined where a heartbeat told nothing of its load. */
export function sampleOf(telemetry: Telemetry | undefined, now: number): LoadSample | undefined {
  const { running, waiting, kv_utilization, ttft_p95_ms } = telemetry?.load ?? {}
  if ((running ?? waiting ?? kv_utilization ?? ttft_p95_ms) === undefined) return undefined
  return {
    start_ms: now - (now % LOAD_STEP_MS),
    running: running ?? null,
    waiting: waiting ?? null,
    kv_permille: kv_utilization === undefined ? null : Math.round(kv_utilization * 1_000),
    ttft_p95_ms: ttft_p95_ms === undefined ? null : Math.round(ttft_p95_ms),
  }
}
