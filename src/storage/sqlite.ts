// Embedded adapter: one file, one writer connection, one reader connection, no server to run.
// Writes of one tick are committed together, and a commit's flush to disk is not waited for on the event loop: it goes
// on while the next are committed, and each caller hears of its own when the disk has it (decision 0142). Reads never
// wait for that; they see the last committed state. Between two commits the writer reads too: what it has cached is
// still good, while every commit empties the reader's cache. What may take long is read on a thread of its own.
import { statSync } from 'node:fs'
import {
  CommitUnknown,
  isRead,
  type Lasting,
  type OpenDb,
  type Scrubbed,
  type Sql,
  type Tx,
  unavailable,
} from './db.ts'
import { type DiskFlush, diskFlush, type FlushFile } from './disk-flush.ts'
import { checkpoints } from './sqlite-checkpoints.ts'
import { type Connection, connect, named, PRAGMAS } from './sqlite-connection.ts'
import { sqliteThread } from './sqlite-thread.ts'
import { sqliteWatch } from './sqlite-watch.ts'
import { noGuard, type TransactionGuard } from './transaction-guard.ts'

const BATCH_MAX = 512 // bounds how long one commit may keep the event loop
const REWRITE_MAX_BYTES = 2 ** 30 // some seconds, for which writes wait

interface Job {
  run(): unknown
  /** Of several statements: where it fails, those before are undone. */
  is_transaction: boolean
  lasting: Lasting
  resolve(value: never): void
  reject(reason: unknown): void
}

export function openSqlite(path: string, guard: TransactionGuard = noGuard, flushFile?: FlushFile): OpenDb {
  const writer = connect(path)
  const reader = connect(path)
  const disk = diskFlush(`${path}-wal`, flushFile)
  const thread = sqliteThread(path, { ...PRAGMAS, query_only: 1 })
  const logBytes = () => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  const checkpointing = checkpoints(writer, thread, logBytes)
  const watchers = sqliteWatch(writer)
  const queue: Job[] = []
  let committing: Promise<void> | undefined
  /** The file is being rewritten: writes wait. */
  let rewriting: Promise<Scrubbed> | undefined
  /** Somebody waits for a commit alone. */
  let hurry: (() => void) | undefined
  let closed: Error | undefined

  function enqueue<T>(job: Pick<Job, 'run' | 'is_transaction' | 'lasting'>, gathered = false): Promise<T> {
    return new Promise((resolve, reject) => {
      const failure = closed ?? disk.failure()
      if (failure) return reject(unavailable(failure))
      queue.push({ resolve, reject, ...job })
      if (job.lasting === 'committed') hurry?.()
      committing ??= commitAll(gathered)
    })
  }

  /** A turn of the event loop before each batch: whoever writes again and again keeps nobody else from being served. */
  async function commitAll(gathered: boolean): Promise<void> {
    await (gathered ? undefined : nextTurn())
    for (;;) {
      while (rewriting) await rewriting
      await flushUnderWay()
      const jobs = queue.splice(0, BATCH_MAX)
      const failure = disk.failure()
      if (failure) for (const { reject } of jobs) reject(unavailable(failure))
      else {
        checkpointing.beforeWrite()
        await commitTogether({ writer, watchers, disk }, jobs)
      }
      if (queue.length === 0) break
      await nextTurn()
    }
    committing = undefined
  }

  /**
   * What has to be on the disk waits for the flush under way anyway. It is committed when that has ended, with what
   * comes until then: the pages that calls share are written once, and not once in every turn.
   */
  async function flushUnderWay(): Promise<void> {
    const ended = disk.underWay()
    if (!ended || queue.some(({ lasting }) => lasting === 'committed')) return
    await Promise.race([ended, new Promise<void>((now) => (hurry = now))])
    hurry = undefined
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
    last: async (statement) => void (await tx.rows(statement)),
  }

  return {
    engine: 'sqlite',
    rows<Row>(statement: Sql): Promise<Row[]> {
      guard.assertOutside()
      if (!isRead(statement))
        return enqueue({ run: () => writer.run<Row>(statement), is_transaction: false, lasting: 'flushed' })
      if (statement.once) return thread.read(statement).then(named<Row>)
      return attempt(() => (writer.is_writing ? reader : writer).run<Row>(statement))
    },
    transaction(work, { lasting = 'flushed', gathered } = {}) {
      guard.assertOutside()
      return enqueue({ run: () => guard.enter(() => work(tx)), is_transaction: true, lasting }, gathered)
    },
    watch: watchers.watch,
    async scrub() {
      while (committing || rewriting) await (committing ?? rewriting)
      rewriting = thread.rewrite(REWRITE_MAX_BYTES).catch(() => 'overwritten' as const)
      try {
        return await rewriting
      } finally {
        rewriting = undefined
      }
    },
    async ping() {
      const failure = disk.failure()
      if (failure) throw unavailable(failure)
      reader.connection.prepare('SELECT 1').get()
    },
    async close() {
      while (committing) await committing
      closed = new Error('the store is closed') // somebody may still write: whoever was not waited for
      checkpointing.stop()
      await thread.close()
      await disk.close().catch(() => {}) // whoever waited for it has been told
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

interface Done {
  job: Job
  value: never
}

interface Committing {
  writer: Connection
  watchers: Pick<ReturnType<typeof sqliteWatch>, 'lookForOthers' | 'tell'>
  disk: DiskFlush
}

interface Failed {
  job: Job
  error: unknown
}

/** One BEGIN, every job, one COMMIT. A job that fails undoes itself only; the rest is not held up by it. */
async function commitTogether({ writer, watchers, disk }: Committing, jobs: readonly Job[]): Promise<void> {
  const { connection } = writer
  const done: Done[] = []
  const failed: Failed[] = []
  writer.is_writing = true
  writer.was_undone = false
  try {
    writer.begin()
    watchers.lookForOthers()
    for (const job of jobs) {
      try {
        const result = job.is_transaction && jobs.length > 1 ? inSavepoint(writer, job) : job.run()
        done.push({ job, value: (result instanceof Promise ? await result : result) as never })
      } catch (error) {
        // A full disk makes SQLite roll back everything at once: then nobody's work has happened.
        if (!connection.isTransaction) throw error
        failed.push({ job, error })
      }
    }
    if (done.length > 0) writer.commit()
    else connection.exec('ROLLBACK')
  } catch (error) {
    if (connection.isTransaction) connection.exec('ROLLBACK')
    for (const job of jobs) job.reject(unavailable(error))
    return
  } finally {
    writer.is_writing = false
    watchers.tell()
  }
  for (const { job, error } of failed) job.reject(error) // by now they can read what a neighbour wrote
  tellAll(done, disk)
}

/** Each when it lasts as long as it must. */
function tellAll(done: readonly Done[], disk: DiskFlush): void {
  const unsure: Done[] = []
  for (const one of done) {
    if (one.job.lasting === 'flushed') unsure.push(one)
    else one.job.resolve(one.value)
  }
  if (unsure.length === 0) disk.flushSoon()
  else
    disk.flushed().then(
      () => unsure.forEach(({ job, value }) => void job.resolve(value)),
      (error) => unsure.forEach(({ job }) => void job.reject(new CommitUnknown(error))),
    )
}

/** Alone in its batch a job needs none: it is undone with the batch. */
async function inSavepoint({ connection }: Connection, job: Job): Promise<unknown> {
  connection.exec('SAVEPOINT job')
  try {
    const result = await job.run()
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
