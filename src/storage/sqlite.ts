// Embedded adapter: one file, one writer connection, one reader connection, no server to run.
// Writes of one tick are committed together: each caller still waits for its own durability (synchronous=FULL), but a
// hundred of them share one flush to disk. Reads never wait for that; they see the last committed state. Between two
// flushes the writer reads too: what it has cached is still good, while every commit empties the reader's cache.
import { DatabaseSync, type StatementSyncInstance } from '@photostructure/sqlite'
import type { OpenDb, Sql, SqlValue, Tx } from './db.ts'
import { isRead, unavailable } from './db.ts'
import { noGuard, type TransactionGuard } from './transaction-guard.ts'

/** Set and read back at every open: defaults differ between builds, and a weaker one would show only in a power cut. */
const PRAGMAS = {
  journal_mode: 'wal',
  synchronous: 2, // FULL
  foreign_keys: 1,
  secure_delete: 1, // a deleted secret is overwritten, not just unlinked
  busy_timeout: 5_000,
  wal_autocheckpoint: 1_000,
  journal_size_limit: 64 * 1024 * 1024,
  temp_store: 2, // MEMORY
} as const

const BATCH_MAX = 512 // bounds how long one flush may keep the event loop

interface Job {
  run(): unknown
  resolve(value: never): void
  reject(reason: unknown): void
}

export function openSqlite(path: string, guard: TransactionGuard = noGuard): OpenDb {
  const writer = connect(path)
  const reader = connect(path)
  const queue: Job[] = []
  let flushing: Promise<void> | undefined

  function enqueue<T>(run: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      queue.push({ run, resolve, reject })
      flushing ??= flushAll()
    })
  }

  /** A turn of the event loop before each batch: whoever writes again and again keeps nobody else from being served. */
  async function flushAll(): Promise<void> {
    do {
      await nextTurn()
      await commitTogether(writer, queue.splice(0, BATCH_MAX))
    } while (queue.length > 0)
    flushing = undefined
  }

  const tx: Tx = {
    async rows(statement) {
      // A full disk makes SQLite undo the whole transaction: what was begun together with the statement that met it
      // must not run after that, each by itself.
      if (writer.was_undone) throw new Error('the transaction has been undone')
      try {
        return writer.run(statement)
      } catch (error) {
        writer.was_undone = !writer.connection.isTransaction
        throw error
      }
    },
    transaction: (work) => work(tx),
    tryLock: async () => true, // transactions run one after another: nobody else can be inside
  }

  return {
    engine: 'sqlite',
    rows<Row>(statement: Sql): Promise<Row[]> {
      guard.assertOutside()
      if (isRead(statement)) return attempt(() => (writer.is_writing ? reader : writer).run<Row>(statement))
      return enqueue(() => writer.run<Row>(statement))
    },
    transaction(work) {
      guard.assertOutside()
      return enqueue(() => inSavepoint(writer, () => guard.enter(() => work(tx))))
    },
    ping: async () => void reader.connection.prepare('SELECT 1').get(),
    async close() {
      while (flushing) await flushing
      reader.connection.close()
      try {
        // SQLite does this itself only once every prepared statement has been collected, which an exit does not wait
        // for. After a clean stop the one file is the whole store: whoever copies it misses nothing.
        writer.connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      } finally {
        writer.connection.close()
      }
    },
  }
}

const nextTurn = () => new Promise((turn) => setImmediate(turn))

interface Connection {
  connection: InstanceType<typeof DatabaseSync>
  /** It sees what is not committed yet. */
  is_writing: boolean
  /** SQLite has undone what is under way, by itself. */
  was_undone: boolean
  run<Row>(statement: Sql): Row[]
}

function connect(path: string): Connection {
  const connection = new DatabaseSync(path, { timeout: PRAGMAS.busy_timeout })
  for (const [name, value] of Object.entries(PRAGMAS)) {
    connection.exec(`PRAGMA ${name} = ${value}`)
    const actual = Object.values(connection.prepare(`PRAGMA ${name}`).get() ?? {})[0]
    if (actual !== value) throw new Error(`SQLite keeps ${name} at ${String(actual)}, but ${value} is needed`)
  }
  // A tagged template's text array is the same object at every call, so it finds its prepared statement by identity.
  const known = new WeakMap<readonly string[], Prepared>()
  return {
    connection,
    is_writing: false,
    was_undone: false,
    run<Row>({ text, values, once }: Sql): Row[] {
      let prepared = once ? undefined : known.get(text)
      if (!prepared) {
        prepared = prepare(connection, text.join('?'))
        if (!once) known.set(text, prepared)
      }
      return rowsOf<Row>(prepared, values)
    },
  }
}

interface Prepared {
  statement: StatementSyncInstance
  /** Of the columns that it returns. */
  names: readonly string[]
}

function prepare(connection: Connection['connection'], text: string): Prepared {
  const statement = connection.prepare(text)
  statement.setReturnArrays(true)
  return { statement, names: statement.columns().map(({ name }) => name) }
}

/** Values cross from SQLite as plain lists, a third cheaper than as objects; they get their names here. */
function rowsOf<Row>({ statement, names }: Prepared, values: readonly SqlValue[]): Row[] {
  const lists = statement.all(...values) as unknown as SqlValue[][]
  const rows: Row[] = []
  for (const list of lists) {
    const row: Record<string, SqlValue> = {}
    for (let at = 0; at < names.length; at++) row[names[at] as string] = list[at] as SqlValue
    rows.push(row as Row)
  }
  return rows
}

/** One BEGIN, every job, one COMMIT. A job that fails undoes itself only; the rest is not held up by it. */
async function commitTogether(writer: Connection, jobs: Job[]): Promise<void> {
  const { connection } = writer
  const done: (() => void)[] = []
  writer.is_writing = true
  writer.was_undone = false
  try {
    connection.exec('BEGIN IMMEDIATE')
    for (const job of jobs) {
      try {
        const result = job.run()
        const value = (result instanceof Promise ? await result : result) as never
        done.push(() => job.resolve(value))
      } catch (error) {
        // A full disk makes SQLite roll back everything at once: then nobody's work has happened.
        if (!connection.isTransaction) throw error
        done.push(() => job.reject(error))
      }
    }
    connection.exec('COMMIT')
  } catch (error) {
    if (connection.isTransaction) connection.exec('ROLLBACK')
    for (const job of jobs) job.reject(unavailable(error))
    return
  } finally {
    writer.is_writing = false
  }
  for (const settle of done) settle()
}

async function inSavepoint<T>({ connection }: Connection, work: () => Promise<T>): Promise<T> {
  connection.exec('SAVEPOINT job')
  try {
    const result = await work()
    connection.exec('RELEASE job')
    return result
  } catch (error) {
    if (connection.isTransaction) connection.exec('ROLLBACK TO job; RELEASE job')
    throw error
  }
}

function attempt<T>(work: () => T): Promise<T> {
  try {
    return Promise.resolve(work())
  } catch (error) {
    return Promise.reject(error)
  }
}
