// What a process knows of a project's routes is good for as long as this number stands still. Every write that could
// change a route raises it, in the same transaction; every request reads it together with its key.
import { type Db, sql, type Tx } from './db.ts'

const raised = (project_id: string) =>
  sql`UPDATE project SET routing_epoch = routing_epoch + 1 WHERE id = ${project_id}`

export async function raiseRoutingEpoch(tx: Db, project_id: string): Promise<void> {
  await tx.rows(raised(project_id))
}

/** The same at the very end of the transaction: nobody waits for the project's row while this process does anything. */
export const raiseRoutingEpochLast = (tx: Tx, project_id: string): Promise<void> => tx.last(raised(project_id))
