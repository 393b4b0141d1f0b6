// From measured costs of a call to machines: the arithmetic behind docs/SCALE.md, and nothing else. Every figure that goes
// in is one of docs/PERFORMANCE.md or a decision; a test compares the document with what comes out.
import { textTable } from './text-table.ts'

/** Measured on two shared cores of a virtual machine; where there was a range, its worse end. */
export const MEASURED = {
  /** Embedded store, a hold for each call (PERFORMANCE, Beside others). */
  embedded_us: 403,
  /** PostgreSQL and Redis, two processes (0228). */
  shared_us: 518,
  /** Of the servers' processor time, what PostgreSQL takes beside it (OPERATIONS, Several replicas). */
  postgres_share: 1 / 3,
  /** Events that one database rolls up a second: one replica does it for all (PERFORMANCE, How it grows). */
  rolled_per_s: 8_000,
  /** Charges of one project a second, in transactions of 64, one after the other (PERFORMANCE, How it grows). */
  project_per_s: 5_500,
  /** Connections of one process, the most that was measured (PERFORMANCE, How it grows). */
  open_calls: 1_000,
  /** A usage event on PostgreSQL, with its indexes (OPERATIONS, Sizing). */
  event_bytes: 1_000,
  connections: 20,
} as const

/** Ours to choose: how much of a core may be in use, so that a peak or a lost replica finds room. */
export const BUSY_MAX = 0.6

export interface Capacity {
  calls_per_s: number
  busy_cores: number
  processes: number
  /** Where a call lasts ten seconds: so many are open at once. */
  processes_for_open_calls: number
  databases: number
  postgres_cores: number
  usage_gb_a_day: number
}

const LASTS_S = 10
const DAY_S = 86_400

export function capacityFor(calls_per_s: number): Capacity {
  const { shared_us, postgres_share, rolled_per_s, open_calls, event_bytes } = MEASURED
  const busy_cores = (calls_per_s * shared_us) / 1e6
  return {
    calls_per_s,
    busy_cores,
    processes: Math.ceil(busy_cores / BUSY_MAX),
    processes_for_open_calls: Math.ceil((calls_per_s * LASTS_S) / open_calls),
    databases: Math.ceil(calls_per_s / rolled_per_s),
    postgres_cores: Math.ceil((busy_cores * postgres_share) / BUSY_MAX),
    usage_gb_a_day: (calls_per_s * DAY_S * event_bytes) / 1e9,
  }
}

const grouped = (value: number) => value.toLocaleString('en-US', { maximumFractionDigits: 1 })

/** As it stands in the document. */
export const capacityRows = (rates: readonly number[] = [1_000, 10_000, 1_000_000]): string[][] =>
  rates.map((rate) => {
    const { busy_cores, processes, processes_for_open_calls, databases, postgres_cores, usage_gb_a_day } =
      capacityFor(rate)
    return [rate, busy_cores, processes, processes_for_open_calls, databases, postgres_cores, usage_gb_a_day].map(
      grouped,
    )
  })

export function capacity(rates?: readonly number[]): string {
  const head = [
    'calls/s',
    'busy cores',
    'processes',
    'if calls last 10 s',
    'databases',
    'cores for them',
    'usage GB/day',
  ]
  return textTable('From measured costs to machines (docs/SCALE.md)', head, capacityRows(rates))
}
