// R78: whether there is more than one project. Where there is one, nothing need be kept free for others.
import { type Db, sql } from '../storage/db.ts'

export interface Neighbours {
  has(): boolean
  look(): Promise<void>
}

/** Until somebody has looked, there may be some. */
export function neighbours(db: Db): Neighbours {
  let several = true
  return {
    has: () => several,
    async look() {
      const projects = await db.rows(sql`SELECT id FROM project LIMIT 2`)
      several = projects.length > 1
    },
  }
}
