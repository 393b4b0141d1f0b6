// §8.2.3: the dearest keys of a project. A page of thousands of keys shows some of them: to find which takes one sum of
// each, and only theirs are added up whole.
import { fixed, joined, sql } from '../storage/db.ts'
import type { Reads } from '../storage/long-reads.ts'
import { listed } from './usage-filter-store.ts'
import { type Asked, answered, READING_BY_KEY, type Reading } from './usage-sums-store.ts'

const NAMED_MAX = 2_000 // beyond it, a list of names is no shorter way

const CHARGED: Reading = {
  rollup: fixed('key_id, SUM(events) AS events, SUM(charged_micros) AS charged_micros'),
  event: fixed('e.key_id, 1 AS events, e.charged_micros'),
  rollups_by: fixed(' GROUP BY key_id'),
}

/** How sums of so many of the dearest are read. Where there are no more than these, all of them. */
export async function readingDearest(db: Reads, asked: Asked, limit: number | undefined): Promise<Reading> {
  if (limit === undefined || limit > NAMED_MAX) return READING_BY_KEY
  const dearest = await dearestKeys(db, asked, limit)
  return dearest.length < limit ? READING_BY_KEY : ofKeys(dearest)
}

interface Charged {
  key_id: string
  events: number
  charged_micros: number
}

async function dearestKeys(db: Reads, asked: Asked, limit: number): Promise<string[]> {
  const told = await answered<Charged>(db, CHARGED, asked, {
    told: (parts, only) =>
      joined(
        fixed(`SELECT key_id, CAST(SUM(events) AS BIGINT) AS events,
          CAST(SUM(charged_micros) AS BIGINT) AS charged_micros FROM (`),
        parts,
        sql`) AS part GROUP BY key_id`,
        only ? sql`` : sql` HAVING SUM(events) > 0 ORDER BY charged_micros DESC, key_id LIMIT ${limit}`,
      ),
  })
  const [first = [], ...more] = told
  return (more.length === 0 ? first : addedUp(told.flat()).slice(0, limit)).map(({ key_id }) => key_id)
}

/** The dearest first. */
function addedUp(rows: readonly Charged[]): Charged[] {
  const all = new Map<string, Charged>()
  for (const row of rows) {
    const sum = all.get(row.key_id)
    if (sum) {
      sum.events += row.events
      sum.charged_micros += row.charged_micros
    } else all.set(row.key_id, row)
  }
  const dearest = (one: Charged, other: Charged) =>
    other.charged_micros - one.charged_micros || (one.key_id < other.key_id ? -1 : 1)
  return [...all.values()].filter(({ events }) => events > 0).sort(dearest)
}

function ofKeys(names: readonly string[]): Reading {
  const keys = listed(names)
  return {
    ...READING_BY_KEY,
    only: { rollup: joined(sql` AND key_id IN `, keys), event: joined(sql` AND e.key_id IN `, keys) },
  }
}
