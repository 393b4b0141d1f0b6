// A real database with something between it and the service: to count, to hold, to fail, to change. Tests plant their
// bugs and their outages here, so that nothing in src knows about them.
import { CommitUnknown, type Db, type OpenDb, type Sql, type Tx, unavailable } from '../../src/storage/db.ts'

type Work = (tx: Tx) => Promise<unknown>
type Run = (statement: Sql) => Promise<unknown[]>

/** Each part may be set, changed and cleared while the service runs. */
export interface Tampering {
  /** Around every statement, in a transaction or not. */
  rows?: ((statement: Sql, run: Run) => Promise<unknown[]>) | undefined
  /** Around every transaction; `begin` runs it on the real database. */
  transaction?: ((work: Work, begin: (work: Work) => Promise<unknown>) => Promise<unknown>) | undefined
  ping?: (() => Promise<void>) | undefined
}

export function tamperedDb(db: OpenDb, tampering: Tampering): OpenDb {
  const rowsOn =
    (on: Db) =>
    <Row>(statement: Sql): Promise<Row[]> => {
      const run: Run = (changed) => on.rows(changed)
      return (tampering.rows ? tampering.rows(statement, run) : run(statement)) as Promise<Row[]>
    }
  const txOn = (tx: Tx): Tx => {
    const outer: Tx = {
      rows: rowsOn(tx),
      transaction: (work) => work(outer),
      tryLock: (name) => tx.tryLock(name),
      async last(statement) {
        const run: Run = (changed) => tx.last(changed).then(() => [])
        await (tampering.rows ? tampering.rows(statement, run) : run(statement))
      },
    }
    return outer
  }
  const begin = (work: Work) => db.transaction((tx) => work(txOn(tx)))
  return {
    engine: db.engine,
    rows: rowsOn(db),
    transaction: <T>(work: (tx: Tx) => Promise<T>) =>
      (tampering.transaction ? tampering.transaction(work, begin) : begin(work)) as Promise<T>,
    ...(db.scrub && { scrub: db.scrub }),
    ping: () => (tampering.ping ? tampering.ping() : db.ping()),
    close: () => db.close(),
  }
}

export const textOf = ({ text }: Sql) => text.join('?').replace(/\s+/g, ' ').trim()

/** Notes the text of every statement; `while` runs something and returns what was noted meanwhile. */
export function countStatements(tampering: Tampering) {
  const noted: string[] = []
  tampering.rows = (statement, run) => {
    noted.push(textOf(statement))
    return run(statement)
  }
  return {
    async while(work: () => Promise<unknown>): Promise<string[]> {
      const before = noted.length
      await work()
      return noted.slice(before)
    },
  }
}

/** From now on the store does not answer; the returned function brings it back. */
export function takeAway(tampering: Tampering): () => void {
  const away = () => Promise.reject(unavailable(new Error('away')))
  Object.assign(tampering, { rows: away, transaction: away, ping: away })
  return () => Object.assign(tampering, { rows: undefined, transaction: undefined, ping: undefined })
}

/** Stops the next transaction after its work, just before COMMIT, until told to go on. */
export function holdNextTransaction(tampering: Tampering) {
  const [entered, released, settled] = [deferred(), deferred(), deferred()]
  tampering.transaction = async (work, begin) => {
    tampering.transaction = undefined
    try {
      return await begin(async (tx) => {
        const result = await work(tx)
        entered.resolve()
        await released.promise
        return result
      })
    } finally {
      settled.resolve()
    }
  }
  return { entered: entered.promise, release: released.resolve, settled: settled.promise }
}

/** The next transaction's COMMIT is cut off: it did or did not happen, and nobody is told which. */
export function cutOffNextCommit(tampering: Tampering, happened: boolean): void {
  const cut = new CommitUnknown(new Error('connection lost'))
  tampering.transaction = async (work, begin) => {
    tampering.transaction = undefined
    await begin(async (tx) => {
      await work(tx)
      if (!happened) throw cut
    })
    throw cut
  }
}

/** The next transaction's caller is told that its COMMIT was cut off. It ends later, when told to, one way or the other. */
export function stallNextCommit(tampering: Tampering, happens: boolean) {
  const held = holdNextTransaction(tampering)
  const hold = tampering.transaction
  const cut = new CommitUnknown(new Error('no answer in time'))
  tampering.transaction = async (work, begin) => {
    const ending = (whole: Work) =>
      begin(async (tx) => {
        await whole(tx)
        if (!happens) throw cut
      })
    hold?.(work, ending).catch(() => {})
    await held.entered
    throw cut
  }
  return held
}

/** Runs changed SQL: a planted bug in every statement that has the text, or only in those that look like `within`. */
export function mutateSql(tampering: Tampering, from: string | RegExp, to: string, within = /./) {
  const mutants = new Map<readonly string[], readonly string[]>() // adapters know statements by identity
  let changed = 0
  tampering.rows = (statement, run) => {
    const changes = within.test(textOf(statement))
    const text = mutants.get(statement.text) ?? statement.text.map((part) => (changes ? part.replace(from, to) : part))
    mutants.set(statement.text, text)
    if (text.some((part, at) => part !== statement.text[at])) changed++
    return run({ text, values: statement.values })
  }
  return { changed: () => changed }
}

interface Deferred {
  promise: Promise<void>
  resolve(): void
}

export function deferred(): Deferred {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
