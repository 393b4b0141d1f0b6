// What a cluster told of its load, as rows of a chart: the highest of each place, null where nothing was told. Pure.
import type { ClusterLoad } from '../../api/cluster-calls.ts'

export type Measure = 'running' | 'waiting' | 'kv_percent' | 'ttft_p95_ms'

export function loadRows(
  loads: readonly ClusterLoad[],
  starts: readonly number[],
  step_ms: number,
): Record<Measure, (number | null)[]> {
  const row = (of: (load: ClusterLoad) => number | null) => {
    const highest = new Map<number, number>()
    for (const load of loads) {
      const value = of(load)
      if (value === null) continue
      const start = Math.floor(Date.parse(load.start) / step_ms) * step_ms
      highest.set(start, Math.max(value, highest.get(start) ?? value))
    }
    return starts.map((start) => highest.get(start) ?? null)
  }
  return {
    running: row(({ running }) => running),
    waiting: row(({ waiting }) => waiting),
    kv_percent: row(({ kv_utilization }) => (kv_utilization === null ? null : kv_utilization * 100)),
    ttft_p95_ms: row(({ ttft_p95_ms }) => ttft_p95_ms),
  }
}
