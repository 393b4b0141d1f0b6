// Kept answers, for purge jobs. An erased one leaves an empty row until its day ends: a repeat of its request is 410,
// and is neither executed nor charged again.

import { joined, sql } from '../storage/db.ts'
import { countWalked, type Eraser, isOneOf, matching, nextBatch, type PurgeScope } from '../storage/erasing.ts'
import { removeLooseParts, removeParts } from '../storage/large-bodies.ts'
import { RETENTION_MS } from './idempotency.ts'

/**
 * A kept answer says when it ends, and so when it was kept. One of before keys and traces were noted has neither. That
 * of a promise names the response in the place of a trace.
 */
const where = (scope: PurgeScope) =>
  joined(
    sql` WHERE project_id = ${scope.project_id} AND state = 'kept' AND sealed IS NOT NULL`,
    matching.madeAtMs(scope, `expires_at - ${RETENTION_MS}`),
    matching.madeWith(scope, 'key_id'),
    matching.named(scope, { trace: 'trace_id', response: 'trace_id' }),
  )

const walked = (scope: PurgeScope) => ({
  table: 'idempotency',
  order: 'expires_at',
  id: 'digest',
  bytes: 'bytes',
  where: where(scope),
})

/** By size, which a project's have an index of: each has one as long as it matches, and keeps it. */
const counted = (scope: PurgeScope) => ({ ...walked(scope), order: 'bytes', of_project: scope.project_id })
const COUNTED_AT_ONCE = 2_000 // in one statement, beside those of one size: they lie anywhere

export const keptAnswerEraser: Eraser = {
  kind: 'kept_answers',

  count: (db, scope) => countWalked(db, counted(scope), COUNTED_AT_ONCE),

  async erase(tx, scope, from, most) {
    const batch = await nextBatch(tx, walked(scope), from, most)
    if (batch.ids.length > 0) {
      const large = await tx.rows<{ parts_id: string | null }>(
        joined(
          sql`SELECT parts_id FROM idempotency WHERE project_id = ${scope.project_id} AND parts_id IS NOT NULL AND `,
          isOneOf('digest', batch.ids),
        ),
      )
      await removeParts(tx, large)
      await tx.rows(
        joined(
          sql`
            UPDATE idempotency SET state = 'erased', sealed = NULL, bytes = NULL, parts_id = NULL, parts_bytes = NULL
            WHERE project_id = ${scope.project_id} AND state = 'kept' AND `,
          isOneOf('digest', batch.ids),
        ),
      )
    }
    const loose = scope.is_listed ? 0 : await removeLooseParts(tx, scope.project_id)
    return { ...batch, more: loose > 0 }
  },
}
