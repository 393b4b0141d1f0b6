// One connection to the embedded store: how it is set, and how a statement finds its prepared form.
import { DatabaseSync, type StatementSyncInstance } from '@photostructure/sqlite'
import type { Sql, SqlValue } from './db.ts'

/** Set and read back at every open: defaults differ between builds, and a weaker one would show only in a power cut. */
export const PRAGMAS = {
  journal_mode: 'wal',
  synchronous: 1, // NORMAL: SQLite flushes around checkpoints, we flush the log after commits
  foreign_keys: 1,
  secure_delete: 1, // a deleted secret is overwritten, not just unlinked
  busy_timeout: 5_000,
  wal_autocheckpoint: 16_000, // pages: only where the thread that does it is far behind
  journal_size_limit: 64 * 1024 * 1024,
  temp_store: 2, // MEMORY
} as const

export interface Connection {
  connection: InstanceType<typeof DatabaseSync>
  /** It sees what is not committed yet. */
  is_writing: boolean
  /** SQLite has undone what is under way, by itself. */
  was_undone: boolean
  run<Row>(statement: Sql): Row[]
  begin(): void
  commit(): void
}

/** Rows as they cross from SQLite: a third cheaper than as objects. */
export interface Lists {
  names: readonly string[]
  lists: readonly SqlValue[][]
}

export function connect(path: string): Connection {
  const connection = new DatabaseSync(path, { timeout: PRAGMAS.busy_timeout })
  for (const [name, value] of Object.entries(PRAGMAS)) {
    connection.exec(`PRAGMA ${name} = ${value}`)
    const actual = Object.values(connection.prepare(`PRAGMA ${name}`).get() ?? {})[0]
    if (actual !== value) throw new Error(`SQLite keeps ${name} at ${String(actual)}, but ${value} is needed`)
  }
  // A tagged template's text array is the same object at every call, so it finds its prepared statement by identity.
  const known = new WeakMap<readonly string[], Prepared>()
  const [begin, commit] = [connection.prepare('BEGIN IMMEDIATE'), connection.prepare('COMMIT')]
  return {
    connection,
    is_writing: false,
    was_undone: false,
    begin: () => void begin.run(),
    commit: () => void commit.run(),
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

const rowsOf = <Row>({ statement, names }: Prepared, values: readonly SqlValue[]) =>
  named<Row>({ names, lists: statement.all(...values) as unknown as SqlValue[][] })

export function named<Row>({ names, lists }: Lists): Row[] {
  const rows: Row[] = []
  for (const list of lists) {
    const row: Record<string, SqlValue> = {}
    for (let at = 0; at < names.length; at++) row[names[at] as string] = list[at] as SqlValue
    rows.push(row as Row)
  }
  return rows
}
