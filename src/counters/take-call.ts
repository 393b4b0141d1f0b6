// How a decision is asked of Redis, and what its answer means: names of keys, and lists of numbers (redis-scripts.ts).
import type { Ask, Layer, Lease, LeaseAsk, Reading, Verdict } from './counters.ts'
import { Forgotten } from './redis-session.ts'

export type Names = ReturnType<typeof namesIn>

export const namesIn = (prefix: string) => ({
  era: `${prefix}:era`,
  said: `${prefix}:said`,
  /** With its era: when all is told again to a Redis that has some of it left, that must not count twice. */
  cell: (era: string, cell: string) => `${prefix}:${era}:${cell}`,
  leases: (subject: string) => `${prefix}:streams:${subject}`,
})

/** What a cell counts, in any era. */
export const cellOf = ({ layer, name, subject }: { layer: Layer; name: string; subject: string }) =>
  `${layer}:${name}:${subject}`

export function takeArguments(names: Names, era: string, asks: readonly Ask[], leases: readonly LeaseAsk[]) {
  const keys = [names.era]
  const args: (string | number)[] = [asks.length]
  for (const ask of asks) {
    keys.push(names.cell(era, cellOf(ask)))
    args.push(ask.limit, ask.amount, ask.shadow ? 1 : 0)
  }
  for (const { lease, limit, shadow } of leases) {
    keys.push(names.leases(lease.subject))
    args.push(lease.id, limit, shadow ? 1 : 0)
  }
  return { keys, args }
}

export interface Answer {
  verdict: Verdict
  store_ms: number
  /** By the place of the ask: what all replicas have in the window now, and whether this request took of it. */
  totals: number[]
  taken: boolean[]
  leases_taken: Lease[]
}

/** Throws where Redis decided nothing: it came to it too late, or is no longer the one that we knew. */
export function answerOf(numbers: readonly number[], asks: readonly Ask[], leases: readonly LeaseAsk[]): Answer {
  const [decided, store_ms = 0, by = 0, wait_s = 0] = numbers
  if (decided === 0) throw new Forgotten()
  if (decided !== 1) throw new Error('Redis came to it too late')
  const totals: number[] = []
  const taken: boolean[] = []
  const readings: Reading[] = []
  const exceeded: number[] = []
  for (let at = 0; at < asks.length; at++) {
    const { limit, amount } = asks[at] as Ask
    const [total = 0, more_in_s = 0, is_exceeded] = numbers.slice(4 + 3 * at, 7 + 3 * at)
    totals.push(total)
    readings.push({ left: Math.max(0, limit - total), more_in_s })
    if (is_exceeded === 1) exceeded.push(at)
    taken.push(by === 0 && amount > 0 && is_exceeded !== 1)
  }
  const leases_taken: Lease[] = []
  for (const [n, { lease }] of leases.entries()) {
    if (numbers[4 + 3 * asks.length + n] === 1) exceeded.push(asks.length + n)
    else if (by === 0) leases_taken.push(lease)
  }
  const second = Math.floor(store_ms / 1_000)
  const verdict: Verdict =
    by === 0
      ? { kind: 'taken', second, readings, exceeded }
      : { kind: 'refused', readings, by: by - 1, wait_s: wait_s < 0 ? undefined : wait_s }
  return { verdict, store_ms, totals, taken, leases_taken }
}
