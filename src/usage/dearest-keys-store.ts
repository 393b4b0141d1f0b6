// §8.2.3: the dearest keys of a project. A page of thousands of keys shows some of them: to find which takes one sum of
// each, and only theirs are added up whole.
import { type Db, fixed, joined, sql } from '../storage/db.ts'
import { type Asked, answered, READING_BY_KEY, type Reading } from './usage-sums-store.ts'

const NAMED_MAX = 2_000 // beyond it, a list of names is no shorter way

const CHARGED: Reading = {
  rollup: fixed('key_id, SUM(events) AS events, SUM(charged_micros) AS charged_micros'),
  event: fixed('e.key_id, 1 AS events, e.charged_micros'),
  rollups_by: fixed(' GROUP BY key_id'),
}

/** How sums of so many of the dearest are read. Where there are no more than these, all of them. */
export async function readingDearest(db: Db, asked: Asked, limit: number): Promise<Reading> {
  if (limit > NAMED_MAX) return READING_BY_KEY
  const dearest = await answered<{ key_id: string }>(db, CHARGED, asked, (parts) =>
    joined(
      sql`SELECT key_id FROM (`,
      parts,
      sql`) AS part GROUP BY key_id HAVING SUM(events) > 0 ORDER BY SUM(charged_micros) DESC, key_id LIMIT ${limit}`,
    ),
  )
  return dearest.length < limit ? READING_BY_KEY : ofKeys(dearest.map(({ key_id }) => key_id))
}

function ofKeys([first, ...more]: readonly string[]): Reading {
  const listed = joined(sql`${first ?? ''}`, ...more.map((key_id) => sql`, ${key_id}`))
  return {
    ...READING_BY_KEY,
    only: {
      rollup: joined(sql` AND key_id IN (`, listed, sql`)`),
      event: joined(sql` AND e.key_id IN (`, listed, sql`)`),
    },
  }
}
