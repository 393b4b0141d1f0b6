// Something that is lent for a while, such as a token: kept, renewed before it ends, and by one request at a time,
// however many wait for it.
import { type Clock, MINUTE_MS, SECOND_MS } from '../../core/clock.ts'

export interface Leased {
  value: string
  expires_at: number
}

export interface Lease {
  /** Rejects where there is none, and none can be had. */
  current(): Promise<string>
  /** It was refused before its time: the next call gets another. */
  forget(value: string): void
}

/** From then on it is renewed, while it still serves. */
const RENEW_BEFORE_MS = 5 * MINUTE_MS
/** A call that is sent with it must arrive before it ends, and clocks differ. */
const LAST_MS = 30 * SECOND_MS

export function renewedLease(fetch: () => Promise<Leased>, clock: Clock): Lease {
  let lent: Leased | undefined
  let under_way: Promise<Leased> | undefined

  function renew(): Promise<Leased> {
    under_way ??= fetch()
      .then((fresh) => {
        lent = fresh
        return fresh
      })
      .finally(() => {
        under_way = undefined
      })
    return under_way
  }

  return {
    async current() {
      const left_ms = lent ? lent.expires_at - clock.now() : 0
      if (lent && left_ms > RENEW_BEFORE_MS) return lent.value
      const fresh = renew()
      if (!lent || left_ms <= LAST_MS) return (await fresh).value
      fresh.catch(() => {}) // what there is still serves; the next call tries again
      return lent.value
    },

    forget(value) {
      if (lent?.value === value) lent = undefined
    },
  }
}
