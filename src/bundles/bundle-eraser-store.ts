// Bundles, for purge jobs.
import { fixed, joined, sql } from '../storage/db.ts'
import { countOf, type Eraser, isOneOf, matching, nextBatch, type PurgeScope } from '../storage/erasing.ts'
import type { BundleQuota } from './bundle-routes.ts'

const where = (scope: PurgeScope) =>
  joined(
    sql` WHERE project_id = ${scope.project_id}`,
    matching.madeAt(scope, 'created_at'),
    matching.madeBy(scope, 'made_by', 'made_under'),
    matching.named(scope, { bundle: 'id' }),
  )

export const bundleEraser = (quota: Pick<BundleQuota, 'giveBack'>): Eraser => ({
  kind: 'bundles',

  count: (db, scope) => countOf(db, joined(sql`SELECT COUNT(*) AS matched FROM bundle`, where(scope))),

  async erase(tx, scope, from, most) {
    const walked = { table: 'bundle', order: 'sequence', id: 'id', of_project: scope.project_id, where: where(scope) }
    const batch = await nextBatch(tx, walked, from, most)
    if (batch.ids.length === 0) return batch
    const { project_id } = scope
    await tx.rows(
      joined(sql`DELETE FROM bundle_item WHERE project_id = ${project_id} AND `, isOneOf('bundle_id', batch.ids)),
    )
    const gone = await tx.rows<{ id: string }>(
      joined(
        sql`DELETE FROM bundle WHERE project_id = ${project_id} AND `,
        isOneOf('id', batch.ids),
        fixed(' RETURNING id'),
      ),
    )
    for (const _one of gone) await quota.giveBack(tx, project_id)
    return { ...batch, ids: gone.map(({ id }) => id) } // without those that somebody else deleted meanwhile
  },
})
