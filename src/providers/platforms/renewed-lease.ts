// Something that is lent for a while, such as a token: kept, renewed before it ends, and by one request at a time,
// however many wait for it. Where it cannot be renewed, it serves until it ends.
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
/** A call that is sent with it must arrive before it ends, and clocks differ: from then on callers wait for another. */
const LAST_MS = 30 * SECOND_MS
/** Who lends may be away, or lend the same again until shortly before its end: it is not asked with every call. */
const ASKED_EVERY_MS = 10 * SECOND_MS

export function renewedLease(fetch: () => Promise<Leased>, clock: Clock): Lease {
  let lent: Leased | undefined
  let under_way: Promise<Leased> | undefined
  let asked_at = Number.NEGATIVE_INFINITY

  function renew(): Promise<Leased> {
    if (under_way) return under_way
    asked_at = clock.now()
    under_way = fetch()
      .then((fresh) => {
        lent = fresh
        return fresh
      })
      .finally(() => {
        under_way = undefined
      })
    return under_way
  }

  function orStillLent(error: unknown): Leased {
    if (lent && lent.expires_at > clock.now()) return lent
    throw error
  }

  return {
    async current() {
      const left_ms = lent ? lent.expires_at - clock.now() : 0
      if (lent && left_ms > RENEW_BEFORE_MS) return lent.value
      if (lent && left_ms > LAST_MS) {
        if (clock.now() - asked_at >= ASKED_EVERY_MS) renew().catch(() => {}) // what there is still serves
        return lent.value
      }
      return (await renew().catch(orStillLent)).value
    },

    forget(value) {
      if (lent?.value === value) lent = undefined
    },
  }
}
