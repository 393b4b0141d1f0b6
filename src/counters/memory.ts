// Counters of one process, for the embedded mode: numbers in memory, gone with it.
import { cellTable, type WindowRule } from './cell-table.ts'
import type { Ask, Correction, Counters, Lease, LeaseAsk, LeaseName, Reading, Verdict } from './counters.ts'
import { leaseBook } from './lease-book.ts'

export const CELLS_MAX = 100_000 // in each layer, so that strangers at the edge never push out a key
const STREAM_WAIT_S = 1 // when a stream ends is up to whoever reads it; before that, asking again cannot help
const NONE: readonly LeaseAsk[] = []

export interface MemoryCounters extends Counters {
  take(asks: readonly Ask[], now: number, leases?: readonly LeaseAsk[]): Verdict
  correct(corrections: readonly Correction[]): void
  renew(leases: readonly Lease[], now: number): void
  release(lease: Lease): void
  /** Counts what somebody else let through, whatever the limit. Returns how much there is now. */
  note(ask: Ask, amount: number, now: number): number
  /** The second under which what is taken now is on record. */
  secondOf(now: number): number
  openLeases(now: number): LeaseName[]
  cells(): number
}

export function memoryCounters(rule: WindowRule, cells_max = CELLS_MAX): MemoryCounters {
  const tables = {
    edge: cellTable(rule, cells_max),
    key: cellTable(rule, cells_max),
    project: cellTable(rule, cells_max),
  }
  const book = leaseBook()
  const steady = steadyTime()

  /** Seconds until an ask fits; 0 where it does. */
  function waitFor({ layer, limit, amount }: Ask, index: number): number {
    if (amount === 0) return 0
    const table = tables[layer]
    const excess = table.total(index) + amount - limit
    if (excess <= 0) return 0
    return amount > limit ? Number.POSITIVE_INFINITY : table.wait(index, excess)
  }

  const waitForLease = ({ lease, limit }: LeaseAsk, time_ms: number) =>
    book.open(lease.subject, time_ms) < limit ? 0 : STREAM_WAIT_S

  function readingOf({ layer, limit }: Ask, index: number): Reading {
    const table = tables[layer]
    const used = table.total(index)
    return { left: Math.max(0, limit - used), more_in_s: used === 0 ? 0 : table.wait(index, 1) }
  }

  return {
    take(asks, now, leases = NONE): Verdict {
      const time_ms = steady(now)
      const second = Math.trunc(time_ms / 1_000)
      const indices: number[] = []
      const exceeded: number[] = []
      let by = -1
      let wait_s = 0
      for (let at = 0; at < asks.length; at++) {
        const ask = asks[at] as Ask
        const index = tables[ask.layer].find(ask, second)
        indices.push(index)
        const ask_wait_s = waitFor(ask, index)
        if (ask_wait_s > 0 && ask.shadow) exceeded.push(at)
        else if (ask_wait_s > wait_s) {
          by = at
          wait_s = ask_wait_s
        }
      }
      for (let n = 0; n < leases.length; n++) {
        const lease = leases[n] as LeaseAsk
        const lease_wait_s = waitForLease(lease, time_ms)
        if (lease_wait_s > 0 && lease.shadow) exceeded.push(asks.length + n)
        else if (lease_wait_s > wait_s) {
          by = asks.length + n
          wait_s = lease_wait_s
        }
      }

      if (by < 0) {
        for (let at = 0; at < asks.length; at++) {
          const { layer, amount } = asks[at] as Ask
          if (amount > 0 && !exceeded.includes(at)) tables[layer].add(indices[at] as number, amount)
        }
        for (let n = 0; n < leases.length; n++)
          if (!exceeded.includes(asks.length + n)) book.write((leases[n] as LeaseAsk).lease, time_ms)
      }
      const readings: Reading[] = []
      for (let at = 0; at < asks.length; at++) readings.push(readingOf(asks[at] as Ask, indices[at] as number))
      if (by < 0) return { kind: 'taken', second, readings, exceeded }
      return { kind: 'refused', readings, by, wait_s: Number.isFinite(wait_s) ? wait_s : undefined }
    },

    correct(corrections): void {
      for (const one of corrections) tables[one.layer].correct(one, one.second, one.by)
    },

    renew(renewed, now): void {
      const time_ms = steady(now)
      for (const lease of renewed) book.write(lease, time_ms)
    },

    release: book.release,

    note(ask, amount, now): number {
      const table = tables[ask.layer]
      const index = table.find(ask, Math.trunc(steady(now) / 1_000))
      if (amount > 0) table.add(index, amount)
      return table.total(index)
    },

    secondOf: (now) => Math.trunc(steady(now) / 1_000),
    openLeases: (now) => book.all(steady(now)),

    cells: () => tables.edge.size() + tables.key.size() + tables.project.size(),
  }
}

/**
 * Milliseconds since the second of the first call: small numbers, which are cheap to reckon with. A clock that is set
 * back would keep everybody waiting for the time that it repeats; here it goes on instead.
 */
function steadyTime() {
  let origin = Number.NaN
  let seen = 0
  return (now: number) => {
    if (Number.isNaN(origin)) origin = now - (now % 1_000)
    if (now < seen) origin -= seen - now
    seen = now
    return now - origin
  }
}
