// Who holds a stream open, and until when it is believed without a renewal. Nothing is counted up and down: what is
// open is what is on record, so that no lost end can keep a place for ever.
import { LEASE_MS, type LeaseName } from './counters.ts'

export function leaseBook() {
  /** By subject; the lease that runs out next comes first, since renewing moves it to the end. */
  const held = new Map<string, Map<string, number>>()

  function write({ subject, id }: LeaseName, now: number): void {
    const leases = held.get(subject) ?? new Map<string, number>()
    held.set(subject, leases)
    leases.delete(id)
    leases.set(id, now + LEASE_MS)
  }

  return {
    /** How many the subject holds, once those are gone that ran out. */
    open(subject: string, now: number): number {
      const leases = held.get(subject)
      if (!leases) return 0
      for (const [id, until] of leases) {
        if (until > now) break
        leases.delete(id)
      }
      return leases.size
    },

    write,

    /** Those of every subject that have not run out. */
    all(now: number): LeaseName[] {
      return [...held].flatMap(([subject, leases]) =>
        [...leases].filter(([, until]) => until > now).map(([id]) => ({ subject, id })),
      )
    },

    release({ subject, id }: LeaseName): void {
      const leases = held.get(subject)
      leases?.delete(id)
      if (leases?.size === 0) held.delete(subject)
    },
  }
}
