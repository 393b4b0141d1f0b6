// Brings what was written to a file onto the disk, off the event loop. One flush at a time: whoever comes while one is
// under way shares the next, for the one under way may have begun before their bytes were written.
import { closeSync, fdatasync, openSync } from 'node:fs'

/** As in node:fs. */
export type FlushFile = (file: number, done: (error: Error | null) => void) => void

interface Waiting {
  resolve(): void
  reject(error: Error): void
}

const LINGER_MS = 10 // what nobody waits for is brought to the disk together

export type DiskFlush = ReturnType<typeof diskFlush>

export function diskFlush(path: string, flushFile: FlushFile = fdatasync) {
  const file = openSync(path, 'r+')
  let waiting: Waiting[] = []
  let under_way: Promise<void> | undefined
  let lingering: NodeJS.Timeout | undefined
  let failure: Error | undefined

  function begin(): void {
    const covered = waiting
    waiting = []
    clearTimeout(lingering)
    lingering = undefined
    under_way = new Promise((ended) => {
      flushFile(file, (error) => {
        under_way = undefined
        ended()
        if (error) return refuse(error, covered)
        for (const { resolve } of covered) resolve()
        if (waiting.length > 0) begin()
      })
    })
  }

  function refuse(error: Error, covered: readonly Waiting[]): void {
    failure = error
    for (const { reject } of [...covered, ...waiting]) reject(error)
    waiting = []
  }

  function flushed(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (failure) return reject(failure)
      waiting.push({ resolve, reject })
      if (!under_way) begin()
    })
  }

  return {
    /** Resolves once all that was written before is on the disk. */
    flushed,

    /** The same within milliseconds, for what nobody waits for. */
    flushSoon(): void {
      lingering ??= setTimeout(() => void flushed().catch(() => {}), LINGER_MS).unref()
    },

    /** Resolves once the flush that is under way has ended, however; undefined where none is. */
    underWay: () => under_way,

    /** Why the disk refused. After that nobody knows what it has: a later flush may succeed without what was lost. */
    failure: () => failure,

    async close(): Promise<void> {
      await flushed().finally(() => closeSync(file))
    },
  }
}
