// How sessions go: each is marked first, so that nobody sees it; then its line goes, however long it is, in steps that
// others are served between; its row last. What a process that ended has left of one is swept.
import { nextTurn } from '../core/turns.ts'
import { DELETED_AT_ONCE_BYTES, DELETED_AT_ONCE_ROWS, withinBytes } from '../storage/batches.ts'
import { type Db, sql } from '../storage/db.ts'
import { removeParts } from '../storage/large-bodies.ts'

const SWEPT_AT_ONCE = 20

/** Of a session that is marked. */
export async function removeLine(db: Db, id: string): Promise<void> {
  while (await db.transaction((tx) => removeSome(tx, id), { lasting: 'committed' })) await nextTurn()
  await db.rows(sql`DELETE FROM agent_session WHERE id = ${id} AND deleted_ms IS NOT NULL`)
}

/** True where there are more. */
async function removeSome(tx: Db, id: string): Promise<boolean> {
  const turns = await tx.rows<{ sequence: number; bytes: number }>(sql`
    SELECT sequence, CASE WHEN sealed IS NULL THEN COALESCE(parts_bytes, 0) ELSE LENGTH(sealed) END AS bytes
    FROM session_event WHERE session_id = ${id} ORDER BY sequence LIMIT ${DELETED_AT_ONCE_ROWS}`)
  const some = withinBytes(turns, DELETED_AT_ONCE_BYTES)
  const last = some.at(-1)
  if (!last) return false
  const gone = await tx.rows<{ parts_id: string | null }>(sql`
    DELETE FROM session_event WHERE session_id = ${id} AND sequence <= ${last.sequence} RETURNING parts_id`)
  await removeParts(tx, gone)
  return some.length < turns.length || turns.length === DELETED_AT_ONCE_ROWS
}

/** True while there may be more. */
export async function sweepDeletedSessions(db: Db): Promise<boolean> {
  const left = await db.rows<{ id: string }>(sql`
    SELECT id FROM agent_session WHERE deleted_ms IS NOT NULL ORDER BY deleted_ms LIMIT ${SWEPT_AT_ONCE}`)
  for (const { id } of left) await removeLine(db, id)
  return left.length === SWEPT_AT_ONCE
}
