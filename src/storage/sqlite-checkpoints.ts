// When the embedded store's log is brought into its file: from time to time, on the other thread, for it takes
// milliseconds and flushes twice. Whoever writes without a pause stays ahead of that, and the log would grow for ever;
// then the writer does what is left.
import type { Connection } from './sqlite-connection.ts'
import type { SqliteThread } from './sqlite-thread.ts'

const WRITES_BETWEEN = 300 // some four pages each
const LOG_MAX_PAGES = 4_000

export function checkpoints(writer: Connection, thread: Pick<SqliteThread, 'checkpoint'>) {
  let writes = 0
  let running = false
  let finishes = false

  async function run(): Promise<void> {
    running = true
    try {
      const { log, checkpointed } = await thread.checkpoint()
      finishes = checkpointed < log && log > LOG_MAX_PAGES
    } catch {
      // Tried again after as many writes; SQLite does it itself where the log gets far too long.
    } finally {
      writes = 0
      running = false
    }
  }

  /** Where it fails, what was committed is in the log all the same; the next one tries again. */
  function finish(): void {
    finishes = false
    try {
      writer.connection.exec('PRAGMA wal_checkpoint(PASSIVE)')
    } catch {}
  }

  return {
    /** Before so many are committed. */
    before(count: number): void {
      writes += count
      if (finishes) finish()
      if (writes > WRITES_BETWEEN && !running) void run()
    },
  }
}
