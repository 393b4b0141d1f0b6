// The whole storage port. Rooms write SQL once, in the subset that SQLite and PostgreSQL share; an adapter only
// knows how to run it. Counting rows is done with RETURNING, never with driver metadata.
import { Refusal } from '../core/refusal.ts'

export type SqlValue = string | number | null | Uint8Array

export interface Sql {
  readonly text: readonly string[]
  readonly values: readonly SqlValue[]
  /** Read aside, and not kept prepared: of those that are put together for one use there may be thousands. */
  readonly once?: true
  /** A call waits for it: of all that is read aside, it goes before lists and sums. */
  readonly first?: true
  /** Reads of this name run one at a time, whichever process asks for them. An embedded store has only one. */
  readonly alone?: string
}

export function sql(text: TemplateStringsArray, ...values: SqlValue[]): Sql {
  return { text, values }
}

/** Text that is the code's own, such as a list of columns; never anything that came from outside. */
export const fixed = (text: string): Sql => ({ text: [text], values: [] })

/** It may read much: an embedded store reads it on a thread of its own, and goes on serving calls meanwhile. */
export const aside = (statement: Sql): Sql => ({ ...statement, once: true })

/** The same for what a call waits for: however many lists and sums wait to be read, it goes before them. */
export const asideFirst = (statement: Sql): Sql => ({ ...statement, once: true, first: true })

/**
 * Statements that begin alike, such as with a list of columns. Their texts are the code's own, so they are prepared
 * once and read at once like those of `sql`: for what an index finds, and for nothing that may read much.
 */
export function beginning(head: string): typeof sql {
  const whole = new WeakMap<TemplateStringsArray, readonly string[]>()
  return (rest, ...values) => {
    let text = whole.get(rest)
    if (!text) {
      text = [head + rest[0], ...rest.slice(1)]
      whole.set(rest, text)
    }
    return { text, values }
  }
}

/** One statement out of parts. Read aside. */
export function joined(...parts: readonly Sql[]): Sql {
  const text = ['']
  for (const { text: part } of parts) {
    text[text.length - 1] += part[0] ?? ''
    text.push(...part.slice(1))
  }
  return { text, values: parts.flatMap(({ values }) => values), once: true }
}

const reads = new WeakMap<readonly string[], boolean>()

/** It changes nothing and waits for nobody. */
export function isRead({ text }: Sql): boolean {
  let read = reads.get(text)
  if (read === undefined) {
    read = /^\s*SELECT\b/i.test(text[0] ?? '')
    reads.set(text, read)
  }
  return read
}

/**
 * What a write is sure to outlive once it resolves. `flushed`: a power cut. `committed`: the end of this process, and
 * everybody sees it; an embedded store has it on the disk some milliseconds later.
 */
export type Lasting = 'flushed' | 'committed'

/** How a transaction wants to be written. */
export interface Writing {
  /** `flushed`, unless said otherwise. */
  lasting?: Lasting
  /** It has let a turn go by already, for others of its kind: an embedded store does not wait for more. */
  gathered?: boolean
}

export interface Db {
  /** Runs one statement. One statement is one atomic decision on both databases, flushed once this resolves. */
  rows<Row>(statement: Sql): Promise<Row[]>
  /** Runs `work` in a transaction. Inside it, only the `tx` it is handed may be used, and nothing slow awaited. */
  transaction<T>(work: (tx: Tx) => Promise<T>, writing?: Writing): Promise<T>
}

export interface Tx extends Db {
  /** Takes `name` until the transaction ends; false at once, never a wait, where another transaction has it. */
  tryLock(name: string): Promise<boolean>
  /**
   * Runs a statement behind all others of the transaction, in one round trip with its COMMIT: the rows that it takes
   * are not locked while this process does anything else, however busy it is. For rows that many need. What else the
   * transaction does must not depend on it: the embedded store, where nobody waits, runs it at once.
   */
  last(statement: Sql): Promise<void>
}

/**
 * Statements of one transaction that do not need each other's results. They run in the order in which they were begun,
 * in one round trip where the store is elsewhere. Waits for all of them, so that none comes after its transaction; what
 * the first of them failed with is the reason of those behind it too.
 */
export async function together<const All extends readonly Promise<unknown>[]>(all: All): Promise<Results<All>> {
  const outcomes = await Promise.allSettled(all)
  const results: unknown[] = []
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') throw outcome.reason
    results.push(outcome.value)
  }
  return results as Results<All>
}

type Results<All extends readonly Promise<unknown>[]> = { -readonly [At in keyof All]: Awaited<All[At]> }

/** A database as its owner holds it: it can be watched and closed. */
export interface OpenDb extends Db {
  readonly engine: 'sqlite' | 'postgres'
  /** Rejects with the reason while the database does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
  /**
   * Calls `changed` at every commit that may have changed one of these columns or deleted a row that has them, before
   * whoever wrote hears of it: what was read of them is good until then. Undefined where other servers write as well.
   * `added`: the tables where a row that is added counts as well.
   */
  readonly watch?: (columns: Columns, changed: () => void, added?: readonly string[]) => void
  /**
   * Leaves nothing of what was deleted in the store's own files. `rewritten`: nothing at all. `overwritten`: where it
   * lay it is overwritten, but an earlier copy may be left in unused space of a page. Undefined where the files are
   * another server's.
   */
  readonly scrub?: () => Promise<Scrubbed>
}

export type Scrubbed = 'rewritten' | 'overwritten'

/** By table. */
export type Columns = Readonly<Record<string, readonly string[]>>

/** The store is away. Callers answer 503 in the envelope and recover by themselves. */
export function unavailable(cause: unknown): Refusal {
  const headers = { 'retry-after': '1' }
  return new Refusal('unavailable', 'The store is not available right now. Retry shortly.', { cause, headers })
}

/** The connection broke while COMMIT was under way: the transaction may or may not have happened (T-104). */
export class CommitUnknown extends Refusal {
  constructor(cause: unknown) {
    const message = 'The store went away while committing, so the outcome is unknown. Look before you repeat this.'
    super('unavailable', message, { cause, headers: { 'retry-after': '1' } })
  }
}
