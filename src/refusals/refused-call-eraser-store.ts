// Refused generations, for purge jobs: what an upstream said of a prompt may quote it.
import { joined, sql } from '../storage/db.ts'
import { countOf, type Eraser, isOneOf, matching, nextBatch, type PurgeScope } from '../storage/erasing.ts'

const where = (scope: PurgeScope) =>
  joined(
    sql` WHERE project_id = ${scope.project_id}`,
    matching.madeAtMs(scope, 'at_ms'),
    matching.madeWith(scope, 'key_id'),
    matching.named(scope, { trace: 'trace_id' }),
  )

export const refusedCallEraser: Eraser = {
  kind: 'refused_calls',

  count: (db, scope) => countOf(db, joined(sql`SELECT COUNT(*) AS matched FROM refused_call`, where(scope))),

  async erase(tx, scope, from, most) {
    const walked = {
      table: 'refused_call',
      order: 'at_ms',
      id: 'trace_id',
      of_project: scope.project_id,
      where: where(scope),
    }
    const batch = await nextBatch(tx, walked, from, most)
    if (batch.ids.length > 0)
      await tx.rows(
        joined(
          sql`DELETE FROM refused_call WHERE project_id = ${scope.project_id} AND `,
          isOneOf('trace_id', batch.ids),
        ),
      )
    return batch
  },
}
