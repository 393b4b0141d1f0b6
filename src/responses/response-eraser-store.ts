// Stored responses, for purge jobs.

import { type Db, fixed, joined, sql } from '../storage/db.ts'
import { addTraces, countOf, type Eraser, isOneOf, matching, nextBatch, type PurgeScope } from '../storage/erasing.ts'
import { removeParts } from '../storage/large-bodies.ts'

const where = (scope: PurgeScope) =>
  joined(
    sql` WHERE project_id = ${scope.project_id}`,
    matching.madeAt(scope, 'created_at'),
    matching.madeBy(scope, 'made_by', 'made_under'),
    matching.named(scope, { response: 'id', trace: 'trace_id' }),
  )

const walked = (scope: PurgeScope) => ({
  table: 'stored_response',
  order: 'sequence',
  id: 'id',
  bytes: 'bytes',
  of_project: scope.project_id,
  where: where(scope),
})

/** Of those that ended without a response to store, and of the events of all. */
const promised = (scope: PurgeScope) =>
  joined(
    sql` WHERE project_id = ${scope.project_id} AND finished_ms IS NOT NULL`,
    matching.madeAtMs(scope, 'created_ms'),
    matching.madeBy(scope, 'made_by', 'made_under'),
    matching.named(scope, { response: 'id' }),
  )

/** True where there was any. */
async function erasePromised(tx: Db, scope: PurgeScope): Promise<boolean> {
  const events = await tx.rows(
    joined(
      sql`
        DELETE FROM background_events WHERE project_id = ${scope.project_id} AND response_id IN (
          SELECT id FROM background_response`,
      promised(scope),
      sql`) RETURNING response_id`,
    ),
  )
  const gone = await tx.rows(joined(sql`DELETE FROM background_response`, promised(scope), sql` RETURNING id`))
  return events.length + gone.length > 0
}

export const responseEraser: Eraser = {
  kind: 'responses',

  count: (db, scope) => countOf(db, joined(sql`SELECT COUNT(*) AS matched FROM stored_response`, where(scope))),

  async erase(tx, scope, from, most) {
    const batch = await nextBatch(tx, walked(scope), from, most)
    const more = await erasePromised(tx, scope)
    if (batch.ids.length > 0) {
      const erased = await tx.rows<{ parts_id: string | null }>(
        joined(
          sql`DELETE FROM stored_response WHERE project_id = ${scope.project_id} AND `,
          isOneOf('id', batch.ids),
          fixed(' RETURNING parts_id'),
        ),
      )
      await removeParts(tx, erased)
    }
    return { ...batch, more }
  },

  relate: (tx, scope) =>
    addTraces(
      scope,
      tx,
      joined(
        sql`SELECT trace_id FROM stored_response WHERE project_id = ${scope.project_id}`,
        matching.named(scope, { response: 'id' }),
      ),
    ),
}
