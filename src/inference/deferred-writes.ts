// What must be written although the store is away just now: a charge for tokens that the client already has, a hold to
// give back. Tried again until it is written; the process does not stop before, unless it is killed.
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../core/refusal.ts'

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5_000

export type DeferredWrites = ReturnType<typeof deferredWrites>

export function deferredWrites(onDefer: (error: unknown) => void) {
  const pending = new Set<Promise<void>>()

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

    pending: () => pending.size,
    drained: async (): Promise<void> => void (await Promise.allSettled(pending)),
  }
}

export const isAway = (error: unknown) => error instanceof Refusal && error.kind === 'unavailable'
