// The events of background responses at rest, several in a row, sealed. Only whoever has the lease of a response adds
// to them, in a transaction that has its row: behind its end, and where another runs it, nothing is added.
import type { Sealing } from '../core/sealing.ts'
import { nextTurn } from '../core/turns.ts'
import { DELETED_AT_ONCE_BYTES, DELETED_AT_ONCE_ROWS, withinBytes } from '../storage/batches.ts'
import { type Db, sql } from '../storage/db.ts'
import type { ToldEvent } from './background-response.ts'

export interface Named {
  project_id: string
  id: string
}

interface Sized {
  first_number: number
  bytes: number
}

const READ_AT_ONCE_ROWS = 20
const READ_AT_ONCE_BYTES = 256 * 1024

export function backgroundEvents(db: Db, { seal, open }: Sealing) {
  const place = (id: string, first_number: number) => `background_events ${id} ${first_number}`

  return {
    /** A run that begins again says all of it again. */
    async forget({ project_id, id }: Named, owner: string): Promise<void> {
      const forgetSome = async (tx: Db): Promise<boolean> => {
        const [held] = await tx.rows(sql`
          UPDATE background_response SET event_bytes = 0
          WHERE project_id = ${project_id} AND id = ${id} AND owner = ${owner} AND status = 'in_progress'
          RETURNING id`)
        return held !== undefined && removeSome(tx, id)
      }
      while (await db.transaction(forgetSome)) await nextTurn()
    },

    /** `trace_id` is that of the run that tells them. */
    async add(
      { project_id, id }: Named,
      owner: string,
      events: readonly ToldEvent[],
      trace_id?: string,
    ): Promise<void> {
      const [first] = events
      const last = events.at(-1)
      if (!first || !last) return
      const told = JSON.stringify(events.map(({ number, text }) => [number, text]))
      const bytes = seal(Buffer.from(told), project_id, place(id, first.number))
      await db.transaction(async (tx) => {
        const [held] = await tx.rows(sql`
          UPDATE background_response
          SET event_bytes = event_bytes + ${bytes.length}, trace_id = COALESCE(${trace_id ?? null}, trace_id)
          WHERE project_id = ${project_id} AND id = ${id} AND owner = ${owner} AND status = 'in_progress'
          RETURNING id`)
        if (!held) return
        await tx.rows(sql`
          INSERT INTO background_events (response_id, first_number, last_number, project_id, sealed)
          VALUES (${id}, ${first.number}, ${last.number}, ${project_id}, ${bytes})
          ON CONFLICT (response_id, first_number) DO NOTHING`)
      })
    },

    /** Behind a number, in order; not all at once where they are many, or large. */
    async after({ project_id, id }: Named, number: number): Promise<[number: number, text: string][]> {
      const sizes = await db.rows<Sized>(sql`
        SELECT first_number, LENGTH(sealed) AS bytes FROM background_events
        WHERE project_id = ${project_id} AND response_id = ${id} AND last_number > ${number}
          AND first_number >= COALESCE((SELECT MAX(b.first_number) FROM background_events b
                                        WHERE b.response_id = ${id} AND b.first_number <= ${number}), 0)
        ORDER BY first_number LIMIT ${READ_AT_ONCE_ROWS}`)
      const some = withinBytes(sizes, READ_AT_ONCE_BYTES)
      const [first, last] = [some[0], some.at(-1)]
      if (!first || !last) return []
      const rows = await db.rows<{ first_number: number; sealed: Uint8Array }>(sql`
        SELECT first_number, sealed FROM background_events
        WHERE project_id = ${project_id} AND response_id = ${id}
          AND first_number >= ${first.first_number} AND first_number <= ${last.first_number}
        ORDER BY first_number`)
      const all: [number, string][] = []
      for (const { first_number, sealed } of rows) {
        const told = open(sealed, project_id, place(id, first_number))
        for (const one of JSON.parse(told.toString('utf8')) as [number, string][]) if (one[0] > number) all.push(one)
      }
      await nextTurn() // whoever follows comes for the next at once
      return all
    },

    /** All of one that has ended, in steps: nobody adds to it any more. */
    async removeAll(id: string): Promise<void> {
      const removeStep = async (tx: Db): Promise<boolean> => {
        if (await removeSome(tx, id)) return true
        await tx.rows(sql`
          UPDATE background_response SET event_bytes = 0 WHERE id = ${id} AND finished_ms IS NOT NULL`)
        return false
      }
      while (await db.transaction(removeStep, { lasting: 'committed' })) await nextTurn()
    },
  }
}

/** In a transaction. True where there are more. */
async function removeSome(tx: Db, id: string): Promise<boolean> {
  const sizes = await tx.rows<Sized>(sql`
    SELECT first_number, LENGTH(sealed) AS bytes FROM background_events
    WHERE response_id = ${id} ORDER BY first_number LIMIT ${DELETED_AT_ONCE_ROWS}`)
  const some = withinBytes(sizes, DELETED_AT_ONCE_BYTES)
  const last = some.at(-1)
  if (!last) return false
  await tx.rows(sql`
    DELETE FROM background_events WHERE response_id = ${id} AND first_number <= ${last.first_number}`)
  return some.length < sizes.length || sizes.length === DELETED_AT_ONCE_ROWS
}
