// Sessions and the turns of their lines, for purge jobs. A turn goes by when and with which key it was made. A session
// goes with its whole line where it is named; else only where nothing of its line would stay.
import { type Db, fixed, joined, sql, together } from '../storage/db.ts'
import { addTraces, countOf, type Eraser, isOneOf, matching, nextBatch, type PurgeScope } from '../storage/erasing.ts'
import { removeParts } from '../storage/large-bodies.ts'

/** Of turns; `session_id` is asked by the index that lines have. */
const turnMatches = (scope: PurgeScope) =>
  joined(
    matching.madeAt(scope, 'session_event.created_at'),
    matching.madeBy(scope, 'session_event.made_by', 'session_event.made_under'),
    matching.named(scope, {
      session: 'session_event.session_id',
      response: 'session_event.response_id',
      trace: 'session_event.trace_id',
    }),
  )

const turns = (scope: PurgeScope) =>
  joined(
    sql` FROM session_event WHERE session_event.project_id = ${scope.project_id} AND session_event.session_id IN (
      SELECT agent_session.id FROM agent_session WHERE agent_session.project_id = ${scope.project_id})`,
    turnMatches(scope),
  )

interface Turn {
  id: string
  session_id: string
  sequence: number
}

export const sessionEventEraser: Eraser = {
  kind: 'session_events',

  count: (db, scope) => countOf(db, joined(sql`SELECT COUNT(*) AS matched`, turns(scope))),

  async erase(tx, scope, from, most) {
    const { session_id, sequence } = from === null ? { session_id: '', sequence: 0 } : (JSON.parse(from) as Turn)
    const rows = await tx.rows<Turn>(
      joined(
        sql`SELECT session_event.id, session_event.session_id, session_event.sequence`,
        turns(scope),
        sql` AND (session_event.session_id, session_event.sequence) > (${session_id}, ${sequence})
          ORDER BY session_event.session_id, session_event.sequence LIMIT ${most}`,
      ),
    )
    const ids = rows.map(({ id }) => id)
    if (ids.length > 0) await removeTurns(tx, scope, 'id', ids)
    const last = rows.at(-1)
    const cursor = last && JSON.stringify({ session_id: last.session_id, sequence: last.sequence })
    return { ids, next: cursor && rows.length === most ? cursor : null }
  },

  relate: (tx, scope) =>
    addTraces(
      scope,
      tx,
      joined(
        sql`SELECT session_event.trace_id FROM session_event
          WHERE session_event.project_id = ${scope.project_id} AND session_event.session_id IN (
            SELECT agent_session.id FROM agent_session WHERE agent_session.project_id = ${scope.project_id})`,
        matching.named(scope, { session: 'session_event.session_id', response: 'session_event.response_id' }),
        sql` UNION SELECT usage_event.trace_id FROM usage_event WHERE usage_event.project_id = ${scope.project_id}`,
        matching.named(scope, { session: 'usage_event.session_id' }),
      ),
    ),
}

const sessions = (scope: PurgeScope) =>
  joined(
    sql` WHERE agent_session.project_id = ${scope.project_id}`,
    matching.madeAt(scope, 'agent_session.created_at'),
    matching.madeBy(scope, 'agent_session.made_by', 'agent_session.made_under'),
    matching.named(scope, { session: 'agent_session.id' }),
    scope.is_listed
      ? fixed('')
      : joined(
          sql` AND NOT EXISTS (SELECT 1 FROM session_event WHERE session_event.session_id = agent_session.id
            AND NOT (1 = 1`,
          turnMatches(scope),
          sql`))`,
        ),
  )

export const sessionEraser: Eraser = {
  kind: 'sessions',

  count: (db, scope) => countOf(db, joined(sql`SELECT COUNT(*) AS matched FROM agent_session`, sessions(scope))),

  async erase(tx, scope, from, most) {
    const walked = {
      table: 'agent_session',
      order: 'sequence',
      id: 'id',
      of_project: scope.project_id,
      where: sessions(scope),
    }
    const { ids: found, next } = await nextBatch(tx, walked, from, most)
    const ids = found.length === 0 ? [] : await lock(tx, scope, found)
    if (ids.length === 0) return { ids, next }
    await removeTurns(tx, scope, 'session_id', ids)
    await tx.rows(
      joined(sql`DELETE FROM agent_session WHERE project_id = ${scope.project_id} AND `, isOneOf('id', ids)),
    )
    return { ids, next }
  },
}

/** With the parts of those that are large. */
async function removeTurns(tx: Db, { project_id }: PurgeScope, by: 'id' | 'session_id', ids: readonly string[]) {
  const gone = await tx.rows<Gone>(
    joined(
      sql`DELETE FROM session_event WHERE project_id = ${project_id} AND `,
      isOneOf(by, ids),
      fixed(` RETURNING parts_id, session_id,
        CASE WHEN sealed IS NULL THEN COALESCE(parts_bytes, 0) ELSE LENGTH(sealed) END AS bytes`),
    ),
  )
  await removeParts(tx, gone)
  if (by === 'id') await countLess(tx, gone)
}

interface Gone {
  parts_id: string | null
  session_id: string
  bytes: number
}

/** R78: a line has less contents now. Those that a server of the version before wrote were never counted. */
async function countLess(tx: Db, gone: readonly Gone[]): Promise<void> {
  const lines = new Map<string, number>()
  for (const { session_id, bytes } of gone) lines.set(session_id, (lines.get(session_id) ?? 0) + bytes)
  for (const [id, bytes] of [...lines].sort(([a], [b]) => (a < b ? -1 : 1)))
    if (bytes > 0)
      await tx.rows(sql`
        UPDATE agent_session
        SET content_bytes = CASE WHEN content_bytes > ${bytes} THEN content_bytes - ${bytes} ELSE 0 END
        WHERE id = ${id}`)
}

/**
 * Whoever writes to a line takes the session's row first: a turn that is being written comes before or not at all. One
 * that came before may be of after the job, and its session stays: so those are asked for again that still match. Taken
 * in the order of their ids, as settling does, lest it waits for a session here and this for another there.
 */
async function lock(tx: Db, scope: PurgeScope, ids: readonly string[]): Promise<string[]> {
  const { project_id } = scope
  const touch = (id: string) =>
    tx.rows(sql`UPDATE agent_session SET status = status WHERE project_id = ${project_id} AND id = ${id}`)
  await together([...ids].sort().map(touch))
  const these = isOneOf('id', ids)
  const still = await tx.rows<{ id: string }>(
    joined(fixed('SELECT agent_session.id FROM agent_session'), sessions(scope), fixed(' AND agent_session.'), these),
  )
  return still.map(({ id }) => id)
}
