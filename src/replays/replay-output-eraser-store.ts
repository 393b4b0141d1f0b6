// What replay runs were answered, for purge jobs. The items stay: they have figures, and nothing that anybody said.
import { fixed, joined, sql } from '../storage/db.ts'
import { countWalked, type Eraser, isOneOf, matching, nextBatch, type PurgeScope } from '../storage/erasing.ts'
import type { OutputQuota } from './replay-item-store.ts'

const where = (scope: PurgeScope) =>
  joined(
    sql` WHERE project_id = ${scope.project_id}`,
    matching.madeAtMs(scope, 'created_ms'),
    matching.madeBy(scope, 'key_id', 'made_under'),
    matching.named(scope, { trace: 'trace_id' }),
  )

const walked = (scope: PurgeScope) => ({
  table: 'replay_output',
  order: 'sequence',
  id: 'id',
  bytes: 'bytes',
  of_project: scope.project_id,
  where: where(scope),
})

export const replayOutputEraser = (quota: Pick<OutputQuota, 'giveBack'>): Eraser => ({
  kind: 'replay_outputs',

  count: (db, scope) => countWalked(db, walked(scope)),

  async erase(tx, scope, from, most) {
    const batch = await nextBatch(tx, walked(scope), from, most)
    if (batch.ids.length === 0) return batch
    const { project_id } = scope
    const gone = await tx.rows<{ bytes: number }>(
      joined(
        sql`DELETE FROM replay_output WHERE project_id = ${project_id} AND `,
        isOneOf('id', batch.ids),
        fixed(' RETURNING bytes'),
      ),
    )
    await quota.giveBack(
      tx,
      project_id,
      gone.reduce((sum, { bytes }) => sum + bytes, 0),
    )
    return batch
  },
})
