// Sessions and their events at rest. Contents are sealed under the project and the event's own id; what is large lies
// in parts (0330). Whoever writes to a line takes the session's row first, so that a line is written, counted and
// deleted by one at a time.
import { rfc3339 } from '../core/clock.ts'
import { BUDGETS, jsonWithin } from '../core/foreign.ts'
import { newId, nextSequence } from '../core/ids.ts'
import type { Maker } from '../core/maker.ts'
import type { Sealing } from '../core/sealing.ts'
import { nextTurn } from '../core/turns.ts'
import type { Kept } from '../limits/kept-quota.ts'
import { BATCH_ROWS, LARGE_BATCH_ROWS, mapped, newestFirst, type Place } from '../storage/batches.ts'
import { asideFirst, type Db, sql } from '../storage/db.ts'
import { type LargeBody, type LargeBodyColumns, largeBodies, largeBodyOf } from '../storage/large-bodies.ts'
import type { Session, SessionEvent, Turn } from './session.ts'
import { removeLine } from './session-removal-store.ts'

type Row = Omit<Session, 'object' | 'agent' | 'parent_session_id'> & {
  agent: string | null
  parent_session_id: string | null
}
type EventRow = Omit<SessionEvent, 'object' | 'content' | 'content_withheld' | 'content_dropped'> &
  Maker &
  LargeBodyColumns & { sealed: Uint8Array | null; content_dropped: 'quota' | null }
type NewEvent = Pick<SessionEvent, 'type' | 'content'> & { large: LargeBody | undefined }

/** What of a turn is in the store already. */
export interface LargeTurn {
  input?: LargeBody | undefined
  output?: LargeBody | undefined
}

interface RowsAsked {
  before: number
  limit?: number
}

interface EventsAsked extends RowsAsked {
  maySee(maker: Maker): boolean
}

export function sessionStore(db: Db, seals: Sealing) {
  const { seal, open } = seals
  const sealedContent = (project_id: string, id: string, content: unknown) =>
    content === undefined ? null : seal(Buffer.from(JSON.stringify(content)), project_id, id)

  /** R77: what is large is read in steps. Without its contents where these went meanwhile. */
  async function eventFrom(project_id: string, event: EventRow, { maySee }: Pick<EventsAsked, 'maySee'>) {
    const { sealed, made_by, made_under, parts_id, parts_bytes, content_dropped, ...row } = event
    const large = largeBodyOf({ parts_id, parts_bytes })
    const told: SessionEvent = { object: 'session_event', ...row }
    if (content_dropped) return { content_dropped, ...told }
    if (!sealed && !large) return told
    if (!maySee({ made_by, made_under })) return { content_withheld: true as const, ...told }
    const plain = large
      ? await largeBodies(db, seals).read(large, project_id)
      : sealed && open(sealed, project_id, row.id)
    return plain ? { content: await jsonWithin(BUDGETS.own, plain), ...told } : told
  }

  /** Newest first, a few at a time: each may have hundreds of kilobytes, and is opened at once. */
  async function* eventRows(project_id: string, id: string, { before, limit = Number.POSITIVE_INFINITY }: RowsAsked) {
    for (let left = limit, sequence = before; left > 0; ) {
      const most = Math.min(left, LARGE_BATCH_ROWS)
      const rows = await db.rows<EventRow>(sql`
        SELECT id, session_id, sequence, type, response_id, trace_id, created_at, made_by, made_under, sealed,
               parts_id, parts_bytes, content_dropped
        FROM session_event WHERE project_id = ${project_id} AND session_id = ${id} AND sequence < ${sequence}
        ORDER BY sequence DESC LIMIT ${most}`)
      const last = rows.at(-1)
      if (last) yield rows
      if (!last || rows.length < most) return
      left -= rows.length
      sequence = last.sequence
      await nextTurn()
    }
  }

  /** A large one by itself: no more than one of them is in memory. */
  async function* eventsFrom(project_id: string, batches: AsyncIterable<EventRow[]>, asked: EventsAsked) {
    for await (const rows of batches) {
      let events: SessionEvent[] = []
      for (const row of rows) {
        events.push(await eventFrom(project_id, row, asked))
        if (row.parts_id === null) continue
        yield events
        events = []
      }
      if (events.length > 0) yield events
    }
  }

  /**
   * How many bytes of contents it has, where it was not there yet: the database refuses a second of the same type for
   * the same response.
   */
  async function append(
    tx: Db,
    project_id: string,
    turn: Turn,
    event: NewEvent & { at: string },
  ): Promise<number | undefined> {
    const id = newId('sev')
    const { session_id, response_id, trace_id, maker, content_dropped = null } = turn
    const { large } = event
    const sealed = large ? null : sealedContent(project_id, id, event.content)
    const appended = await tx.rows(sql`
      INSERT INTO session_event (id, project_id, session_id, sequence, type, response_id, trace_id, created_at,
                                 made_by, made_under, sealed, parts_id, parts_bytes, content_dropped)
      VALUES (${id}, ${project_id}, ${session_id},
              (SELECT COALESCE(MAX(sequence), 0) + 1 FROM session_event WHERE session_id = ${session_id}),
              ${event.type}, ${response_id}, ${trace_id}, ${event.at},
              ${maker.made_by}, ${maker.made_under}, ${sealed}, ${large?.parts_id ?? null},
              ${large?.parts_bytes ?? null}, ${content_dropped})
      ON CONFLICT (session_id, response_id, type) DO NOTHING
      RETURNING id`)
    if (appended.length === 0) return undefined // what was written ahead is swept
    if (large) await largeBodies(tx, seals).settle(large)
    return large?.parts_bytes ?? sealed?.length ?? 0
  }

  return {
    async insert(s: Session, { made_by, made_under }: Maker, now: number): Promise<void> {
      await db.rows(sql`
        INSERT INTO agent_session (id, project_id, status, agent, parent_session_id, turns, input_tokens, cached_tokens,
                                   created_at, last_activity_at, sequence, made_by, made_under)
        VALUES (${s.id}, ${s.project_id}, ${s.status}, ${s.agent ?? null}, ${s.parent_session_id ?? null}, ${s.turns},
                ${s.input_tokens}, ${s.cached_tokens}, ${s.created_at}, ${s.last_activity_at}, ${nextSequence(now)},
                ${made_by}, ${made_under})`)
    },

    /** All of them, newest first. */
    list: (project_id: string) =>
      mapped(
        newestFirst(({ sequence, id }) =>
          db.rows<Row & Place>(sql`
            SELECT id, project_id, status, agent, parent_session_id, turns, input_tokens, cached_tokens, created_at,
                   last_activity_at, sequence
            FROM agent_session
            WHERE project_id = ${project_id} AND (sequence, id) < (${sequence}, ${id}) AND deleted_ms IS NULL
            ORDER BY sequence DESC, id DESC LIMIT ${BATCH_ROWS}`),
        ),
        ({ sequence: _sequence, ...row }) => fromRow(row),
      ),

    async find(project_id: string, id: string): Promise<Session | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT id, project_id, status, agent, parent_session_id, turns, input_tokens, cached_tokens, created_at,
               last_activity_at
        FROM agent_session WHERE project_id = ${project_id} AND id = ${id} AND deleted_ms IS NULL`)
      return row && fromRow(row)
    },

    async maker(project_id: string, id: string): Promise<Maker | undefined> {
      const [row] = await db.rows<Maker>(sql`
        SELECT made_by, made_under FROM agent_session
        WHERE project_id = ${project_id} AND id = ${id} AND deleted_ms IS NULL`)
      return row
    },

    /** R84: no further turn is written down, not even one that is under way. Closing again changes nothing. */
    async close(project_id: string, id: string): Promise<Session | undefined> {
      const [row] = await db.rows<Row>(sql`
        UPDATE agent_session SET status = 'closed'
        WHERE project_id = ${project_id} AND id = ${id} AND deleted_ms IS NULL
        RETURNING id, project_id, status, agent, parent_session_id, turns, input_tokens, cached_tokens, created_at,
                  last_activity_at`)
      return row && fromRow(row)
    },

    /** The session and its whole line. From the first statement on nobody sees it, and nothing is added to it. */
    async remove(project_id: string, id: string, now: number): Promise<boolean> {
      const marked = await db.rows(sql`
        UPDATE agent_session SET status = 'closed', deleted_ms = ${now}
        WHERE project_id = ${project_id} AND id = ${id} AND deleted_ms IS NULL RETURNING id`)
      if (marked.length === 0) return false
      await removeLine(db, id)
      return true
    },

    async isClosed(project_id: string, id: string): Promise<boolean> {
      const closed = await db.rows(sql`
        SELECT id FROM agent_session WHERE project_id = ${project_id} AND id = ${id} AND status = 'closed'`)
      return closed.length === 1
    },

    /** All of a session's from there on, newest first. Contents only of what may be seen (R74). */
    listAllEvents: (project_id: string, id: string, asked: EventsAsked) =>
      eventsFrom(project_id, eventRows(project_id, id, asked), asked),

    async listEvents(project_id: string, id: string, asked: EventsAsked & { limit: number }): Promise<SessionEvent[]> {
      const events: SessionEvent[] = []
      for await (const some of eventsFrom(project_id, eventRows(project_id, id, asked), asked)) events.push(...some)
      return events
    },

    /**
     * Writes down what went in and what came out, and counts the turn: once for each logical response, however often
     * it is called. False where that had been done before, or where the session was closed or deleted meanwhile.
     */
    async recordTurn(project_id: string, turn: Turn, now: number, ahead: LargeTurn = NOTHING_AHEAD): Promise<boolean> {
      const { session_id, input, output, input_tokens, cached_tokens } = turn
      const at = rfc3339(now)
      return db.transaction(async (tx) => {
        const [session] = await tx.rows(sql`
          UPDATE agent_session
          SET last_activity_at = CASE WHEN last_activity_at > ${at} THEN last_activity_at ELSE ${at} END
          WHERE project_id = ${project_id} AND id = ${session_id} AND status = 'open' RETURNING id`)
        if (!session) return false
        const asked = { type: 'input', content: input, large: ahead.input, at } as const
        const asked_bytes = (await append(tx, project_id, turn, asked)) ?? 0
        const said = { type: 'assistant_output', content: output, large: ahead.output, at } as const
        const said_bytes = await append(tx, project_id, turn, said)
        if (said_bytes === undefined) return false
        await tx.rows(sql`
          UPDATE agent_session
          SET turns = turns + 1, input_tokens = input_tokens + ${input_tokens},
              cached_tokens = cached_tokens + ${cached_tokens},
              content_bytes = content_bytes + ${asked_bytes + said_bytes}
          WHERE id = ${session_id}`)
        return true
      })
    },
  }
}

const NOTHING_AHEAD: LargeTurn = {}

function fromRow({ agent, parent_session_id, ...row }: Row): Session {
  return {
    ...row,
    object: 'session',
    ...(agent !== null && { agent }),
    ...(parent_session_id !== null && { parent_session_id }),
  }
}

/** R78: how much of contents the lines of a project have, and in how many sessions. */
export async function contentsFor(db: Db, project_id: string): Promise<Kept> {
  const [row] = await db.rows<Kept>(
    asideFirst(sql`
      SELECT COUNT(*) AS items, CAST(COALESCE(SUM(content_bytes), 0) AS BIGINT) AS bytes
      FROM agent_session WHERE project_id = ${project_id} AND content_bytes > 0`),
  )
  return row ?? { items: 0, bytes: 0 }
}

/** R70: how many a project has. */
export const sessionsPresent = (project_id: string) => sql`
  SELECT COUNT(*) AS present FROM agent_session WHERE project_id = ${project_id}`
