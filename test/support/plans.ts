// The embedded engine only: how it finds what a statement asks of a table. It plans by its indexes alone, so what it says
// of an empty table it does with a hundred thousand rows.
import type { Db, OpenDb } from '../../src/storage/db.ts'
import { tamperedDb } from './tampered-db.ts'

/** Of each place where rows of the table are looked for, how. */
export async function plansOf(db: OpenDb, work: (on: Db) => Promise<unknown>, table = 'api_key'): Promise<string[]> {
  const plans: string[] = []
  const watched = tamperedDb(db, {
    async rows({ text: [first = '', ...rest], values, ...more }, run) {
      const plan = await run({ text: [`EXPLAIN QUERY PLAN ${first}`, ...rest], values, once: true })
      for (const { detail } of plan as { detail: string }[]) if (detail.includes(table)) plans.push(detail)
      return run({ text: [first, ...rest], values, ...more })
    },
  })
  await work(watched)
  return plans
}
