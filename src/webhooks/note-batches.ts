// What came of attempts, written down together: whatever ends while one batch is being written is in the next, so a
// transaction has as many as ended in its time, whatever a commit costs.
import type { Ended } from '../notifications/queue-store.ts'

export const BATCH_MAX = 64

interface Pending {
  ended: Ended
  resolve(noted: boolean): void
  reject(error: unknown): void
}

export function noteBatches(write: (batch: readonly Ended[]) => Promise<ReadonlySet<string>>) {
  let pending: Pending[] = []
  let is_writing = false

  async function writeAll(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve)) // for others that ended in this turn of the loop
    while (pending.length > 0) {
      const batch = pending.slice(0, BATCH_MAX)
      pending = pending.slice(BATCH_MAX)
      try {
        const noted = await write(batch.map(({ ended }) => ended))
        for (const { ended, resolve } of batch) resolve(noted.has(ended.id))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    is_writing = false
  }

  /** Whether it was noted. */
  return (ended: Ended): Promise<boolean> =>
    new Promise((resolve, reject) => {
      pending.push({ ended, resolve, reject })
      if (is_writing) return
      is_writing = true
      void writeAll()
    })
}
