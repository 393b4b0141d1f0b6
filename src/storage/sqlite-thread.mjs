// The embedded store's second thread, see sqlite-thread.ts. Plain JavaScript: a thread starts from a file as it is.
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { DatabaseSync } from '@photostructure/sqlite'

// Whoever is served goes first, where they share a core. On Linux this is about the thread alone; elsewhere it would be
// the whole process.
try {
  if (process.platform === 'linux') setPriority(0, 5)
} catch {} // a sandbox may forbid it

const connections = new Map()

function connectionTo(path, pragmas) {
  let connection = connections.get(path)
  if (!connection) {
    connection = new DatabaseSync(path)
    for (const [name, value] of Object.entries(pragmas)) connection.exec(`PRAGMA ${name} = ${value}`)
    connections.set(path, connection)
  }
  return connection
}

const TASKS = {
  read({ path, pragmas, text, values }) {
    const statement = connectionTo(path, pragmas).prepare(text)
    statement.setReturnArrays(true)
    return { names: statement.columns().map(({ name }) => name), lists: statement.all(...values) }
  },

  checkpoint({ path, pragmas }) {
    return connectionTo(path, pragmas).prepare('PRAGMA wal_checkpoint(PASSIVE)').get().log
  },

  // Deleted content is overwritten where it lay (secure_delete). Where SQLite had moved a row before, between pages, an
  // earlier copy can be left in the unused space of one: a file that is written anew has no such space.
  rewrite({ path, pragmas, most_bytes }) {
    const connection = connectionTo(path, pragmas)
    const [{ page_count }] = connection.prepare('PRAGMA page_count').all()
    const [{ page_size }] = connection.prepare('PRAGMA page_size').all()
    const rewritten = page_count * page_size <= most_bytes
    connection.exec('PRAGMA query_only = 0; PRAGMA temp_store = 1') // on the disk: it may be larger than the memory
    try {
      if (rewritten) connection.exec('VACUUM')
      const [{ busy }] = connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
      if (busy !== 0) throw new Error('the log is in use')
    } finally {
      connection.exec(`PRAGMA query_only = ${pragmas.query_only}; PRAGMA temp_store = ${pragmas.temp_store}`)
    }
    return rewritten ? 'rewritten' : 'overwritten'
  },

  close({ path }) {
    connections.get(path)?.close()
    connections.delete(path)
  },
}

parentPort.on('message', ({ task, ...details }) => {
  if (task === 'end') return end()
  try {
    parentPort.postMessage({ result: TASKS[task](details) })
  } catch (error) {
    parentPort.postMessage({ error })
  }
})

/** Nobody has needed it for a while. */
function end() {
  for (const connection of connections.values()) connection.close()
  parentPort.close()
}
