// The leases that this process holds: renewed for as long as they are open here, and no longer than any stream may run.
import { type Clock, MINUTE_MS } from '../core/clock.ts'
import { type Counters, LEASE_MS, type Lease } from './counters.ts'

const RENEWAL_MS = LEASE_MS / 3 // two may be late before a stream loses its lease
const LONGEST_MS = 40 * MINUTE_MS // well beyond what the inference path allows: what is older has lost its owner

export type LeaseRenewal = ReturnType<typeof leaseRenewal>

export function leaseRenewal(counters: Counters, clock: Clock, onChange: (open: number) => void) {
  const opened = new Map<Lease, number>()
  let timer: NodeJS.Timeout | undefined

  function forget(lease: Lease): boolean {
    if (!opened.delete(lease)) return false
    onChange(opened.size)
    if (opened.size > 0) return true
    clearInterval(timer)
    timer = undefined
    return true
  }

  async function renewAll(): Promise<void> {
    const now = clock.now()
    for (const [lease, since] of opened) if (now - since > LONGEST_MS) forget(lease)
    await counters.renew([...opened.keys()], now)
  }

  return {
    /** Of a lease that was just taken. */
    hold(lease: Lease): void {
      opened.set(lease, clock.now())
      onChange(opened.size)
      timer ??= setInterval(renewAll, RENEWAL_MS).unref()
    },

    /** Only the first call counts. */
    async release(lease: Lease): Promise<void> {
      if (forget(lease)) await counters.release(lease)
    },

    renewAll,
    open: () => opened.size,
  }
}
