// What must be written although the store is away just now: a charge for tokens that the client already has, a hold to
// give back. Tried again until it is written; the process does not stop before, unless it is killed. Where too much of
// it waits, nothing new is begun: so it is bounded, and so is what is given away while nobody can be charged.
import { setTimeout as sleep } from 'node:timers/promises'
import { SECOND_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 2_000
const BEHIND_AT = 16 // more than a broken connection or two leave behind

interface Needs {
  onDefer(error: unknown): void
  /** A write that costs nothing and changes nothing that matters: whether the store takes any. */
  probe(): Promise<unknown>
}

export type DeferredWrites = ReturnType<typeof deferredWrites>

export function deferredWrites({ onDefer, probe }: Needs) {
  const pending = new Set<Promise<void>>()
  let refused = 0 // writes that nobody tries again, since the store last took one

  async function repeat(write: () => Promise<unknown>): Promise<void> {
    for (let wait_ms = FIRST_WAIT_MS; ; wait_ms = Math.min(wait_ms * 2, LONGEST_WAIT_MS)) {
      await sleep(wait_ms, undefined, { ref: false })
      try {
        await write()
        return
      } catch (error) {
        if (!isAway(error)) return onDefer(error)
      }
    }
  }

  return {
    /** The result where the store answers now; undefined where the write goes on in the background. */
    async surely<T>(write: () => Promise<T>): Promise<T | undefined> {
      try {
        return await write()
      } catch (error) {
        if (!isAway(error)) throw error
        onDefer(error)
        const later = repeat(write).finally(() => pending.delete(later))
        pending.add(later)
        return undefined
      }
    },

    /** Of a write that is not repeated, because its caller is told that it failed. */
    noteRefused(error: unknown): void {
      if (isAway(error) && refused++ === 0) void repeat(probe).finally(() => (refused = 0))
    },

    /** To be asked before anything is dialled that will have to be charged. */
    refuseWhileBehind(): void {
      if (pending.size + refused < BEHIND_AT) return
      const headers = { 'retry-after': String(LONGEST_WAIT_MS / SECOND_MS) }
      throw new Refusal('unavailable', 'The store takes no charges right now. Retry shortly.', { headers })
    },

    pending: () => pending.size,

    async drained(): Promise<void> {
      while (pending.size > 0) await Promise.allSettled(pending)
    },
  }
}

export const isAway = (error: unknown) => error instanceof Refusal && error.kind === 'unavailable'
