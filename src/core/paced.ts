// R78: what costs a store time, a project may have as much of at once as a report takes, and then for a share of the
// time only: whoever reads a long history again and again leaves the rest to others. Pure but for the time.

interface Spent {
  /** What is left of it: a share of what passes is forgiven. */
  ms: number
  at_ms: number
}

export interface PaceBounds {
  /** Of each second, once the burst is used up. */
  share: number
  burst_ms: number
}

export type Pace = ReturnType<typeof paced>

const NAMES_MAX = 10_000

export function paced({ share, burst_ms }: PaceBounds, now_ms = () => performance.now()) {
  const all = new Map<string, Spent>() // the one that was used longest ago is first

  const leftOf = (name: string, now: number) => {
    const known = all.get(name)
    return known ? Math.max(0, known.ms - (now - known.at_ms) * share) : 0
  }

  return {
    now_ms,

    /** What it has had, less what is forgiven. */
    spent: (name: string): number => leftOf(name, now_ms()),

    /** Notes what took so long; returns for how long nothing more should begin. */
    restAfter(name: string, took_ms: number): number {
      const now = now_ms()
      const ms = leftOf(name, now) + took_ms
      all.delete(name)
      all.set(name, { ms, at_ms: now })
      const [oldest] = all.keys()
      if (all.size > NAMES_MAX && oldest !== undefined) all.delete(oldest)
      return Math.max(0, (ms - burst_ms) / share)
    },
  }
}
