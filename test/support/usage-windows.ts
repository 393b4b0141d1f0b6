// R78: how many events single statements tell of. Roll-ups are no events: what they tell does not count.

import { type OpenDb, type Sql, sql } from '../../src/storage/db.ts'
import { WINDOW_ROWS } from '../../src/usage/request-search.ts'
import type { UsageEvent } from '../../src/usage/usage-event.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { textOf } from './tampered-db.ts'

/** What one statement may tell of, where no more than three events are of the same moment. */
export const WINDOW_MOST = WINDOW_ROWS + 3

/** A database that notes, of each statement that reads events themselves, of how many its rows tell. */
export function countingEvents(db: OpenDb, reading = /usage_event|usage_tag/) {
  const told: number[] = []
  const texts: string[] = []
  const rows = async <Row>(statement: Sql): Promise<Row[]> => {
    const found = await db.rows<Row>(statement)
    texts.push(textOf(statement))
    if (reading.test(textOf(statement)))
      told.push(found.reduce((sum, row) => sum + ((row as { events?: number }).events ?? 1), 0))
    return found
  }
  return { db: { ...db, rows }, told, texts, most: () => Math.max(0, ...told) }
}

/** Many at once: each by itself would be a commit of its own. */
export const insertAll = (db: OpenDb, events: readonly UsageEvent[]): Promise<void> =>
  db.transaction(async (tx) => {
    for (const event of events) await usageStore(tx).insert(event)
  })

/** A key that replays were made with. */
export async function replayKeyOf(db: OpenDb, project_id: string): Promise<string> {
  const key_id = `key_of_${project_id}`
  await db.rows(sql`INSERT INTO replay_key (key_id, project_id) VALUES (${key_id}, ${project_id})`)
  return key_id
}
