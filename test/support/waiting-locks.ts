// PostgreSQL only: who waits for whom.
import { setImmediate as turn } from 'node:timers/promises'
import { type Db, sql } from '../../src/storage/db.ts'

/** Resolves once this is done, or a transaction that has touched the table waits for somebody else's row. */
export async function doneOrWaiting(done: Promise<unknown>, db: Db, table: string): Promise<void> {
  let is_done = false
  const end = () => {
    is_done = true
  }
  done.then(end, end)
  while (!is_done) {
    const waiting = await db.rows(sql`
      SELECT w.pid FROM pg_locks w JOIN pg_locks r ON r.pid = w.pid
        JOIN pg_class c ON c.oid = r.relation JOIN pg_database d ON d.oid = r.database
      WHERE NOT w.granted AND c.relname = ${table} AND d.datname = current_database()`)
    if (waiting.length > 0) return
    await turn()
  }
}
