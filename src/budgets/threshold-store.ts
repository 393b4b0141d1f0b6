// Crossed thresholds, told in the transaction of the charge that crossed them.
import { type Crossing, crossingEvent } from '../notifications/happening.ts'
import { type Db, sql } from '../storage/db.ts'
import { tell } from '../storage/telling.ts'

export async function tellCrossings(tx: Db, crossings: readonly Crossing[], now: number): Promise<void> {
  for (const crossing of crossings) {
    const { project_id, id } = crossing
    const [key] = await tx.rows<{ name: string }>(sql`
      SELECT name FROM api_key WHERE project_id = ${project_id} AND id = ${id}`)
    await tell(tx, crossingEvent(crossing, key?.name ?? id), now)
  }
}
