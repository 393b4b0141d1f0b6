// Known bugs of notifications, put in place of the real store: the events run must find each of them.
import type { OpenDb, Sql, Tx } from '../../src/storage/db.ts'

const of = (form: RegExp) => (statement: Sql) => form.test(statement.text.join('?'))
const writesDown = of(/^\s*INSERT INTO notification_delivery/)
const picksNext = of(/FROM notification_delivery d\s+WHERE d\.channel_id/)

const LATER_MS = 20

/** What happened commits first; that it is to be told is written down some time afterwards. */
export function toldLater(db: OpenDb): OpenDb {
  const later = (tx: Tx): Tx => {
    const wrapped: Tx = {
      ...tx,
      rows: <Row>(statement: Sql): Promise<Row[]> => {
        if (!writesDown(statement)) return tx.rows<Row>(statement)
        setTimeout(() => void db.rows(statement).catch(() => {}), LATER_MS)
        return Promise.resolve([])
      },
      last: async (statement) =>
        void (writesDown(statement) ? await wrapped.rows(statement) : await tx.last(statement)),
      transaction: (work) => work(wrapped),
    }
    return wrapped
  }
  return { ...db, transaction: (work, writing) => db.transaction((tx) => work(later(tx)), writing) }
}

/** What failed waits for its next attempt, and what came after it of the same subject does not. */
export function overtaking(db: OpenDb): OpenDb {
  return {
    ...db,
    rows: <Row>(statement: Sql): Promise<Row[]> =>
      db.rows<Row>(
        picksNext(statement)
          ? { ...statement, text: statement.text.map((part) => part.replace('f.subject = d.subject', 'f.id = d.id')) }
          : statement,
      ),
  }
}
