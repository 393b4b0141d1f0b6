// R78: reads of a project that may be long, such as a search for what is not there: hundreds of statements, which go on
// where the client has left. So many of a project run at a time, in this process; those of others wait for no more.
// What a page takes is read as fast as the store can; what is longer, one statement at a time of all replicas; and
// whoever reads on and on has half of the time (0371).
import { lanes } from '../core/lanes.ts'
import { paced } from '../core/paced.ts'
import type { Db } from './db.ts'

export type Reads = Pick<Db, 'rows'>

const PACE = { share: 0.5, burst_ms: 2_000 }
const PAGE_MS = 250

/** Of one kind each: those of another do not wait for these. */
export function longReads(what: string): (db: Reads, project_id: string) => Reads {
  const inLane = lanes({ at_once: 2, waiting_max: 200, pace: paced(PACE) })
  return (db, project_id) => ({
    rows: (statement) =>
      inLane(project_id, (spent_ms) =>
        db.rows(spent_ms < PAGE_MS ? statement : { ...statement, alone: `${what} of ${project_id}` }),
      ),
  })
}
