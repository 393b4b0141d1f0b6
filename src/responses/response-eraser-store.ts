// Stored responses, for purge jobs; before them what is kept of those in the background: the events of all, and how
// those ended that came to nothing, which repeats what was asked. Events go first, as they are found by the stored
// response that a call left, whatever the job names.
import { type Db, fixed, joined, type Sql, sql } from '../storage/db.ts'
import {
  addResponses,
  addTraces,
  countWalked,
  type Eraser,
  isOneOf,
  matching,
  nextBatch,
  type PurgeScope,
} from '../storage/erasing.ts'
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

/** Of the background response whose row it is. */
const isStored = (scope: PurgeScope) =>
  joined(
    sql`EXISTS (SELECT 1 FROM stored_response s WHERE s.id = background_response.id AND s.project_id = `,
    sql`${scope.project_id}`,
    matching.madeAt(scope, 's.created_at'),
    matching.madeBy(scope, 's.made_by', 's.made_under'),
    matching.named(scope, { response: 's.id', trace: 's.trace_id' }),
    fixed(')'),
  )

const promised = (scope: PurgeScope, more: Sql = fixed('')) =>
  joined(
    sql` WHERE project_id = ${scope.project_id} AND finished_ms IS NOT NULL`,
    more,
    fixed(' AND ('),
    isStored(scope),
    fixed(' OR (1 = 1'),
    matching.madeAtMs(scope, 'created_ms'),
    matching.madeBy(scope, 'made_by', 'made_under'),
    matching.named(scope, { response: 'id', trace: 'trace_id' }),
    fixed('))'),
  )

/** Nothing was stored of these: what is told of them is all that there is, and counts. */
const CAME_TO_NOTHING = fixed(" AND status IN ('failed', 'cancelled')")

const promisedWalked = (scope: PurgeScope) => ({
  table: 'background_response',
  order: 'sequence',
  id: 'id',
  bytes: 'event_bytes + LENGTH(sealed)',
  of_project: scope.project_id,
  where: promised(scope),
})

/** Where a batch goes on: among those that were promised, or, of any other form, among stored responses. */
const PROMISED = 'promised '
const STORED = 'stored'

async function erasePromised(tx: Db, scope: PurgeScope, from: string | null, most: number) {
  const { ids, next } = await nextBatch(tx, promisedWalked(scope), from, most)
  const goes_on = next === null ? STORED : `${PROMISED}${next}`
  if (ids.length === 0) return { ids, next: goes_on }
  const of_project = sql` WHERE project_id = ${scope.project_id} AND `
  await tx.rows(joined(fixed('DELETE FROM background_events'), of_project, isOneOf('response_id', ids)))
  const gone = await tx.rows<{ id: string; status: string }>(
    joined(fixed('DELETE FROM background_response'), of_project, isOneOf('id', ids), fixed(' RETURNING id, status')),
  )
  const counted = gone.filter(({ status }) => status === 'failed' || status === 'cancelled')
  return { ids: counted.map(({ id }) => id), next: goes_on, more: true }
}

async function eraseStored(tx: Db, scope: PurgeScope, from: string | null, most: number) {
  const batch = await nextBatch(tx, walked(scope), from, most)
  if (batch.ids.length === 0) return batch
  const erased = await tx.rows<{ parts_id: string | null }>(
    joined(
      sql`DELETE FROM stored_response WHERE project_id = ${scope.project_id} AND `,
      isOneOf('id', batch.ids),
      fixed(' RETURNING parts_id'),
    ),
  )
  await removeParts(tx, erased)
  return batch
}

export const responseEraser: Eraser = {
  kind: 'responses',

  async count(db, scope) {
    const told = { ...promisedWalked(scope), where: promised(scope, CAME_TO_NOTHING) }
    return (await countWalked(db, walked(scope))) + (await countWalked(db, told))
  },

  erase(tx, scope, from, most) {
    if (from === null) return erasePromised(tx, scope, null, most)
    if (from.startsWith(PROMISED)) return erasePromised(tx, scope, from.slice(PROMISED.length), most)
    return eraseStored(tx, scope, from === STORED ? null : from, most)
  },

  /** What was promised is known by its response alone, wherever it is kept; what was made of it, by its trace. */
  async relate(tx, scope) {
    const named = (columns: Parameters<typeof matching.named>[1]) =>
      joined(sql` WHERE project_id = ${scope.project_id}`, matching.named(scope, columns))
    const by_id = named({ response: 'id' })
    await addTraces(
      scope,
      tx,
      joined(
        sql`SELECT trace_id FROM stored_response`,
        by_id,
        sql` UNION SELECT trace_id FROM background_response`,
        by_id,
      ),
    )
    await addResponses(scope, tx, joined(sql`SELECT id FROM background_response`, named({ trace: 'trace_id' })))
  },
}
