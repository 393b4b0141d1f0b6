import type { Db } from '../../src/storage/db.ts'

/**
 * How many turns of the event loop came and went while something was done, beside those in which the store read: others
 * are served in them.
 */
export async function turnsDuring<T>(db: Db, work: (db: Db) => Promise<T>): Promise<{ value: T; turns: number }> {
  let turns = 0
  let reading = 0
  let is_over = false
  const turn = () => {
    if (reading === 0) turns += 1
    if (!is_over) setImmediate(turn)
  }
  const watched: Db = {
    ...db,
    async rows<Row>(statement: Parameters<Db['rows']>[0]): Promise<Row[]> {
      reading += 1
      try {
        return await db.rows<Row>(statement)
      } finally {
        reading -= 1
      }
    },
  }
  setImmediate(turn)
  const value = await work(watched)
  is_over = true
  return { value, turns }
}
