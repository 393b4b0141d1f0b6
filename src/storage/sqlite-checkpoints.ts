// When the embedded store's log is brought into its file: a second after something was written, on the other thread, as
// it takes milliseconds and flushes twice. A short log may wait for a minute, so that a store that is hardly written to
// needs no second thread. The log begins anew with the first write that finds nothing left to bring.
// Whoever writes without a pause always leaves something, and it would grow for ever; then the writer does the rest.
import { SECOND_MS } from '../core/clock.ts'
import type { Connection } from './sqlite-connection.ts'
import type { SqliteThread } from './sqlite-thread.ts'

const LOG_MAX_PAGES = 4_000
const LOG_SHORT_BYTES = 2 * 1024 * 1024
const LOOKS_MAX = 60 // one a second: what was deleted is in the file for no longer than this

export function checkpoints(writer: Connection, thread: Pick<SqliteThread, 'checkpoint'>, logBytes: () => number) {
  /** From the first write that is not in the file until it is. */
  let due: NodeJS.Timeout | undefined
  let looks = 0
  let is_long = false

  function look(): void {
    const may_wait = ++looks < LOOKS_MAX && logBytes() < LOG_SHORT_BYTES
    if (may_wait) due = setTimeout(look, SECOND_MS).unref()
    else void run()
  }

  async function run(): Promise<void> {
    try {
      is_long = (await thread.checkpoint()) > LOG_MAX_PAGES
    } catch {
      // Tried again after the next write; SQLite does it itself where the log gets far too long.
    } finally {
      due = undefined
      looks = 0
    }
  }

  /** Where it fails, what was committed is in the log all the same, and the next one tries again. */
  function finish(): void {
    is_long = false
    try {
      writer.connection.exec('PRAGMA wal_checkpoint(PASSIVE)')
    } catch {}
  }

  return {
    /** Something is about to be written, and nothing is being written yet. */
    beforeWrite(): void {
      if (is_long) finish()
      due ??= setTimeout(look, SECOND_MS).unref()
    },

    stop: () => clearTimeout(due),
  }
}
