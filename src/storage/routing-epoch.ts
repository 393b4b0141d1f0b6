// What a process knows of a project's routes is good for as long as this number stands still. Every write that could
// change a route raises it, in the same transaction; every request reads it together with its key.
import { type Db, sql } from './db.ts'

export async function raiseRoutingEpoch(tx: Db, project_id: string): Promise<void> {
  await tx.rows(sql`UPDATE project SET routing_epoch = routing_epoch + 1 WHERE id = ${project_id}`)
}
