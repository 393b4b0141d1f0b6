// What Linux says of a process and of the machine: memory at its highest, processor time used and waited for, and time
// that the host took away. And what a server's /metrics say of its event loop.
import { readFileSync, writeFileSync } from 'node:fs'

const read = (path: string) => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // the process is gone
  }
}

/** Its highest resident memory since the last reset; 0 where it is gone. */
export const peakMemoryMb = (pid: number) =>
  Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1_024)

export function resetPeakMemory(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {} // the process is gone
}

export interface ProcessorTime {
  /** By all threads of the process. */
  used_ms: number
  /** How long its main thread could have run and had no processor. */
  waited_ms: number
}

const TICK_MS = 10

export function processorTime(pid: number): ProcessorTime {
  const fields = read(`/proc/${pid}/stat`).split(') ')[1]?.split(' ') ?? []
  const [, waited = 0] = read(`/proc/${pid}/schedstat`).split(' ').map(Number)
  return { used_ms: (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_MS, waited_ms: waited / 1_000_000 }
}

/** What other guests of the host were given in place of this machine, over all processors. */
export const stolenMs = () => Number(/^cpu +(?:\d+ ){7}(\d+)/m.exec(read('/proc/stat'))?.[1] ?? 0) * TICK_MS

/** Of one scrape of /metrics. */
export interface LoopDelay {
  /** Turns by their length: those up to so many seconds. */
  buckets: ReadonlyMap<number, number>
  /** Where there is no histogram: the longest since the last scrape, with the pause between two looks in it. */
  longest_s: number | undefined
}

const LOOK_EVERY_S = 0.01

export function loopDelayIn(metrics: string): LoopDelay {
  const buckets = new Map<number, number>()
  for (const [, le = '', value] of metrics.matchAll(
    /^switchyard_event_loop_\w+_seconds_bucket\{[^}]*le="([^"]+)"[^}]*\} (\S+)$/gm,
  ))
    buckets.set(le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le), Number(value))
  const longest = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(metrics)?.[1]
  return { buckets, longest_s: longest === undefined ? undefined : Math.max(0, Number(longest) - LOOK_EVERY_S) }
}

/** No turn between the two was longer than this; undefined where the server does not tell. */
export function longestTurnMs(before: LoopDelay, after: LoopDelay): number | undefined {
  const turns = [...after.buckets].map(([le, count]) => ({ le, count: count - (before.buckets.get(le) ?? 0) }))
  const all = Math.max(...turns.map(({ count }) => count))
  if (all > 0) return Math.min(...turns.filter(({ count }) => count === all).map(({ le }) => le)) * 1_000
  return after.longest_s === undefined ? undefined : after.longest_s * 1_000
}
