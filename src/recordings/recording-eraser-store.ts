// Recordings, for purge jobs: their rows first; then what was theirs is cut out of the packs that they were written in.
// A job is not through with them before the last pack is.
import { type Db, joined, sql } from '../storage/db.ts'
import { countOf, countWalked, type Eraser, isOneOf, matching, nextBatch, type PurgeScope } from '../storage/erasing.ts'
import type { KeptRecordings } from './kept-recording-store.ts'

const where = (scope: PurgeScope) =>
  joined(
    sql` WHERE project_id = ${scope.project_id}`,
    matching.madeAtMs(scope, 'at_ms'),
    matching.madeBy(scope, 'key_id', 'made_by', 'made_under'),
    matching.named(scope, { trace: 'trace_id' }),
  )

const walked = (scope: PurgeScope) => ({
  ...{ table: 'recording', order: 'at_ms', id: 'trace_id', of_project: scope.project_id, where: where(scope) },
})

export const recordingEraser = (recordings: Pick<KeptRecordings, 'eraseCut' | 'due' | 'quota'>): Eraser => ({
  kind: 'recordings',

  async count(db, scope) {
    const { project_id } = scope
    const rows = await countWalked(db, walked(scope))
    const packs = await countOf(
      db,
      sql`SELECT COUNT(*) AS matched FROM recording_pack WHERE project_id = ${project_id} AND is_cut = 1`,
    )
    return rows + packs + (await recordings.due(db, project_id))
  },

  /** With the lock: what waits to be written is there by now, or finds the job. */
  async erase(tx, scope, from, most) {
    const { project_id } = scope
    await recordings.quota.lock(tx, project_id)
    const batch = await nextBatch(tx, walked(scope), from, most)
    if (batch.ids.length === 0) return batch
    await cutOut(tx, project_id, batch.ids)
    await recordings.quota.giveBack(tx, project_id, { items: batch.ids.length, bytes: 0 })
    return batch
  },

  eraseOutside: ({ project_id }) => recordings.eraseCut(project_id),
})

async function cutOut(tx: Db, project_id: string, trace_ids: readonly string[]): Promise<void> {
  const named = joined(sql`project_id = ${project_id} AND `, isOneOf('trace_id', trace_ids))
  await tx.rows(
    joined(
      sql`UPDATE recording_pack SET is_cut = 1
        WHERE project_id = ${project_id} AND id IN (SELECT pack_id FROM recording WHERE `,
      named,
      sql`)`,
    ),
  )
  await tx.rows(joined(sql`DELETE FROM recording WHERE `, named))
}
