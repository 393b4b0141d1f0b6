// Sessions and the turns of their lines, for purge jobs. A turn goes by when and with which key it was made. A session
// goes with its whole line where it is named; else only where nothing of its line would stay.
import { DELETED_AT_ONCE_BYTES, withinBytes } from '../storage/batches.ts'
import { type Db, fixed, joined, type Sql, sql, together } from '../storage/db.ts'
import {
  addTraces,
  countOf,
  countWalked,
  type Eraser,
  FIRST_BATCH,
  isOneOf,
  matching,
  nextBatch,
  type PurgeScope,
  stretches,
} from '../storage/erasing.ts'
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

const SESSIONS = { table: 'agent_session', order: 'agent_session.sequence', id: 'id', bytes: 'content_bytes' }
const COUNTED_LINES = 1_000 // in one statement

/** Of the sessions of this stretch. */
const turns = (scope: PurgeScope, stretch: Sql) =>
  joined(
    sql` FROM session_event WHERE session_event.project_id = ${scope.project_id} AND session_event.session_id IN (
      SELECT agent_session.id FROM agent_session WHERE agent_session.project_id = ${scope.project_id}`,
    stretch,
    fixed(')'),
    turnMatches(scope),
  )

/** The line that is walked, by the place of its session, and behind which of its turns. */
interface At {
  sequence: number
  id: string
  turn: number
}

const START: At = { sequence: -1, id: '', turn: 0 }
const TO_ITS_END = Number.MAX_SAFE_INTEGER
const LINES_AT_ONCE = 100

/** One that was looked at; without bytes where it does not match. */
interface Walked extends At {
  event_id: string
  bytes: number | null
}

/**
 * Line by line, in the order in which sessions were made. One transaction looks at no more than so many turns, however
 * few of them match, and erases no more than some megabytes.
 */
export const sessionEventEraser: Eraser = {
  kind: 'session_events',

  async count(db, scope) {
    let count = 0
    for await (const stretch of stretches(db, { ...SESSIONS, of_project: scope.project_id }, COUNTED_LINES))
      count += await countOf(db, joined(sql`SELECT COUNT(*) AS matched`, turns(scope, stretch)))
    return count
  },

  async erase(tx, scope, from, most) {
    const at: At = from === null ? START : { ...START, ...JSON.parse(from) }
    const lines = await tx.rows<Omit<At, 'turn'>>(sql`
      SELECT sequence, id FROM agent_session
      WHERE project_id = ${scope.project_id} AND (sequence, id) >= (${at.sequence}, ${at.id})
      ORDER BY sequence, id LIMIT ${LINES_AT_ONCE}`)
    const walked: Walked[] = []
    for (const line of lines) {
      const behind = line.id === at.id ? at.turn : 0
      walked.push(...(await walk(tx, scope, { ...line, turn: behind }, most - walked.length)))
      if (walked.length >= most) break
    }
    const sizes = walked.map((turn) => ({ ...turn, bytes: turn.bytes ?? 0, is_matching: turn.bytes !== null }))
    const some = withinBytes(sizes, DELETED_AT_ONCE_BYTES)
    const ids = some.filter(({ is_matching }) => is_matching).map(({ event_id }) => event_id)
    await countLess(tx, await removeTurns(tx, scope, ids))
    const [last, last_line] = [some.at(-1), lines.at(-1)]
    if (last && (some.length < walked.length || walked.length >= most)) return { ids, next: cursorAt(last) }
    const is_over = !last_line || lines.length < LINES_AT_ONCE
    return { ids, next: is_over ? null : cursorAt({ ...last_line, turn: TO_ITS_END }) }
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

const cursorAt = ({ sequence, id, turn }: At) => JSON.stringify({ sequence, id, turn })

const BYTES = 'CASE WHEN sealed IS NULL THEN COALESCE(parts_bytes, 0) ELSE LENGTH(sealed) END'

async function walk(tx: Db, scope: PurgeScope, { sequence, id, turn }: At, most: number): Promise<Walked[]> {
  const rows = await tx.rows<Pick<Walked, 'event_id' | 'turn' | 'bytes'>>(
    joined(
      fixed('SELECT session_event.id AS event_id, session_event.sequence AS turn, CASE WHEN 1 = 1'),
      turnMatches(scope),
      fixed(` THEN ${BYTES} END AS bytes FROM session_event`),
      sql` WHERE session_event.project_id = ${scope.project_id} AND session_event.session_id = ${id}
        AND session_event.sequence > ${turn} ORDER BY session_event.sequence LIMIT ${most}`,
    ),
  )
  return rows.map((row) => ({ sequence, id, ...row }))
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

  count: (db, scope) =>
    countWalked(db, { ...SESSIONS, of_project: scope.project_id, where: sessions(scope) }, COUNTED_LINES),

  async erase(tx, scope, from, most) {
    const walked = { ...SESSIONS, of_project: scope.project_id, where: sessions(scope) }
    const { ids: found, next } = await nextBatch(tx, walked, from, Math.min(most, LINES_AT_ONCE))
    const ids = found.length === 0 ? [] : await lock(tx, scope, found)
    if (ids.length === 0) return { ids, next }
    if (await hasMore(tx, scope, ids, most)) return { ids: [], next: from ?? FIRST_BATCH }
    await tx.rows(
      joined(sql`DELETE FROM agent_session WHERE project_id = ${scope.project_id} AND `, isOneOf('id', ids)),
    )
    return { ids, next }
  },
}

/** Removes turns of these lines, some megabytes of them. True while there may be more: till then sessions stay. */
async function hasMore(tx: Db, scope: PurgeScope, sessions: readonly string[], most: number): Promise<boolean> {
  const turns = await tx.rows<{ id: string; bytes: number }>(
    joined(
      sql`SELECT id, `,
      fixed(`${BYTES} AS bytes FROM session_event WHERE `),
      isOneOf('session_id', sessions),
      sql` AND project_id = ${scope.project_id} LIMIT ${most}`,
    ),
  )
  const some = withinBytes(turns, DELETED_AT_ONCE_BYTES)
  const gone = await removeTurns(
    tx,
    scope,
    some.map(({ id }) => id),
  )
  if (some.length === turns.length && turns.length < most) return false
  await countLess(tx, gone)
  await close(tx, scope, gone)
  return true
}

/** R84: what came after the first of their turns went could match no more, and they would stay without these. */
async function close(tx: Db, { project_id }: PurgeScope, gone: readonly Gone[]): Promise<void> {
  const ids = [...new Set(gone.map(({ session_id }) => session_id))]
  if (ids.length > 0)
    await tx.rows(
      joined(sql`UPDATE agent_session SET status = 'closed' WHERE project_id = ${project_id} AND `, isOneOf('id', ids)),
    )
}

/** With the parts of those that are large. */
async function removeTurns(tx: Db, { project_id }: PurgeScope, ids: readonly string[]): Promise<Gone[]> {
  if (ids.length === 0) return []
  const gone = await tx.rows<Gone>(
    joined(
      sql`DELETE FROM session_event WHERE project_id = ${project_id} AND `,
      isOneOf('id', ids),
      fixed(` RETURNING parts_id, session_id, ${BYTES} AS bytes`),
    ),
  )
  await removeParts(tx, gone)
  return gone
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
