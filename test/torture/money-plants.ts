// Known bugs of the money path, put in place of the real store: the money run must find each of them.
import { type OpenDb, type Sql, sql, type Tx } from '../../src/storage/db.ts'

const of = (form: RegExp) => (statement: Sql) => form.test(statement.text.join('?'))
const takesHold = of(/^\s*DELETE FROM budget_hold WHERE id = \?/)
const findsOrphans = of(/^\s*SELECT[^;]*FROM budget_hold[^;]*process <> \?/)
const settles = of(/^\s*INSERT INTO usage_event/)
const looksUp = of(/^\s*SELECT sealed, state, parts_id, parts_bytes FROM idempotency/)
const reserves = of(/^\s*INSERT INTO idempotency/)

/** Settling puts the hold back behind it. */
export function holdKept(db: OpenDb): OpenDb {
  const held = new Map<unknown, Held>() // by transaction
  return everywhere(db, (tx) => async <Row>(statement: Sql) => {
    if (takesHold(statement)) {
      const [hold] = await tx.rows<Held>(sql`SELECT * FROM budget_hold WHERE id = ${statement.values[0] ?? null}`)
      if (hold) held.set(tx, hold)
    }
    const hold = settles(statement) ? held.get(tx) : undefined
    held.delete(settles(statement) ? tx : undefined)
    if (hold)
      await tx.rows(sql`
        INSERT INTO budget_hold (id, key_id, project_id, micros, process, created_at)
        VALUES (${hold.id}, ${hold.key_id}, ${hold.project_id}, ${hold.micros}, ${hold.process}, ${hold.created_at})`)
    return tx.rows<Row>(statement)
  })
}

interface Held {
  id: string
  key_id: string
  project_id: string
  micros: number
  process: string
  created_at: number
}

/** A retry finds neither a kept answer nor a reservation, and is executed and charged as if it were new. */
export function chargedAgain(db: OpenDb): OpenDb {
  return everywhere(db, (tx) => async <Row>(statement: Sql) => {
    if (looksUp(statement)) return []
    if (reserves(statement)) await tx.rows(sql`DELETE FROM idempotency WHERE digest = ${statement.values[0] ?? null}`)
    return tx.rows<Row>(statement)
  })
}

/** What a dead process held is never given back. */
export function orphansStay(db: OpenDb): OpenDb {
  return everywhere(
    db,
    (tx) =>
      async <Row>(statement: Sql) =>
        findsOrphans(statement) ? [] : tx.rows<Row>(statement),
  )
}

type Rows = Tx['rows']

function everywhere(db: OpenDb, rowsOver: (over: Pick<Tx, 'rows'>) => Rows): OpenDb {
  const within = (tx: Tx): Tx => {
    const wrapped: Tx = { ...tx, rows: rowsOver(tx), transaction: (work) => work(wrapped) }
    return wrapped
  }
  return { ...db, rows: rowsOver(db), transaction: (work) => db.transaction((tx) => work(within(tx))) }
}
